"""A `<table>` as a grid: merged cells filled, header rows found, layout tables told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborNode

from ingest.parse.tables import PipeTable, pipe_table

MAX_SPAN = 200
MAX_CELLS = 200_000
MAX_CELL = 3_000
"""A cell with more characters is a column of a page, not of a table."""

Grid = list[list[str]]


def is_layout(table: LexborNode) -> bool:
    """Is it a frame for other content? One cell, or headings and tables of their own inside,
    or a role that says so."""
    if table.attributes.get("role") in ("presentation", "none"):
        return True
    rows = list(_rows(table))
    cells = [cell for row in rows for cell in _cells(row)]
    if len(rows) <= 1 or len(cells) <= 1:
        return True
    if any(cell.tag == "th" for cell in cells):
        return False
    return any(
        cell.css_first("h1, h2, h3, h4, ul li p, pre, form") is not None
        or len(cell.text(deep=True)) > MAX_CELL
        for cell in cells
    )


def render_table(table: LexborNode, *, cell_text: Callable[[LexborNode], str]) -> PipeTable | None:
    """A cell over several rows is repeated in each, one over several columns only in header
    rows, so that every row can be read alone."""
    rows = list(_rows(table))
    header_rows = max(1, _header_rows(rows))
    grid: Grid = []
    pending: dict[int, tuple[int, str]] = {}
    total = 0
    for index, row in enumerate(rows):
        line = _fill(row, pending, cell_text=cell_text, repeat=index < header_rows)
        total += len(line)
        if total > MAX_CELLS:
            break
        grid.append(line)
    return pipe_table(grid, header_rows=min(header_rows, len(grid)))


def _fill(
    row: LexborNode,
    pending: dict[int, tuple[int, str]],
    *,
    cell_text: Callable[[LexborNode], str],
    repeat: bool,
) -> list[str]:
    """One line of the grid. `pending` holds, by column, cells that reach down from above."""
    line: list[str] = []

    def take_pending() -> None:
        while len(line) in pending:
            left, text = pending.pop(len(line))
            if left > 1:
                still[len(line)] = (left - 1, text)
            line.append(text)

    still: dict[int, tuple[int, str]] = {}
    for cell in _cells(row):
        take_pending()
        text = cell_text(cell)
        down = _span(cell, "rowspan")
        for column in range(_span(cell, "colspan")):
            shown = text if column == 0 or repeat else ""
            if down > 1:
                still[len(line)] = (down - 1, shown)
            line.append(shown)
            if len(line) in pending and column + 1 < _span(cell, "colspan"):
                pending.pop(len(line))
    for column in sorted(pending):
        line.extend([""] * (column - len(line)))
        take_pending()
    pending.clear()
    pending.update(still)
    return line


def _header_rows(rows: list[LexborNode]) -> int:
    """Rows in `<thead>`, and rows of `<th>` alone that are about as wide as the first one."""
    count = 0
    width = 0
    for row in rows:
        cells = list(_cells(row))
        in_head = row.parent is not None and row.parent.tag == "thead"
        spanned = sum(_span(cell, "colspan") for cell in cells)
        wide = count == 0 or 2 * spanned > width
        if not cells or not (in_head or (wide and all(cell.tag == "th" for cell in cells))):
            break
        width = max(width, spanned)
        count += 1
    return count if count < len(rows) else min(count, 1)


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    """Rows of this table, not of tables inside its cells."""
    for part in _elements(table):
        if part.tag == "tr":
            yield part
        elif part.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in _elements(part) if row.tag == "tr")


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    return (cell for cell in _elements(row) if cell.tag in ("td", "th"))


def _elements(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        if child.is_element_node:
            yield child
        child = child.next


def _span(cell: LexborNode, name: str) -> int:
    raw = (cell.attributes.get(name) or "").strip()
    return max(1, min(int(raw), MAX_SPAN)) if raw.isascii() and raw.isdigit() else 1
