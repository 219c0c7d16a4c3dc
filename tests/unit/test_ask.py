"""The printed answer: what a person sees in a terminal and what a pipe gets."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from cli.answer import EXCERPT_CHARS, excerpt, highlighted, plain, print_answer
from cli.ask import filter_of
from cluster.errors import InvalidRequest

LONG = "Filler about nothing much. " * 60 + "The limit is 42 jobs. " + "More filler here. " * 60


def answer(**more: Any) -> dict[str, Any]:
    citation = {
        "title": "Tokens",
        "path": "docs/tokens.md",
        "url": None,
        "page": None,
        "heading_path": ["Tokens", "Lifetime"],
        "product": "harbour",
        "version": "2.0",
        "newest_edition": True,
        "other_editions": ["1.0"],
        "said_at": None,
        "updated_at": "2026-03-01T00:00:00Z",
        "published_at": None,
        "source_type": "official_doc",
        "quote_policy": "citable_with_version",
        "speaker": None,
    }
    result = {
        "rank": 1,
        "score": 1.0,
        "text": "An access token is valid for 30 minutes.",
        "citation": citation,
        "reasons": {
            "channels": [{"channel": "keyword", "rank": 1, "score": 7.5}],
            "matched_terms": ["tokens", "valid"],
            "filters": ["tenant"],
            "bonuses": {"recency": 0.05},
        },
    }
    base = {
        "results": [result],
        "notes": [],
        "failures": [],
        "timings_ms": {"channel:keyword": 3.2, "total": 20.0},
    }
    return {**base, **more}


def printed(told: dict[str, Any], *, width: int = 80, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False)
    print_answer(told, console)
    return out.getvalue()


def test_a_pipe_gets_plain_lines() -> None:
    text = printed(answer())
    assert text.splitlines()[1:5] == [
        " 1  Tokens › Lifetime",
        "    An access token is valid for 30 minutes.",
        (
            "    docs/tokens.md · harbour 2.0 (newest, also 1.0) · updated 2026-03-01 · "
            "official doc · quote with its version"
        ),
        "    why: words #1 (7.50) · has “tokens”, “valid” · recency +0.05",
    ]
    assert text.endswith("1 passage in 20 ms (words 3)\n")
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_terminal_of_any_width_gets_lines_that_fit(width: int) -> None:
    text = printed(answer(), width=width, terminal=True)
    assert "\x1b[1;32mtoken\x1b[0m" in text
    assert max(Text.from_ansi(line).cell_len for line in text.splitlines()) <= width


def test_a_heading_is_not_printed_twice() -> None:
    told = answer()
    told["results"][0]["text"] = "## Lifetime\n\nThirty minutes."
    assert printed(told).splitlines()[1:3] == [" 1  Tokens › Lifetime", "    Thirty minutes."]


def test_notes_and_failures_are_seen_first() -> None:
    told = answer(
        notes=["there is no harbour 3.0 here"],
        failures=[{"channel": "semantic", "reason": "no answer within 400 ms"}],
    )
    assert printed(told).splitlines()[:2] == [
        "note: there is no harbour 3.0 here",
        "partial answer: semantic gave nothing: no answer within 400 ms",
    ]


def test_nothing_found_says_how_to_go_on() -> None:
    assert "palimpsest ingest PATH" in printed(answer(results=[]))


def test_a_long_passage_is_cut_around_what_matched() -> None:
    part = excerpt(LONG, ["limit", "jobs"])
    assert "The limit is 42 jobs." in part
    assert part.startswith("…")
    assert part.endswith("…")
    assert len(part) <= EXCERPT_CHARS + 2
    assert part.strip("…") in LONG


def test_a_long_passage_without_matches_is_cut_at_its_beginning() -> None:
    assert LONG.startswith(excerpt(LONG, []).removesuffix("…"))


def test_chinese_is_cut_and_marked_as_well() -> None:
    text = "无关的内容。" * 200 + "访问令牌的有效期为三十分钟。" + "其他内容。" * 200
    part = excerpt(text, ["访问令牌", "有效期"])
    assert "访问令牌的有效期为三十分钟" in part
    marked = highlighted("访问令牌的有效期", ["访问令牌", "有效期"])
    assert [(span.start, span.end) for span in marked.spans] == [(0, 4), (5, 8)]


def test_other_forms_of_a_word_are_marked() -> None:
    marked = highlighted("Retry: it retries; tokenized retriever", ["retried"])
    assert [marked.plain[span.start : span.end] for span in marked.spans] == ["Retry", "retries"]


def test_text_cannot_steer_the_terminal() -> None:
    assert plain("a\x1b[2Jb\x07\x9b1m\u202ec\td\ne") == "a[2Jb1mc\td\ne"
    told = answer()
    told["results"][0]["text"] = "[bold]not markup[/bold] \x1b[31mred"
    text = printed(told)
    assert "[bold]not markup[/bold]" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["language=zh"], {"language": "zh"}),
        (["language=zh,en"], {"language": ["zh", "en"]}),
        (["authority=0.5"], {"authority": 0.5}),
        (["newest_edition=true"], {"newest_edition": True}),
        (['{"authority": {"gte": 0.5}}'], {"authority": {"gte": 0.5}}),
        (["path=a=b"], {"path": "a=b"}),
        (['{"tags": null}'], {"tags": None}),
        (["product=a", "language=en"], {"all_of": [{"product": "a"}, {"language": "en"}]}),
    ],
)
def test_filters_on_the_command_line(given: list[str], expected: dict[str, Any]) -> None:
    assert filter_of(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        *("language", "=zh", "language=", "{nonsense"),
        *("authority=nan", "authority=0.5,inf", '{"authority": NaN}', '{"authority": 1e999}'),
    ],
)
def test_wrong_filters_on_the_command_line(given: str) -> None:
    with pytest.raises(InvalidRequest, match="--filter"):
        filter_of([given])
