"""Where do the headings, paragraphs, lists, fences and tables of a Markdown text lie?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from ingest.parse.front_matter import split_front_matter
from ingest.parse.parsed import Block, BlockKind, Parsed

MAX_LINKS = 5_000
MAX_LINKED_TEXT = 4_000_000
MAX_EXACT_LETTERS = 8_000_000
MAX_EXACT_LINES = 200_000
"""Beyond these the full grammar would take minutes; see `_coarse_spans`."""

_LEAVES: dict[str, BlockKind] = {
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "html_block": "html",
    "paragraph_open": "paragraph",
    "heading_open": "heading",
}
_CONTAINERS: dict[str, BlockKind] = {
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
}
_OWN_IN_CONTAINER = ("code", "table", "html")
_LINK = re.compile(
    r"(!?)\[([^\[\]\n]{1,300})\]\(\s{0,9}<?([^\s()<>]{1,1000}(?:\([^\s()<>]{0,200}\))?)"
)
_AUTOLINK = re.compile(r"<((?:https?|ftp)://[^\s<>]{1,1000})>")
_HTML_HEADING = re.compile(
    r"\s*<h([1-6])\b[^>]{0,500}>(.{1,500}?)</h\1>\s*", re.DOTALL | re.IGNORECASE
)
_INLINE_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--.*?-->")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.{0,200})")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.{0,500})")
_ANCHOR = re.compile(r"\s*\{[#:.][^{}]*\}\s*$")
_MARKS = re.compile(r"(?<!\\)(\*\*\*|\*\*|\*|~~|`+|(?<!\w)__?(?=\w)|(?<=\w)__?(?!\w))")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines `[first, last)` of one kind. `title`, `level` only for headings."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""


def parse_markdown(text: str, *, media_type: str = "text/markdown") -> Parsed:
    """The text as it is written, its front matter taken off and read into fields."""
    fields, body, notes = split_front_matter(text)
    blocks = markdown_blocks(body)
    sources = dict.fromkeys(fields, "front_matter")
    title = fields.get("title", "")
    if not title:
        title = first_title(blocks)
        if title:
            fields, sources = {**fields, "title": title}, {**sources, "title": "text"}
    return Parsed(
        text=body,
        blocks=blocks,
        title=title,
        media_type=media_type,
        fields=fields,
        field_sources=sources,
        links=find_links(body, blocks),
        notes=notes,
    )


def markdown_blocks(
    text: str, *, page: int | None = None, above: tuple[tuple[int, str], ...] = (), shift: int = 0
) -> tuple[Block, ...]:
    """Blocks of CommonMark with pipe tables, in order, covering all that is not white space.

    Lists and quotes are one block each, but code, tables and HTML inside them stand alone.
    `above` are the `(level, title)` of headings that are open where the text begins; `shift`
    is added to all offsets.
    """
    starts, ends = _line_marks(text)
    spans = _fill_gaps(_spans(text), starts, ends, text)
    path = list(above)
    blocks = []
    for span in spans:
        if span.kind == "heading":
            path = [entry for entry in path if entry[0] < span.level]
            if span.title:
                path.append((span.level, span.title))
        begin, end = starts[span.first], ends[span.last - 1]
        header = _table_header(text[begin:end]) if span.kind == "table" else ""
        blocks.append(
            Block(
                kind=span.kind,
                start=begin + shift,
                end=end + shift,
                heading_path=tuple(title for _, title in path),
                page=page,
                table_header=header,
            )
        )
    return tuple(blocks)


def first_title(blocks: Sequence[Block]) -> str:
    """The first heading of the text, if it has one."""
    return next((b.heading_path[-1] for b in blocks if b.kind == "heading" and b.heading_path), "")


def plain_inline(source: str) -> str:
    """A heading as a reader sees it: without link targets, emphasis, tags and `{#anchor}`."""
    text = _ANCHOR.sub("", source)
    text = _INLINE_LINK.sub(r"\1", text)
    if "<" in text:
        text = _TAG.sub("", text)
    text = _MARKS.sub("", text)
    return " ".join(unescape(_ESCAPE.sub(r"\1", text)).split())


def find_links(text: str, blocks: Sequence[Block]) -> tuple[tuple[str, str], ...]:
    """`(anchor text, target)` outside code, in order, each once; pictures are no links.
    Only the first `MAX_LINKED_TEXT` characters are looked at."""
    found: dict[tuple[str, str], None] = {}
    for begin, end in _outside_code(text[:MAX_LINKED_TEXT], blocks):
        for match in _LINK.finditer(text, begin, end):
            if not match.group(1):
                found.setdefault((plain_inline(match.group(2)), match.group(3)))
        for match in _AUTOLINK.finditer(text, begin, end):
            found.setdefault((match.group(1), match.group(1)))
        if len(found) >= MAX_LINKS:
            break
    return tuple(found)[:MAX_LINKS]


def _outside_code(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    position = 0
    for block in blocks:
        if block.kind == "code" and block.start < len(text):
            yield position, block.start
            position = block.end
    yield position, len(text)


def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.options["maxNesting"] = 40
    return parser


_PARSER = _block_parser()


def _spans(text: str) -> list[_Span]:
    tokens: list[Token] = []
    if len(text) > MAX_EXACT_LETTERS or text.count("\n") > MAX_EXACT_LINES:
        return list(_coarse_spans(text))
    if text:
        # Only the block rules: inline structure is not needed, and costs half the time.
        state = StateBlock(text, _PARSER, {}, tokens)
        _PARSER.block.tokenize(state, 0, state.lineMax)
    spans: list[_Span] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type in _CONTAINERS:
            end = _closing(tokens, position)
            spans.extend(_container_spans(tokens[position : end + 1]))
            position = end
        elif token.map and token.type in _LEAVES:
            spans.append(_leaf_span(tokens, position))
        position += 1
    return spans


def _coarse_spans(text: str) -> Iterator[_Span]:
    """For giants: fences, `#` headings, and paragraphs between empty lines; no nesting."""
    start, fence = 0, ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                yield _Span("code", start, number + 1)
                start, fence = number + 1, ""
            continue
        heading = _HEADING.match(line)
        if mark or heading or not line.strip():
            if start < number:
                yield _Span("paragraph", start, number)
            start = number
        if mark:
            fence = mark[1]
        elif heading:
            yield _Span("heading", number, number + 1, len(heading[1]), plain_inline(heading[2]))
            start = number + 1
    if start < len(lines):
        yield _Span("code" if fence else "paragraph", start, len(lines))


def _closing(tokens: list[Token], position: int) -> int:
    level = tokens[position].level
    for index in range(position + 1, len(tokens)):
        if tokens[index].level == level and tokens[index].nesting == -1:
            return index
    return len(tokens) - 1


def _leaf_span(tokens: list[Token], position: int) -> _Span:
    token = tokens[position]
    first, last = token.map or [0, 0]
    kind = _LEAVES[token.type]
    if kind == "heading":
        title = plain_inline(tokens[position + 1].content)
        return _Span(kind, first, last, int(token.tag[1:]), title)
    if kind == "html":
        heading = _HTML_HEADING.fullmatch(token.content)
        if heading:
            return _Span("heading", first, last, int(heading[1]), plain_inline(heading[2]))
    return _Span(kind, first, last)


def _container_spans(tokens: list[Token]) -> list[_Span]:
    """The container's lines as its own kind, cut by the code, tables and HTML inside."""
    kind = _CONTAINERS[tokens[0].type]
    position, end = tokens[0].map or [0, 0]
    spans: list[_Span] = []
    for token in tokens:
        inner = _LEAVES.get(token.type)
        if inner not in _OWN_IN_CONTAINER or not token.map or token.map[0] < position:
            continue
        if token.map[0] > position:
            spans.append(_Span(kind, position, token.map[0]))
        spans.append(_Span(inner, token.map[0], token.map[1]))
        position = token.map[1]
    if position < end:
        spans.append(_Span(kind, position, end))
    return spans


