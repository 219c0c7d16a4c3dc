"""Markdown -> the units that can bear a claim out: facts, table cells and sentences.

A unit is said of its subject: the deepest heading above it, the key of its row, the term of its
definition. Places are characters of the text that was given, so that what bears a claim out can
be cited as it stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import regex

from serve.claims.words import read_wording

UnitKind = Literal["fact", "cell", "sentence"]
MAX_LABEL_CHARS = 48
MAX_FACT_CHARS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """`text` is what is said (of a fact or a cell the value, under its `label`), without markup;
    `subjects` whose it is, the nearest first; `path` the headings above; `about` the rest of its
    section or row; `given_in` what figures without a unit are counted in, where that is said."""

    kind: UnitKind
    text: str
    start: int
    end: int
    subjects: tuple[str, ...]
    path: tuple[str, ...]
    label: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


_HEADING = regex.compile(r"\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = regex.compile(r"\s*(`{3,}|~{3,})")
_ITEM = regex.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_TERM = regex.compile(r"\s*\*\*(`?[^*`]{1,80}`?)\*\*\s*$")
_LABELLED = regex.compile(rf"(?P<label>[^：:。.!?`]{{1,{MAX_LABEL_CHARS}}}?)\s*[：:]\s*(?=\S)")
_PAREN_DEFAULT = regex.compile(
    r"[（(](?:the\s+)?(?P<label>default(?:s)?(?: value)?|默认值?|缺省值?)(?:\s+(?:is|to))?"
    r"\s*[:：为是]?\s*"
    r"(?P<value>`[^`\n]+`|\"[^\"\n]*\"|[^()（）\n]{1,60})[)）]",
    regex.IGNORECASE,
)
_SENTENCE_END = regex.compile(
    r"(?<=[。！？!?；;])\s*|(?<=[^\s\d][.])\s+(?=[\p{Lu}\p{Han}`*\[\"'])"
    r"|(?<=\p{L}\s[\d.,]*\d[.])\s+(?=\p{Lu}\p{Ll}*\s)"
)
_TABLE = regex.compile(r"<table\b.*?(?:</table>|\Z)", regex.DOTALL | regex.IGNORECASE)
_TABLE_ROW = regex.compile(r"<tr\b[^>]*>(.*?)(?=<tr\b|</tr>|</table>|\Z)", regex.DOTALL | regex.I)
_CELL = regex.compile(
    r"<(t[hd])\b[^>]*>(.*?)(?=<t[hd]\b|</t[hd]>|</tr>|\Z)", regex.DOTALL | regex.I
)
_RULE = regex.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_BAR = regex.compile(r"(?<!\\)\|")
_MARKUP = regex.compile(
    r"!\[[^\]]*\]\([^)\s]*\)|<!--.*?-->"
    r"|\{\{<.*?>\}\}|\{#[^}]*\}|</?[a-zA-Z][^>]*>|\*\*|__(?=\S)",
    regex.DOTALL,
)
_CODE = regex.compile(r"<code>([^<]*)</code>", regex.IGNORECASE)
_LINK = regex.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\](?:\([^)]*\)|\[[^\]]*\])")
_ISSUE = regex.compile(r"\(?\[?#\d{2,6}\]?\)?(?=$|[\s,，。@)])|@\[?[\w-]+\]?")


def plain(text: str) -> str:
    """Without markup; backticks stay, for they mark literals."""
    text = _CODE.sub(r"`\1`", text)
    text = _MARKUP.sub(" ", _LINK.sub(r"\1", text))
    return " ".join(_ISSUE.sub(" ", text).replace("\\_", "_").replace("\\|", "|").split())


def outline(text: str) -> tuple[Heading, ...]:
    """The headings of a text, also terms of definitions; those in code do not count."""
    found = []
    for line in _prose(text, 0, len(text)):
        if (match := _HEADING.match(line.text)) is not None:
            found.append(Heading(line.start, len(match[1]), plain(match[2])))
        elif (match := _TERM.match(line.text)) is not None:
            found.append(Heading(line.start, 9, plain(match[1])))
    return tuple(found)


def read_units(
    text: str,
    *,
    start: int,
    end: int,
    headings: Sequence[Heading],
    path: Sequence[str] = (),
) -> tuple[Unit, ...]:
    """The units of `text[start:end]`, in order. A table that the span cuts is read with its
    header. `path` is what stands above everything, such as the title."""
    reader = _Reader(text, headings=headings, path=tuple(plain(each) for each in path))
    units: list[Unit] = []
    at = start
    for match in _TABLE.finditer(text, _table_start(text, start), end):
        units += reader.lines(at, max(at, match.start()))
        units += reader.html_table(match, start)
        at = max(at, match.end())
    units += reader.lines(at, end)
    return tuple(unit for unit in units if unit.text)


class _Reader:
    def __init__(self, text: str, *, headings: Sequence[Heading], path: tuple[str, ...]) -> None:
        self._text, self._headings, self._path = text, headings, path
        self._starts = [heading.start for heading in headings]

    def lines(self, start: int, end: int) -> list[Unit]:
        """Paragraphs, lists and pipe tables between two places."""
        units: list[Unit] = []
        block: list[_Line] = []
        for line in [*_prose(self._text, start, end), _Line(end, end, "")]:
            kind = _kind(line.text)
            if block and (kind != "text" or _is_row(line.text) != _is_row(block[-1].text)):
                units += self._block(block)
                block = []
            if kind == "heading":
                units += self._titled(line)
            elif kind != "blank":
                block.append(line)
        return units

    def html_table(self, match: regex.Match[str], start: int) -> Iterator[Unit]:
        rows = []
        for row in _TABLE_ROW.finditer(match.group()):
            cells = [(kind.lower(), plain(cell)) for kind, cell in _CELL.findall(row.group())]
            where = (match.start() + row.start(), match.start() + row.end())
            rows.append((cells, where))
        head = next((cells for cells, _ in rows if all(kind == "th" for kind, _ in cells)), [])
        labels = [cell for _, cell in head]
        for cells, (begin, end) in rows:
            if cells and cells is not head and end > start:
                yield from self._row([cell for _, cell in cells], labels, begin, end)

    def _block(self, block: Sequence[_Line]) -> Iterator[Unit]:
        if _is_row(block[0].text) and (len(block) > 1 or self._head_before(block[0].start)):
            yield from self._pipe_table(block)
            return
        begin, end = block[0].start, block[-1].end
        subjects, path = self._place(begin)
        if (said := _labelled(self._text[begin:end])) is not None:
            label, value = said
            yield Unit(
                kind="fact",
                text=value,
                start=begin,
                end=end,
                subjects=subjects,
                path=path,
                label=label,
            )
            if label.startswith("是否") or read_wording(label).attributes:
                begin = self._after_first(begin, end)
        yield from self._sentences(begin, end, subjects, path)

    def _after_first(self, begin: int, end: int) -> int:
        match = _SENTENCE_END.search(self._text, begin, end)
        return match.end() if match else end

    def _sentences(
        self, begin: int, end: int, subjects: tuple[str, ...], path: tuple[str, ...]
    ) -> Iterator[Unit]:
        last = begin
        ends = [match.end() for match in _SENTENCE_END.finditer(self._text, begin, end)]
        for stop in [*ends, end]:
            raw = self._text[last:stop]
            if raw.strip():
                lead = len(raw) - len(raw.lstrip())
                said = plain(_without_bullet(raw))
                unit = Unit(
                    kind="sentence",
                    text=said,
                    start=last + lead,
                    end=last + len(raw.rstrip()),
                    subjects=subjects,
                    path=path,
                )
                yield unit
                yield from _defaults_in(unit)
            last = stop

    def _titled(self, line: _Line) -> list[Unit]:
        """A heading may say when its subject came in."""
        subjects, path = self._place(line.start)
        text = plain(line.text.lstrip("# "))
        unit = Unit(
            kind="sentence",
            text=text,
            start=line.start,
            end=line.end,
            subjects=subjects,
            path=path,
        )
        if (match := _SINCE.search(text)) is None:
            return [unit]
        return [unit, replace(unit, kind="fact", label="introduced", text=match["version"])]

    def _pipe_table(self, block: Sequence[_Line]) -> Iterator[Unit]:
        head = self._head_before(block[0].start)
        rows = [line for line in block if not _RULE.match(line.text)]
        if head is None and rows and len(block) > 1 and _RULE.match(block[1].text):
            head, rows = rows[0].text, rows[1:]
        labels = _cells(head) if head is not None else []
        for line in rows:
            yield from self._row(_cells(line.text), labels, line.start, line.end)

    def _row(
        self, cells: Sequence[str], labels: Sequence[str], start: int, end: int
    ) -> Iterator[Unit]:
        """Each cell is said of the row's key; where the first column describes or gives a
        value, of the heading."""
        subjects, path = self._place(start)
        keyed = bool(labels) and not _DESCRIBES.search(labels[0])
        if keyed and cells and cells[0]:
            subjects = (cells[0], *subjects)
        whole = " | ".join(cell for cell in cells if cell)
        for place, cell in enumerate(cells):
            if keyed and place == 0:
                continue
            label = labels[place] if place < len(labels) else ""
            unit = Unit(
                kind="cell",
                text=cell,
                start=start,
                end=end,
                subjects=subjects,
                path=path,
                label=label,
                about=f"{whole} | {labels[0] if labels else ''}",
            )
            yield unit
            yield from _defaults_in(unit)
            if len(cell) > MAX_LABEL_CHARS:
                for part in _SENTENCE_END.split(cell):
                    yield replace(unit, kind="sentence", text=part, label="", about=whole)

    def _head_before(self, start: int) -> str | None:
        """The header of the pipe table that goes on at `start`, where that is no header itself."""
        first = start
        while first > 0:
            before = self._text.rfind("\n", 0, first - 1) + 1
            if not _is_row(self._text[before : first - 1]):
                break
            first = before
        lines = self._text[first : first + 4000].split("\n", 2)
        if first < start and len(lines) > 1 and _RULE.match(lines[1]):
            return lines[0]
        return None

    def _place(self, at: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Subjects and path at a place: the headings above it, the deepest first, and all."""
        stack: list[Heading] = []
        for heading in self._headings[: bisect_right(self._starts, at)]:
            while stack and stack[-1].level >= heading.level:
                stack.pop()
            stack.append(heading)
        titles = tuple(heading.title for heading in stack)
        path = (*(each for each in self._path if each not in titles), *titles)
        return (tuple(reversed(titles[-1:])) or path[-1:]), path


