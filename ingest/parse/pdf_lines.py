"""Characters of a PDF page → lines with places, sizes and words, in the order of the file."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]  # ships no types

MAX_CHARACTERS = 200_000
"""Of one page; a page with more is a plot, not a text."""
_WIDE_GAP = 0.8
"""A space wider than this many line heights parts two cells."""
_NO_GAP = 0.06
_ALEFS = "\u0622\u0623\u0625\u0627"
_HYPHENS = "\x02\ufffe\u00ad"
_MONOSPACED = re.compile(
    r"mono|courier|consol|typewriter|menlo|cmtt|sfmono|inconsolata", re.IGNORECASE
)
_BOLD = re.compile(r"bold|black|heavy|medi\b|cmbx", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of a line without a wide gap between them."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """Places in points from the left and the top of the page as it is shown."""

    cells: tuple[Cell, ...]
    top: float
    bottom: float
    size: float
    font: str

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        return self.cells[0].left

    @property
    def right(self) -> float:
        return max(cell.right for cell in self.cells)

    @property
    def monospaced(self) -> bool:
        return bool(_MONOSPACED.search(self.font))

    @property
    def bold(self) -> bool:
        return bool(_BOLD.search(self.font))


@dataclass(slots=True)
class _Glyph:
    letter: str
    left: float
    right: float
    top: float
    bottom: float


def page_lines(page: Any) -> list[Line]:
    """`page` is a pypdfium2 page. Doubled glyphs (fake bold) come once, right-to-left text in
    reading order: the library sees to both."""
    text_page = page.get_textpage()
    try:
        return list(_lines(page, text_page))
    finally:
        text_page.close()


def _lines(page: Any, text_page: Any) -> Iterator[Line]:
    width, height = page.get_size()
    turn = page.get_rotation()
    glyphs: list[_Glyph] = []
    first = last = 0
    count = min(pdfium.FPDFText_CountChars(text_page.raw), MAX_CHARACTERS)
    box = pdfium.FS_RECTF()
    for index in range(count):
        code = pdfium.FPDFText_GetUnicode(text_page.raw, index)
        letter = chr(code) if 0 < code <= 0x10FFFF else ""  # noqa: PLR2004 - end of Unicode
        if letter in ("\r", "\n"):
            if glyphs:
                yield from _line(glyphs, _font(text_page, first, last))
            glyphs = []
            continue
        if not letter or not pdfium.FPDFText_GetLooseCharBox(text_page.raw, index, box):
            continue
        if not glyphs:
            first = index
        if not letter.isspace():
            last = index
        glyphs.append(_turned(letter, box, turn, width, height))
        if letter in _HYPHENS:  # stands for the hyphen and the line end behind it
            yield from _line(glyphs, _font(text_page, first, last))
            glyphs = []
    if glyphs:
        yield from _line(glyphs, _font(text_page, first, last))


def _turned(letter: str, box: Any, turn: int, width: float, height: float) -> _Glyph:
    left, right, top, bottom = box.left, box.right, box.top, box.bottom
    match turn:
        case 90:
            return _Glyph(letter, bottom, top, left, right)
        case 180:
            return _Glyph(letter, width - right, width - left, bottom, top)
        case 270:
            return _Glyph(letter, width - top, width - bottom, height - right, height - left)
    return _Glyph(letter, left, right, height - top, height - bottom)


def _font(text_page: Any, first: int, last: int) -> str:
    """The font's name where the line begins and ends with the same."""
    name = _font_at(text_page, first)
    return name if name == _font_at(text_page, last) else ""


def _font_at(text_page: Any, index: int) -> str:
    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    size = pdfium.FPDFText_GetFontInfo(text_page.raw, index, buffer, 128, ctypes.byref(flags))
    return buffer.value.decode("utf-8", "replace") if 0 < size <= 128 else ""  # noqa: PLR2004


def _line(glyphs: list[_Glyph], font: str) -> Iterator[Line]:
    solid = [glyph for glyph in glyphs if not glyph.letter.isspace()]
    if not solid:
        return
    heights = sorted(abs(glyph.bottom - glyph.top) for glyph in solid)
    size = heights[len(heights) // 2] or 1.0
    cells = tuple(_cells(_mended(glyphs, size), _WIDE_GAP * size))
    if cells:
        yield Line(
            cells,
            min(min(glyph.top, glyph.bottom) for glyph in solid),
            max(max(glyph.top, glyph.bottom) for glyph in solid),
            size,
            font,
        )


def _mended(glyphs: list[_Glyph], size: float) -> list[_Glyph]:
    """Without spaces where there is no gap (left over from doubled glyphs), and with the two
    letters of an Arabic ligature in reading order."""
    kept: list[_Glyph] = []
    for before, glyph, after in zip([None, *glyphs], glyphs, [*glyphs[1:], None], strict=False):
        if glyph.letter.isspace() and before and after and before.letter.isascii():
            gap = after.left - before.right
            if -_NO_GAP * 4 * size < gap < _NO_GAP * size and after.letter.isascii():
                continue
        kept.append(glyph)
        if len(kept) > 1 and _is_ligature(kept[-2], glyph):
            kept[-2], kept[-1] = kept[-1], kept[-2]
    return kept


def _is_ligature(before: _Glyph, glyph: _Glyph) -> bool:
    """Alef before lam in one and the same box."""
    return (
        glyph.letter == "\u0644"
        and before.letter in _ALEFS
        and (before.left, before.right) == (glyph.left, glyph.right)
    )


def _cells(glyphs: list[_Glyph], gap: float) -> Iterator[Cell]:
    group: list[_Glyph] = []
    for glyph in glyphs:
        if glyph.letter.isspace():
            if group:
                group.append(_Glyph(" ", group[-1].left, group[-1].right, 0, 0))
            continue
        if group and glyph.left - group[-1].right > gap:
            yield from _cell(group)
            group = []
        group.append(glyph)
    yield from _cell(group)


def _cell(group: list[_Glyph]) -> Iterator[Cell]:
    text = " ".join("".join(glyph.letter for glyph in group).split())
    for mark in _HYPHENS:
        text = text.replace(mark, "\u00ad")
    if text:
        yield Cell(text, min(g.left for g in group), max(g.right for g in group))
