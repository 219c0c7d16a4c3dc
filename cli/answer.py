"""An answer as a person likes to read it: what, from where, why, and what was missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import regex
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cluster.text.terms import document_terms

EXCERPT_CHARS = 480
MORE = "…"
INDENT = 4
NARROW = 40

POLICIES = {
    "citable": "may be quoted",
    "citable_with_version": "quote with its version",
    "project_fact": "fact of the project",
    "clue": "a clue, not a source",
    "do_not_quote": "do not quote",
}
CHANNELS = {"semantic": "meaning", "keyword": "words", "recent": "recency"}

_CONTROL = regex.compile(r"[\p{Cc}\p{Cf}--[\n\t\u200d]]", regex.VERSION1)
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:[-._][\p{L}\p{N}]+)*")
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_BREAK = regex.compile(r"[.!?。！？；;]\s*|\n+|\s+")


def print_answer(answer: Mapping[str, Any], console: Console, *, explain: bool = False) -> None:
    """To a terminal in colour and wrapped; elsewhere plain, one line for each line of text."""
    for note in answer["notes"]:
        _line(console, Text.assemble(("note: ", "bold yellow"), plain(note)))
    for failure in answer["failures"]:
        told = f"{failure['channel']} gave nothing: {plain(failure['reason'])}"
        _line(console, Text.assemble(("partial answer: ", "bold red"), told))
    if not answer["results"]:
        _line(console, Text("Nothing found. Bring material in with `palimpsest ingest PATH`, or"))
        _line(console, Text("ask in other words, with fewer filters."))
    for result in answer["results"]:
        _print_result(result, console)
    _line(console, _footer(answer))
    if explain:
        _print_explanation(answer["explanation"], console)


def excerpt(text: str, terms: Sequence[str], *, limit: int = EXCERPT_CHARS) -> str:
    """All of a short text; of a long one the part with most of the terms, cut at breaks."""
    text = regex.sub(r"\n{3,}", "\n\n", plain(text)).strip()
    if len(text) <= limit:
        return text
    marks = list(_marks(text, terms))
    starts = sorted({0, *(max(start - limit // 4, 0) for start, _ in marks)})
    best = max(starts, key=lambda start: (_covered(text, marks, start, limit), -start))
    start = _after_break(text, min(best, len(text) - limit))
    end = _before_break(text, start + limit)
    before = MORE if start > 0 else ""
    after = MORE if end < len(text) else ""
    return f"{before}{text[start:end].strip()}{after}"


def highlighted(text: str, terms: Sequence[str]) -> Text:
    shown = Text(text)
    for start, end in _marks(text, terms):
        shown.stylize("bold green", start, end)
    return shown


def plain(text: str) -> str:
    """Without what would steer a terminal."""
    return str(_CONTROL.sub("", text))


def conflict_line(conflict: Mapping[str, Any]) -> str:
    """Which passage says otherwise, what, and who wins."""
    decided = {"wins": "this one wins by", "loses": "that one wins by"}
    ground = f"; {decided[conflict['standing']]} {conflict['by']}" if conflict["by"] else ""
    theirs, mine = plain(conflict["theirs"]), plain(conflict["mine"])
    return f"contradicts {conflict['rank']}: {theirs} there, {mine} here{ground}"


def _print_result(result: Mapping[str, Any], console: Console) -> None:
    citation, terms = result["citation"], result["reasons"]["matched_terms"]
    console.print()
    path = [citation["title"] or citation["path"], *citation["heading_path"]]
    names = [plain(name) for place, name in enumerate(path) if name and name not in path[:place]]
    _line(
        console,
        Text.assemble((f"{result['rank']:>2}  ", "bold cyan"), (" › ".join(names), "bold")),
    )
    text = _without_heading(result["text"], names)
    body = highlighted(excerpt(text, terms), terms)
    _block(console, body)
    _block(console, Text(_source(citation), "cyan"))
    _block(console, Text(_why(result["reasons"]), "dim"))
    for conflict in result.get("conflicts_with", ()):
        _block(console, Text(conflict_line(conflict), "yellow"))


def _without_heading(text: str, names: Sequence[str]) -> str:
    """A first line that only repeats what stands above it is not printed."""
    first, _, rest = text.lstrip().partition("\n")
    return rest if first.lstrip("# ").strip() in names and rest.strip() else text


def _source(citation: Mapping[str, Any]) -> str:
    parts = [
        _speaker(citation),
        citation["url"] or citation["path"],
        f"page {citation['page']}" if citation["page"] else None,
        _edition(citation),
        _date(citation),
        citation["source_type"].replace("_", " ") if citation["source_type"] != "unknown" else None,
        POLICIES.get(citation["quote_policy"], citation["quote_policy"]),
    ]
    return plain(" · ".join(part for part in parts if part))


def _speaker(citation: Mapping[str, Any]) -> str | None:
    return f"{citation['speaker']} said" if citation["speaker"] else None


def _edition(citation: Mapping[str, Any]) -> str | None:
    name = " ".join(part for part in (citation["product"], citation["version"]) if part)
    if not name:
        return None
    others = citation["other_editions"]
    also = f", also {', '.join(others[:4])}" if others else ""
    standing = "newest" if citation["newest_edition"] else "not the newest"
    return f"{name} ({standing}{also})" if others else name


def _date(citation: Mapping[str, Any]) -> str | None:
    for name, word in (("said_at", ""), ("updated_at", "updated "), ("published_at", "of ")):
        if citation[name]:
            return f"{word}{citation[name][:10]}"
    return "undated"


def _why(reasons: Mapping[str, Any]) -> str:
    parts = [
        f"{CHANNELS.get(hit['channel'], hit['channel'])} #{hit['rank']} ({hit['score']:.2f})"
        for hit in reasons["channels"]
    ]
    if reasons["matched_terms"]:
        parts.append("has " + ", ".join(f"“{plain(term)}”" for term in reasons["matched_terms"]))
    parts += [f"{name} +{value:.2f}" for name, value in reasons["bonuses"].items()]
    return "why: " + " · ".join(parts)


def _footer(answer: Mapping[str, Any]) -> Text:
    timings = answer["timings_ms"]
    count = len(answer["results"])
    stages = ", ".join(
        f"{CHANNELS.get(name.removeprefix('channel:'), name)} {took:.0f}"
        for name, took in timings.items()
        if name.startswith("channel:")
    )
    told = f"\n{count} passage{'s' if count != 1 else ''} in {timings['total']:.0f} ms ({stages})"
    return Text(told, "dim")


def _print_explanation(explanation: Mapping[str, Any], console: Console) -> None:
    plan = explanation["plan"]
    lines = {
        "language": plan["language"],
        "terms": ", ".join(f"{each['term']}×{each['weight']:g}" for each in plan["terms"]),
        "filter": json.dumps(plan["filter"], ensure_ascii=False),
        "versions": ", ".join(plan["versions"]["chosen"]) or "newest of each document",
        "channels": ", ".join(
            f"{each['name']} ×{each['weight']:g} (≤ {each['limit']})" for each in plan["channels"]
        ),
        "fusion": plan["fusion"],
        "listed": ", ".join(f"{name} {len(ids)}" for name, ids in explanation["rankings"].items()),
    }
    for name, told in lines.items():
        _line(console, Text.assemble((f"{name:>9}  ", "bold"), plain(told)))


def _line(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=not console.is_terminal)


def _block(console: Console, text: Text) -> None:
    """Indented; wrapped where there is a terminal to wrap for."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, INDENT if console.width > NARROW else 1)))
        return
    for line in text.plain.splitlines():
        console.print(Text(" " * INDENT + line), soft_wrap=True)


def _marks(text: str, terms: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the terms stand: words by their index terms, Chinese and Japanese as written."""
    wanted = frozenset(term for each in terms for term in _terms(each) if not _HAN.search(term))
    for match in _WORD.finditer(text):
        if wanted and not _HAN.search(match.group()) and wanted & _terms(match.group()):
            yield match.span()
    for each in terms:
        if _HAN.search(each):
            for match in regex.finditer(regex.escape(each), text):
                yield match.span()


@lru_cache(maxsize=4096)
def _terms(word: str) -> frozenset[str]:
    return frozenset(document_terms(word))


def _covered(text: str, marks: Sequence[tuple[int, int]], start: int, limit: int) -> int:
    """How many different terms a window of `limit` characters has."""
    inside = {text[a:b].lower() for a, b in marks if start <= a and b <= start + limit}
    return len(inside)


def _after_break(text: str, start: int) -> int:
    match = _BREAK.search(text, start, start + 40) if start else None
    return match.end() if match else start


def _before_break(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    breaks = [match.start() for match in _BREAK.finditer(text, max(end - 40, 0), end)]
    return breaks[-1] if breaks else end
