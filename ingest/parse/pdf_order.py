"""Lines of a PDF page → the order in which they are read.

Most programs write a page in reading order, columns included, and that order is kept. Where it
jumps back up to a place that is not a column to the right, the page was painted in another
order (frames first, a heading last); then places decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ingest.parse.pdf_lines import Line

_SAME_ROW = 0.5
_MARGINAL = 12
"""Shorter lines (page numbers, stamps) may lie anywhere."""
_MIN_SIDE_BY_SIDE = 6
_LONG = 25


def reading_order(lines: Sequence[Line]) -> list[Line]:
    if not _jumps_back(lines) or _in_columns(lines):
        return _rows(lines, only_adjacent=True)
    return _rows(sorted(lines, key=lambda line: (line.top, line.left)), only_adjacent=False)


def _jumps_back(lines: Sequence[Line]) -> bool:
    """Does a line of some length lie above its predecessor without being right of what came
    since the last jump?"""
    run_right = 0.0
    before: Line | None = None
    for line in lines:
        if len(line.text) < _MARGINAL:
            continue
        if before is not None and line.top < before.top - 2 * before.size:
            if line.left < run_right - line.size:
                return True
            run_right = 0.0
        run_right = max(run_right, line.right)
        before = line
    return False


def _in_columns(lines: Sequence[Line]) -> bool:
    """Do many long lines stand beside other long lines?"""
    long_lines = sorted((line for line in lines if len(line.text) >= _LONG), key=lambda x: x.top)
    beside = 0
    for index, line in enumerate(long_lines):
        for other in long_lines[index + 1 : index + 4]:
            apart = other.left > line.right or line.left > other.right
            if other.top < line.bottom and apart:
                beside += 1
                break
    return beside >= _MIN_SIDE_BY_SIDE


def _rows(lines: Sequence[Line], *, only_adjacent: bool) -> list[Line]:
    """Lines on one base line become one, their cells from left to right."""
    rows: list[Line] = []
    for line in lines:
        before = rows[-1] if rows else None
        if before is not None and _on_one_row(before, line, only_adjacent):
            cells = sorted((*before.cells, *line.cells), key=lambda cell: cell.left)
            rows[-1] = replace(
                before,
                cells=tuple(cells),
                top=min(before.top, line.top),
                bottom=max(before.bottom, line.bottom),
                font=before.font if before.font == line.font else "",
            )
        else:
            rows.append(line)
    return rows


def _on_one_row(before: Line, line: Line, only_adjacent: bool) -> bool:
    middle, other = (before.top + before.bottom) / 2, (line.top + line.bottom) / 2
    if abs(middle - other) > _SAME_ROW * min(before.size, line.size):
        return False
    if only_adjacent:
        return before.right <= line.left + line.size
    return before.right <= line.left + line.size or line.right <= before.left + line.size