def _fill_gaps(
    spans: list[_Span], starts: list[int], ends: list[int], text: str
) -> Iterator[_Span]:
    """Trimmed spans without overlap; lines that no token holds (rules, link definitions)
    become paragraphs."""
    position = 0
    for span in [*spans, _Span("paragraph", len(starts), len(starts))]:
        first = max(span.first, position)
        yield from _trimmed(_Span("paragraph", position, first), starts, ends, text)
        if span.last > first:
            yield from _trimmed(
                _Span(span.kind, first, span.last, span.level, span.title), starts, ends, text
            )
        position = max(position, span.last)


def _trimmed(span: _Span, starts: list[int], ends: list[int], text: str) -> Iterator[_Span]:
    first, last = span.first, span.last
    while first < last and not text[starts[first] : ends[first]].strip():
        first += 1
    while last > first and not text[starts[last - 1] : ends[last - 1]].strip():
        last -= 1
    if first < last:
        yield _Span(span.kind, first, last, span.level, span.title)


def _line_marks(text: str) -> tuple[list[int], list[int]]:
    lengths = [len(line) for line in text.split("\n")]
    starts = list(accumulate((length + 1 for length in lengths[:-1]), initial=0))
    return starts, [start + length for start, length in zip(starts, lengths, strict=True)]


def _table_header(source: str) -> str:
    lines = [line.strip(" \t>") for line in source.split("\n", 2)[:2]]
    return "\n".join(lines)
