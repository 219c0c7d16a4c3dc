"""XLSX and XLS: each sheet a section, each run of filled rows a table."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

import openpyxl  # type: ignore[import-untyped]  # ships no types
import xlrd  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.containers import open_zip, read_xml
from ingest.parse.faults import damage_of
from ingest.parse.office import core_fields
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble
from ingest.parse.tables import pipe_table

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLS = "application/vnd.ms-excel"
MAX_CELLS = 1_000_000
MAX_COLUMNS = 1_000
Rows = Iterable[Sequence[str]]
_COMMENT_PART = re.compile(r"xl/(?:threadedComments/|comments)[^/]*\.xml$")


def parse_xlsx(content: bytes, *, limits: ParseLimits) -> Parsed:
    """Values as they were last computed. Empty rows and columns go; comments stand below."""
    with open_zip(content, what="XLSX", limits=limits) as archive:
        fields = core_fields(archive)
        comments = list(_comments(archive))
    with damage_of("XLSX"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that hold no text
        # Read-only keeps no cell: formatting alone can stretch a sheet to its millionth row.
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        pieces = [
            piece
            for number, sheet in enumerate(book.worksheets, 1)
            for piece in _sheet(sheet.title, _xlsx_rows(sheet), number)
        ]
        book.close()
    if comments:
        pieces.append(Piece(kind="list", text="\n".join(comments)))
    return _workbook(pieces, media_type=XLSX, fields=fields)


def parse_xls(content: bytes) -> Parsed:
    with damage_of("XLS", xlrd.XLRDError, xlrd.compdoc.CompDocError):
        book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO(), on_demand=True)
        pieces = [
            piece
            for number, sheet in enumerate(book.sheets(), 1)
            for piece in _sheet(sheet.name, _xls_rows(sheet, book.datemode), number)
        ]
    author = getattr(book, "user_name", "") or ""
    return _workbook(pieces, media_type=XLS, fields={"author": author} if author else {})


def _workbook(pieces: list[Piece], *, media_type: str, fields: dict[str, str]) -> Parsed:
    text, blocks = assemble(pieces)
    if not any(piece.kind != "heading" for piece in pieces):
        raise UnreadableItem("empty", "the workbook holds no values")
    return Parsed(
        text=text,
        blocks=blocks,
        title=fields.get("title", ""),
        media_type=media_type,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
    )


def _sheet(name: str, rows: Rows, number: int) -> Iterator[Piece]:
    yield Piece(kind="heading", text=name, level=2, page=number)
    for run in _filled_runs(rows):
        table = pipe_table(run)
        if table is None:
            continue
        if all(sum(1 for cell in row if cell.strip()) <= 1 for row in run):
            lines = (" ".join(" ".join(row).split()) for row in run)
            yield Piece(kind="paragraph", text="\n".join(lines), page=number)
        else:
            yield Piece(kind="table", text=table.text, table_header=table.header, page=number)


def _filled_runs(rows: Rows) -> Iterator[list[Sequence[str]]]:
    """Rows between empty rows; a title row that stands alone above a table is its own run."""
    run: list[Sequence[str]] = []
    cells = 0
    for row in rows:
        cells += len(row)
        if cells > MAX_CELLS:
            break
        if any(cell.strip() for cell in row):
            run.append(row)
        elif run:
            yield from _split_title(run)
            run = []
    if run:
        yield from _split_title(run)


def _split_title(run: list[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    filled = [sum(1 for cell in row if cell.strip()) for row in run[:2]]
    if len(run) > 2 and filled[0] == 1 and filled[1] > 1:  # noqa: PLR2004 - title, header, row
        yield run[:1]
        run = run[1:]
    yield run


def _xlsx_rows(sheet: Any) -> Iterator[list[str]]:
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS):
        yield [_shown(value) for value in row]


def _comments(archive: zipfile.ZipFile) -> Iterator[str]:
    """`- C5: what was noted`, in the order of the parts; threads before the plain notes that
    older programs show instead of them."""
    seen: set[str] = set()
    for name in sorted(archive.namelist(), key=lambda name: "threaded" not in name):
        if not _COMMENT_PART.search(name):
            continue
        root = read_xml(archive, name)
        for node in root.iter() if root is not None else ():
            place = node.attrib.get("ref")
            text = " ".join("".join(node.itertext()).split())
            if place and text and not text.startswith("[Threaded comment]") and text not in seen:
                seen.add(text)
                yield f"- {place}: {text}"


def _xls_rows(sheet: xlrd.sheet.Sheet, datemode: int) -> Iterator[list[str]]:
    for index in range(sheet.nrows):
        yield [_xls_shown(cell, datemode) for cell in sheet.row(index)[:MAX_COLUMNS]]


def _xls_shown(cell: xlrd.sheet.Cell, datemode: int) -> str:
    if cell.ctype == xlrd.XL_CELL_DATE:
        try:
            return _shown(xlrd.xldate_as_datetime(cell.value, datemode))
        except (ValueError, OverflowError, xlrd.xldate.XLDateError):
            return str(cell.value)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return _shown(bool(cell.value))
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    return _shown(cell.value)


def _shown(value: object) -> str:
    """A value as a reader would write it: no `.0`, dates in ISO form."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return f"{value:.15g}"
        case datetime():
            plain = (value.hour, value.minute, value.second) == (0, 0, 0)
            return value.date().isoformat() if plain else value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
    return str(value)
