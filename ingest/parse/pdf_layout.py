"""Lines of PDF pages → headings, paragraphs, listings and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.parse.notebook import fence
from ingest.parse.pdf_lines import Cell, Line
from ingest.parse.pieces import Piece
from ingest.parse.tables import pipe_table

_LARGER = 1.12
"""A heading is set larger than the body by this factor at least."""
_LONGEST_HEADING = 150
_FULL_LINE = 0.88
"""A line this full goes on in the next one."""
_MIN_ROWS, _MIN_COLUMNS = 3, 2
_WIDE_TABLE = 4
"""With so many columns two rows are enough."""
_COMMON = 0.2
"""A size in which so much of the text is set is no size of headings."""
_COLUMN = 0.3
"""Narrower lines than this share of the page's text are not filled up and run on."""
_LONG_CELL = 45
_MANY_LONG = 0.3
_SHORT = 80
_SENTENCE_END = ".,;。，；"
_BULLET = re.compile(r"[-•‣▪●◦–*]\s")
_LIST_MARK = re.compile(r"(?:[-•‣▪●◦–*]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
_CJK_END = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef\u3000-\u303f]$")
_CJK_START = re.compile(r"^[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef\u3000-\u303f]")


@dataclass(frozen=True, slots=True)
class Style:
    """Of a whole document: the size of its body text, sizes of headings (largest first),
    and whether most of it is monospaced or bold."""

    body: float
    headings: tuple[float, ...]
    monospaced: bool
    bold: bool


def document_style(pages: Sequence[Sequence[Line]]) -> Style:
    sizes: Counter[float] = Counter()
    monospaced = bold = total = 0
    for lines in pages:
        for line in lines:
            sizes[_rounded(line.size)] += len(line.text)
            total += len(line.text)
            monospaced += len(line.text) if line.monospaced else 0
            bold += len(line.text) if line.bold else 0
    body = sizes.most_common(1)[0][0] if sizes else 1.0
    larger = sorted(
        (s for s, letters in sizes.items() if s >= _LARGER * body and letters < _COMMON * total),
        reverse=True,
    )
    return Style(body, tuple(larger[:4]), monospaced * 2 > total, bold * 2 > total)


def page_pieces(lines: Sequence[Line], style: Style, *, page: int) -> Iterator[Piece]:
    """The pieces of one page, in the order of the file."""
    position = 0
    width = max((line.right for line in lines), default=0) - min(
        (line.left for line in lines), default=0
    )
    while position < len(lines):
        rows = _table_rows(lines, position)
        if rows and not _is_listing(lines[position], style):
            table = pipe_table(_grid(rows))
            if table is not None:
                yield Piece(kind="table", text=table.text, table_header=table.header, page=page)
            position += len(rows)
            continue
        level = _heading_level(lines[position], style)
        end = _run_end(lines, position, style, level)
        yield _piece(lines[position:end], style, level, page, width)
        position = end


def _piece(lines: Sequence[Line], style: Style, level: int, page: int, page_width: float) -> Piece:
    if level and sum(len(line.text) for line in lines) <= _LONGEST_HEADING:
        title = " ".join(line.text for line in lines).replace("\u00ad ", "").replace("\u00ad", "")
        return Piece(kind="heading", text=title, level=level, page=page)
    if _is_listing(lines[0], style):
        return Piece(kind="code", text=fence(_listing(lines)), page=page)
    text = _reflowed(lines, page_width)
    kind = "list" if _LIST_MARK.match(lines[0].text) else "paragraph"
    return Piece(kind=kind, text=text, page=page)


def _heading_level(line: Line, style: Style) -> int:
    """1 to 4 by size; a short bold line of body size that is no sentence is one level lower."""
    text = line.text
    letters = sum(2 if letter > "\u2e80" else 1 for letter in text if letter.isalpha())
    if not 1 < letters <= _LONGEST_HEADING or _BULLET.match(text) or len(line.cells) > _MIN_COLUMNS:
        return 0
    size = _rounded(line.size)
    if size in style.headings:
        return style.headings.index(size) + 1
    if line.bold and not style.bold and len(text) <= _SHORT and text[-1] not in _SENTENCE_END:
        return min(len(style.headings) + 1, 5)
    return 0


def _run_end(lines: Sequence[Line], start: int, style: Style, level: int) -> int:
    end = start + 1
    while end < len(lines) and _continues(lines[end - 1], lines[end], style, level):
        if not level and _table_rows(lines, end):
            break
        end += 1
    return end