_SINCE = regex.compile(
    r"(?:\b(?:since|from|as of|new in|added in|introduced in)\b|[从自])\s*(?:version\s*|版本\s*)?"
    r"(?P<version>v?\d+(?:\.\d+)+(?:\s*[和、,]\s*v?\d+(?:\.\d+)+)*)",
    regex.IGNORECASE,
)
_DESCRIBES = regex.compile(
    r"^\W*(?:description|default|value|描述|说明|默认|值|notes?|备注)", regex.IGNORECASE
)


def _labelled(raw: str) -> tuple[str, str] | None:
    """`label: value`, where the label is short and the value not long."""
    text = plain(_without_bullet(raw))
    match = _LABELLED.match(text)
    if match is None or len(text) - match.end() > MAX_FACT_CHARS:
        return None
    label = match["label"].strip()
    if any(label.count(one) != label.count(other) for one, other in ("()", "（）")):
        return None
    return label, text[match.end() :]


def _without_bullet(raw: str) -> str:
    """A number in the midst of a sentence is none of a list."""
    text = raw.lstrip(" >:")
    bullet = _ITEM.match(text)
    return text[bullet.end() :] if bullet else text


def _defaults_in(unit: Unit) -> Iterator[Unit]:
    for match in _PAREN_DEFAULT.finditer(unit.text):
        label, value = match["label"], match["value"]
        yield replace(unit, kind="fact", text=value, label=label, about=unit.text)


def _prose(text: str, start: int, end: int) -> Iterator[_Line]:
    """The lines that are not code."""
    fence, at = "", start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = text[at:stop]
        if (match := _FENCE.match(line)) is not None:
            mark = match[1]
            fence = "" if fence and mark.startswith(fence) else fence or mark
        elif not fence:
            yield _Line(at, stop, line)
        at = stop + 1


def _kind(line: str) -> str:
    if not line.strip(" >\t"):
        return "blank"
    if _HEADING.match(line) or _TERM.match(line):
        return "heading"
    return "item" if _ITEM.match(line) or regex.match(r"\s*(?:>\s*)+[-*+]\s|:\s", line) else "text"


def _is_row(line: str) -> bool:
    stripped = line.strip()
    return stripped.startswith("|") or (_RULE.match(line) is not None and "|" in line)


def _cells(line: str) -> list[str]:
    parts = _BAR.split(line.strip())
    if parts and not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    return [plain(part) for part in parts]


def _table_start(text: str, start: int) -> int:
    """Where the HTML table begins that is open at `start`; else `start`."""
    opened = text.rfind("<table", 0, start)
    closed = text.rfind("</table", 0, start)
    return opened if opened > closed else start
