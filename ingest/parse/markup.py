"""reStructuredText and AsciiDoc: enough of them to find headings, listings and tables.

The text is kept as it is written; includes and other directives are never carried out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from ingest.parse.parsed import Block, BlockKind, Parsed
from ingest.parse.tables import pipe_table

_RULE = re.compile(r"([=\-`:'\"~^_*+#<>.!$%&(),/;?@\[\\\]{|}])\1{2,}\s*$")
_FIELD = re.compile(r":(?P<name>[\w -]{1,40}):\s+(?P<value>\S.*)")
_RST_FIELDS = {"author": "author", "date": "published_at", "version": "version",
               "revision": "version", "copyright": "license", "title": "title"}  # fmt: skip
_DIRECTIVE = re.compile(r"(\s*)\.\. (code-block|code|sourcecode|parsed-literal|highlight|math)::")
_GRID_RULE = re.compile(r"\s*\+[-=+]{3,}\+\s*$")
_SIMPLE_RULE = re.compile(r"\s*={2,}(?:\s+={2,})+\s*$")
_LIST = re.compile(r"\s*(?:[-*+•]|#\.|\d{1,3}[.)]|\(?[a-z][.)]|\*{2,5}|\.{1,5}|-)\s+\S")
_ADOC_HEADING = re.compile(r"(={1,6})\s+(\S.*?)(?:\s+=+)?\s*$")
_ADOC_FENCE = re.compile(r"(-{4,}|\.{4,}|`{3,}.*|\+{4,})\s*$")
_ADOC_TABLE = re.compile(r"[|,:!]={3,}\s*$")
_ADOC_CELL = re.compile(r"(?:(?<=\s)|^)(?:\d*\.?\d*[+*])?[<^>]?(?:\.[<^>])?[aehlmsdv]?\|(?!=)")
_ADOC_ATTRIBUTE = re.compile(r":(?P<name>[\w-]{1,40}):\s+(?P<value>\S.*)")
_ADOC_FIELDS = {
    "author": "author", "revdate": "published_at", "revnumber": "version", "lang": "language",
    "keywords": "keywords", "description": "description",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Span:
    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""
    header: str = ""


def parse_rst(text: str) -> Parsed:
    return _parsed(text, _rst_spans, "text/x-rst", _FIELD, _RST_FIELDS)


def parse_asciidoc(text: str) -> Parsed:
    return _parsed(text, _adoc_spans, "text/asciidoc", _ADOC_ATTRIBUTE, _ADOC_FIELDS)


def _parsed(
    text: str,
    read: Callable[[list[str]], Iterator[_Span]],
    media_type: str,
    field_line: re.Pattern[str],
    names: dict[str, str],
) -> Parsed:
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    fields: dict[str, str] = {}
    for line in lines[:40]:
        match = field_line.match(line)
        if match and match["name"].lower() in names:
            fields.setdefault(names[match["name"].lower()], match["value"].strip())
    blocks: list[Block] = []
    path: list[tuple[int, str]] = []
    for span in read(lines):
        if span.kind == "heading":
            path = [entry for entry in path if entry[0] < span.level]
            path.append((span.level, span.title))
        blocks.append(
            Block(
                kind=span.kind,
                start=starts[span.first],
                end=starts[span.last - 1] + len(lines[span.last - 1]),
                heading_path=tuple(title for _, title in path),
                table_header=span.header,
            )
        )
    sources = dict.fromkeys(fields, "file")
    title = fields.get("title") or next(
        (b.heading_path[-1] for b in blocks if b.kind == "heading"), ""
    )
    if title and "title" not in fields:
        fields["title"], sources["title"] = title, "text"
    return Parsed(
        text=text,
        blocks=tuple(blocks),
        title=title,
        media_type=media_type,
        fields=fields,
        field_sources=sources,
    )


def _rst_spans(lines: list[str]) -> Iterator[_Span]:
    levels: list[str] = []
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        span = _rst_heading(lines, position, levels) or _rst_body(lines, position)
        yield span
        position = span.last


def _rst_heading(lines: list[str], at: int, levels: list[str]) -> _Span | None:
    """A title over a rule, or between two; the order of first use gives the levels."""
    over = bool(_RULE.match(lines[at])) and at + 2 < len(lines) and bool(_RULE.match(lines[at + 2]))
    row = at + 1 if over else at
    if row + 1 >= len(lines) or not lines[row].strip() or not _RULE.match(lines[row + 1]):
        return None
    title, rule = lines[row].strip(), lines[row + 1].strip()
    if (
        len(rule) < min(len(title), 3)
        or _RULE.match(lines[row])
        or (lines[row][0].isspace() and not over)
    ):
        return None
    style = rule[0] * (2 if over else 1)
    if style not in levels:
        levels.append(style)
    return _Span("heading", at, row + 2, levels.index(style) + 1, title)


def _rst_body(lines: list[str], at: int) -> _Span:
    directive = _DIRECTIVE.match(lines[at])
    if directive:
        return _Span("code", at, _indented_end(lines, at + 1, len(directive[1])))
    if _GRID_RULE.match(lines[at]) or _SIMPLE_RULE.match(lines[at]):
        last = _table_end(lines, at)
        return _Span("table", at, last, header=_rst_header(lines[at:last]))
    last = _paragraph_end(lines, at)
    if lines[at][0].isspace() and at > 0 and _literal_before(lines, at):
        return _Span("code", at, _indented_end(lines, at, 0))
    is_list = _LIST.match(lines[at]) and not lines[at].startswith("..")
    return _Span("list" if is_list else "paragraph", at, last)


def _literal_before(lines: list[str], at: int) -> bool:
    before = next((line for line in reversed(lines[:at]) if line.strip()), "")
    return before.rstrip().endswith("::")


def _indented_end(lines: list[str], at: int, indent: int) -> int:
    last = at
    for number in range(at, len(lines)):
        line = lines[number]
        if line.strip():
            if len(line) - len(line.lstrip()) <= indent:
                break
            last = number + 1
    return max(last, at)


def _paragraph_end(lines: list[str], at: int) -> int:
    last = at
    while last < len(lines) and lines[last].strip():
        last += 1
        if last + 1 < len(lines) and _RULE.match(lines[last + 1]) and lines[last].strip():
            break
    return max(last, at + 1)


def _table_end(lines: list[str], at: int) -> int:
    """A grid table ends at the first empty line, a simple one at the rule before it."""
    last = at
    while last < len(lines) and lines[last].strip():
        last += 1
    return last


def _rst_header(rows: list[str]) -> str:
    """The header lines as they are written, with the rule under them."""
    rules = [n for n, row in enumerate(rows) if re.fullmatch(r"\s*[+=\s]*={2,}[+=\s]*", row)]
    if len(rules) >= 2 and rules[0] == 0:  # noqa: PLR2004 - a simple table: rule, header, rule
        return "\n".join(rows[: rules[1] + 1])
    return "\n".join(rows[: rules[0] + 1]) if rules and rules[0] > 0 else ""


def _adoc_spans(lines: list[str]) -> Iterator[_Span]:
    position = 0
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            position += 1
            continue
        span = _adoc_span(lines, position)
        yield span
        position = span.last


def _adoc_span(lines: list[str], at: int) -> _Span:
    line = lines[at]
    heading = _ADOC_HEADING.match(line)
    if heading:
        return _Span("heading", at, at + 1, len(heading[1]), heading[2])
    if _ADOC_FENCE.match(line):
        return _Span("code", at, _closing(lines, at))
    if _ADOC_TABLE.match(line):
        last = _closing(lines, at)
        return _Span("table", at, last, header=_adoc_header(lines[at + 1 : last - 1]))
    last = at + 1
    while last < len(lines) and lines[last].strip() and not _adoc_starts(lines[last]):
        last += 1
    if line.startswith("|"):
        return _Span("table", at, last, header=_adoc_header(lines[at : at + 1]))
    return _Span("list" if _LIST.match(line) else "paragraph", at, last)


def _adoc_starts(line: str) -> bool:
    return bool(_ADOC_HEADING.match(line) or _ADOC_FENCE.match(line) or _ADOC_TABLE.match(line))


def _closing(lines: list[str], at: int) -> int:
    mark = lines[at].strip()
    mark = "```" if mark.startswith("```") else mark
    for number in range(at + 1, len(lines)):
        if lines[number].strip() == mark:
            return number + 1
    return len(lines)


def _adoc_header(rows: list[str]) -> str:
    first = next((row for row in rows if row.strip()), "")
    names = [cell.strip() for cell in _ADOC_CELL.split(first)[1:]]
    table = pipe_table([[name for name in names if name]]) if any(names) else None
    return table.header if table else ""
