"""What must hold for chunks of any text, however odd."""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.chunk import ChunkLimits, ChunkSpan, chunk
from ingest.cuts import cuttable
from ingest.parse.parsed import Block, BlockKind, Parsed

LIMITS = ChunkLimits(max_tokens=40, target_tokens=24)

WORDS = st.sampled_from(
    [
        "word",
        "a",
        "metadata.filter",
        "版本",
        "数据库。",
        "终于！",
        "end.",
        "e\u0301",
        "👩‍👩‍👧",
        "🇩🇪🇫🇷",
        "각",
        "x" * 90,
    ]
)
LINE = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
PROSE = st.lists(LINE, min_size=1, max_size=3).map("\n".join)
WILD = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


@st.composite
def headings(draw: st.DrawFn) -> tuple[BlockKind, str]:
    return "heading", "#" * draw(st.integers(1, 3)) + " " + draw(WORDS)


@st.composite
def fences(draw: st.DrawFn) -> tuple[BlockKind, str]:
    lines = draw(st.lists(st.sampled_from(["# no heading", "x = 1", "| a |", ""]), max_size=30))
    return "code", "\n".join(["```python", *lines, "```"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[BlockKind, str]:
    rows = draw(st.lists(st.tuples(WORDS, WORDS), max_size=12))
    return "table", "\n".join(
        ["| k | v |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]
    )


BLOCK = st.one_of(
    headings(),
    fences(),
    tables(),
    PROSE.map(lambda text: ("paragraph", text)),
    LINE.map(lambda text: ("list", "- " + text)),
    WILD.map(lambda text: ("paragraph", text)),
)


def assemble(parts: Sequence[tuple[BlockKind, str]]) -> Parsed:
    text = ""
    blocks: list[Block] = []
    path: tuple[str, ...] = ()
    for kind, piece in parts:
        if kind == "heading":
            level = len(piece) - len(piece.lstrip("#"))
            path = (*path[: level - 1], piece.lstrip("# "))
        header = "\n".join(piece.split("\n")[:2]) if kind == "table" else ""
        blocks.append(
            Block(
                kind=kind,
                start=len(text),
                end=len(text) + len(piece),
                heading_path=path,
                table_header=header,
            )
        )
        text += piece + "\n\n"
    return Parsed(text=text, blocks=tuple(blocks), title="Guide", media_type="text/markdown")


DOCUMENTS = st.lists(BLOCK, max_size=12).map(assemble)


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Four letters of a word, or any other character that is not white space, are a token."""
    return [len(re.findall(r"[a-zA-Z]{1,4}|[^\sa-zA-Z]", text)) for text in texts]


def chunked(parsed: Parsed) -> tuple[ChunkSpan, ...]:
    return chunk(parsed, limits=LIMITS, count_tokens=count_tokens)


def indexed(span: ChunkSpan) -> str:
    return f"{span.context}\n{span.text}" if span.context else span.text


@settings(deadline=None)
@given(DOCUMENTS)
def test_offsets_are_exact_and_chunks_cover_the_text_in_order(parsed: Parsed) -> None:
    spans = chunked(parsed)
    position = 0
    for span in spans:
        assert parsed.text[span.start : span.end] == span.text
        assert span.text.strip()
        assert parsed.text[position : span.start].strip() == ""
        position = span.end
    assert parsed.text[position:].strip() == ""


@settings(deadline=None)
@given(DOCUMENTS)
def test_no_chunk_is_longer_than_the_encoder_takes(parsed: Parsed) -> None:
    for span in chunked(parsed):
        single = len(list(regex.finditer(r"\X", span.text))) == 1
        assert count_tokens([indexed(span)])[0] <= LIMITS.max_tokens or single


@settings(deadline=None)
@given(DOCUMENTS)
def test_no_grapheme_is_broken(parsed: Parsed) -> None:
    borders = {0} | {found.end() for found in regex.finditer(r"\X", parsed.text)}
    longest = max((len(found[0]) for found in regex.finditer(r"\X", parsed.text)), default=0)
    if longest < LIMITS.max_tokens:
        for span in chunked(parsed):
            assert {span.start, span.end} <= borders


@settings(deadline=None)
@given(DOCUMENTS)
def test_fences_and_rows_that_fit_stay_whole(parsed: Parsed) -> None:
    spans = chunked(parsed)
    room = LIMITS.max_tokens - LIMITS.max_context_tokens
    for block in parsed.blocks:
        units = [(block.start, block.end)] if block.kind == "code" else []
        if block.kind == "table":
            rows = re.finditer(r"[^\n]+", parsed.text[block.start : block.end])
            units = [(block.start + row.start(), block.start + row.end()) for row in rows]
        for start, end in units:
            fits = count_tokens([parsed.text[start:end]])[0] <= room // 2
            assert not fits or any(s.start <= start and end <= s.end for s in spans)


@settings(deadline=None)
@given(DOCUMENTS)
def test_short_words_are_never_broken(parsed: Parsed) -> None:
    for span in chunked(parsed):
        before, after = parsed.text[: span.start][-1:], parsed.text[span.end :][:1]
        for left, right in ((before, span.text[:1]), (span.text[-1:], after)):
            if re.fullmatch("[a-zA-Z]{2}", left + right):
                word = re.search("[a-zA-Z]*$", parsed.text[: span.end] if after else "")
                assert word is not None
                around = re.findall("[a-zA-Z]+", parsed.text)
                assert max(map(len, around)) >= 60


@settings(deadline=None)
@given(DOCUMENTS)
def test_the_same_text_gives_the_same_chunks(parsed: Parsed) -> None:
    assert chunked(parsed) == chunked(parsed)


@given(WILD)
def test_no_cut_is_offered_inside_a_grapheme(text: str) -> None:
    ends = {found.end() for found in regex.finditer(r"\X", text)}
    assert cuttable(text).inside == set(range(1, len(text))) - ends


@settings(max_examples=20, deadline=None)
@given(st.integers(2_000, 60_000), st.sampled_from(["字", "x", "é", "👍🏽"]))
def test_an_endless_run_is_cut_by_tokens(length: int, letter: str) -> None:
    text = letter * length
    spans = chunked(Parsed(text=text, blocks=(), title="", media_type="text/plain"))
    assert "".join(span.text for span in spans) == text
    assert max(count_tokens([span.text])[0] for span in spans) <= LIMITS.max_tokens
    assert min(count_tokens([span.text])[0] for span in spans[:-1]) >= LIMITS.target_tokens // 4