def _continues(before: Line, line: Line, style: Style, level: int) -> bool:
    if _heading_level(line, style) != level or before.monospaced != line.monospaced:
        return False
    gap = line.top - before.bottom
    limit = 0.9 if level else 0.75
    same_size = abs(line.size - before.size) < 0.15 * before.size
    return -2.5 * before.size < gap < limit * before.size and same_size


def _reflowed(lines: Sequence[Line], page_width: float) -> str:
    """Full lines run on into the next, others end where the page ends them."""
    left = min(line.left for line in lines)
    width = max(line.right for line in lines) - left or 1.0
    narrow = width < _COLUMN * page_width
    text = lines[0].text
    for before, line in pairwise(lines):
        full = not narrow and (before.right - left) / width >= _FULL_LINE
        full = full and abs(line.left - left) < 4 * line.size and before.text[-1] not in "-=_"
        if text.endswith("\u00ad"):
            text = text[:-1] + line.text
        elif not full or _LIST_MARK.match(line.text):
            text += "\n" + line.text
        elif _CJK_END.search(text) and _CJK_START.search(line.text):
            text += line.text
        else:
            text += " " + line.text
    return text.removesuffix("\u00ad") + ("-" if text.endswith("\u00ad") else "")


def _is_listing(line: Line, style: Style) -> bool:
    return line.monospaced and not style.monospaced


def _listing(lines: Sequence[Line]) -> str:
    """Indentation by place: a monospaced letter is about half as wide as its line is high."""
    left = min(line.left for line in lines)
    widths = [
        (cell.right - cell.left) / len(cell.text)
        for line in lines
        for cell in line.cells
        if cell.text
    ]
    letter = max(widths) or 1.0
    return "\n".join(_listed(line, left, letter) for line in lines)


def _listed(line: Line, left: float, letter: float) -> str:
    row = " " * round((line.left - left) / letter) + line.cells[0].text
    for before, cell in pairwise(line.cells):
        row += " " * max(1, int((cell.left - before.right) / letter)) + cell.text
    return row.replace("\u00ad", "-")


def _table_rows(lines: Sequence[Line], start: int) -> Sequence[Line]:
    """Consecutive lines whose cells stand under each other; empty when there are too few."""
    end = start
    while end < len(lines) and len(lines[end].cells) >= _MIN_COLUMNS:
        if end > start and not _aligned(lines[start:end], lines[end]):
            break
        end += 1
    rows = lines[start:end]
    cells = [cell for row in rows for cell in row.cells]
    long_cells = sum(len(cell.text) > _LONG_CELL for cell in cells)
    widest = max((len(row.cells) for row in rows), default=0)
    if len(rows) < (_MIN_ROWS if widest < _WIDE_TABLE else _MIN_ROWS - 1):
        return ()
    if long_cells > _MANY_LONG * len(cells) or len(_columns(rows)) < _MIN_COLUMNS:
        return ()
    return rows


def _aligned(rows: Sequence[Line], line: Line) -> bool:
    """At least half of the cells begin, end or lie in the middle where cells above do."""
    size = line.size
    if line.top - rows[-1].bottom > 4 * size or line.top < rows[-1].top - size:
        return False
    above = [cell for row in rows[-6:] for cell in row.cells]
    matched = sum(any(_overlap(cell, other) for other in above) for cell in line.cells)
    return 2 * matched >= len(line.cells)


def _overlap(cell: Cell, other: Cell) -> bool:
    return cell.left < other.right and other.left < cell.right


def _grid(rows: Sequence[Line]) -> list[list[str]]:
    columns = _columns(rows)
    grid = []
    for row in rows:
        filled = [""] * len(columns)
        for cell in row.cells:
            place = next(i for i, (_, right) in enumerate(columns) if cell.left < right)
            text = cell.text.replace("\u00ad", "-")
            filled[place] = f"{filled[place]} {text}".strip()
        grid.append(filled)
    return grid


def _columns(rows: Sequence[Line]) -> list[list[float]]:
    """`[left, right]` of the stretches that cells of any row cover without a break."""
    columns: list[list[float]] = []
    for cell in sorted((c for row in rows for c in row.cells), key=lambda c: c.left):
        if columns and cell.left < columns[-1][1]:
            columns[-1][1] = max(columns[-1][1], cell.right)
        else:
            columns.append([cell.left, cell.right])
    return columns


def _rounded(size: float) -> float:
    return round(size * 2) / 2
