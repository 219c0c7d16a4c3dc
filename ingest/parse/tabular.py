"""CSV and TSV → one pipe table with its header row."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator

from ingest.parse.parsed import Block, Parsed
from ingest.parse.pieces import Piece, assemble
from ingest.parse.plain import parse_plain
from ingest.parse.tables import pipe_table

MAX_CELLS = 2_000_000
MAX_FIELD = 10_000_000
SNIFFED_LINES = 50
_DELIMITERS = (",", "\t", ";", "|")


def parse_csv(text: str, *, media_type: str = "text/csv") -> Parsed:
    """The delimiter is the one that cuts the lines most evenly; rows may be ragged."""
    notes: list[str] = []
    text, declared = _declared_delimiter(text)
    delimiter = declared or sniff_delimiter(text)
    rows = list(_rows(text, delimiter, notes))
    widths = Counter(len(row) for row in rows)
    if len(widths) > 1:
        notes.append(f"rows have {min(widths)} to {max(widths)} cells")
    if widths and max(widths) == 1:
        return _single_column(text, media_type)
    lead, rows = _leading_title(rows)
    table = pipe_table(rows)
    if table is None:
        return parse_plain(text, media_type=media_type)
    content, blocks = assemble(
        [
            Piece(kind="paragraph", text=lead),
            Piece(kind="table", text=table.text, table_header=table.header),
        ]
    )
    return Parsed(
        text=content,
        blocks=blocks,
        title=lead if len(lead) <= 120 else "",  # noqa: PLR2004 - a title, not a note
        media_type=media_type,
        notes=tuple(notes),
    )


def sniff_delimiter(text: str) -> str:
    """Among `, tab ; |`: the one with the most even count of at least one a line."""
    lines = [line for line in text[:100_000].split("\n") if line.strip()][:SNIFFED_LINES]

    def evenness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) - 1 for row in _rows("\n".join(lines), delimiter, [])]
        filled = [count for count in counts if count]
        if not filled:
            return 0.0, 0
        common, times = Counter(filled).most_common(1)[0]
        return times / len(counts), common

    return max(_DELIMITERS, key=evenness)


def _declared_delimiter(text: str) -> tuple[str, str]:
    """Spreadsheets accept a first line `sep=;`."""
    first, _, rest = text.partition("\n")
    declared = first.strip().removeprefix("sep=")
    if first.startswith("sep=") and len(declared) == 1:
        return rest, declared
    return text, ""


def _rows(text: str, delimiter: str, notes: list[str]) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_FIELD)
    escape = "\\" if '\\"' in text or f"\\{delimiter}" in text else None
    reader = csv.reader(
        io.StringIO(text), delimiter=delimiter, escapechar=escape, skipinitialspace=True
    )
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > MAX_CELLS:
                notes.append(f"only the first {MAX_CELLS} cells were read")
                return
            if any(cell.strip() for cell in row):
                yield row
    except csv.Error as error:
        notes.append(f"quoting is broken from row {reader.line_num} on: {error}")


def _leading_title(rows: list[list[str]]) -> tuple[str, list[list[str]]]:
    """A first row with one filled cell above wider rows is a title."""
    filled = [sum(1 for cell in row if cell.strip()) for row in rows[:2]]
    if len(rows) > 2 and filled[0] == 1 and filled[1] > 1:  # noqa: PLR2004 - title, header, row
        return next(cell.strip() for cell in rows[0] if cell.strip()), rows[1:]
    return "", rows


def _single_column(text: str, media_type: str) -> Parsed:
    body = text.strip("\n")
    start = text.index(body) if body else 0
    block = Block(kind="list", start=start, end=start + len(body))
    return Parsed(text=text, blocks=(block,) if body else (), title="", media_type=media_type)
