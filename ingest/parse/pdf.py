"""PDF: the text layer, page by page. Pictures of text are not read."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.encoding import clean
from ingest.parse.faults import damage_of
from ingest.parse.markdown import find_links, first_title
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pdf_layout import document_style, page_pieces
from ingest.parse.pdf_lines import Line, page_lines
from ingest.parse.pdf_order import reading_order
from ingest.parse.pieces import Piece, assemble

PDF = "application/pdf"
MAX_PAGES = 5_000
_ONE_AT_A_TIME = threading.Lock()
"""The library may be used by one thread of a process at a time."""
_WAIT_S = 10.0
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?([+\-Z])?(\d{2})?'?(\d{2})?")
_FIELDS = {
    "Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords",
    "CreationDate": "published_at", "ModDate": "updated_at",
}  # fmt: skip
_NOT_STATED = re.compile(r"\(?(?:anonymous|unspecified|untitled|unknown)\)?", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:untitled|microsoft word - .*|.*\.(?:docx?|pptx?|indd|tex|pdf|dvi|qxd))$", re.IGNORECASE
)


def parse_pdf(content: bytes, *, limits: ParseLimits) -> Parsed:
    """Raises `UnreadableItem`: `encrypted`, `broken`, `scanned` (no text on any page),
    `unreadable` when another PDF has held the library for too long."""
    with _alone():
        fields, pages, count = _read(content)
    if not any(line.text for lines in pages for line in lines):
        raise UnreadableItem("scanned", "no text layer: pictures of pages; run OCR first")
    style = document_style(pages)
    pieces = [
        Piece(
            kind=p.kind,
            text=clean(p.text),
            level=p.level,
            page=p.page,
            table_header=clean(p.table_header),
        )
        for number, lines in enumerate(pages, 1)
        for p in page_pieces(lines, style, page=number)
    ]
    text, blocks = assemble(pieces)
    return Parsed(
        text=text,
        blocks=blocks,
        title=fields.get("title", "") or first_title(blocks),
        media_type=PDF,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
        notes=_notes(pages, count),
    )


@contextmanager
def _alone() -> Iterator[None]:
    """A PDF that was given up keeps the library until its thread ends: those after it shall not
    spend their own time on waiting."""
    if not _ONE_AT_A_TIME.acquire(timeout=_WAIT_S):
        raise UnreadableItem(
            "unreadable",
            "another PDF, which took too long, still holds the PDF library; run the ingest again "
            "for this one, and take that one out",
        )
    try:
        yield
    finally:
        _ONE_AT_A_TIME.release()


def _read(content: bytes) -> tuple[dict[str, str], list[list[Line]], int]:
    """Fields, lines of each page that was read, number of pages."""
    document = _open(content)
    try:
        with damage_of("PDF", pypdfium2.PdfiumError):
            count = len(document)
            pages = [
                reading_order(_page(document, number)) for number in range(min(count, MAX_PAGES))
            ]
            return _fields(document), pages, count
    finally:
        document.close()


def _open(content: bytes) -> Any:
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise UnreadableItem("encrypted", "the PDF asks for a password") from error
        raise UnreadableItem("broken", f"damaged PDF: {error}") from error


def _page(document: Any, number: int) -> list[Line]:
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return []
    try:
        return page_lines(page)
    finally:
        page.close()


def _fields(document: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in document.get_metadata_dict(skip_empty=True).items():
        field = _FIELDS.get(key)
        shown = " ".join(clean(value).split())
        if field in ("published_at", "updated_at"):
            shown = _iso(shown)
        elif _NOT_STATED.fullmatch(shown) or (field == "title" and _NO_TITLE.match(shown)):
            shown = ""
        if field and shown:
            found[field] = shown
    return found


def _iso(date: str) -> str:
    """`D:20240131120000+08'00'` → `2024-01-31T12:00:00+08:00`; unknown parts are left out."""
    match = _DATE.match(date)
    if not match:
        return ""
    year, month, day, hour, minute, second, sign, zone_hour, zone_minute = match.groups()
    day_part = "-".join(part for part in (year, month, day) if part)
    if not (day and hour and minute):
        return day_part
    zone = "Z" if sign == "Z" else f"{sign}{zone_hour}:{zone_minute or '00'}" if zone_hour else ""
    return f"{day_part}T{hour}:{minute}:{second or '00'}{zone}"


def _notes(pages: list[list[Line]], count: int) -> tuple[str, ...]:
    empty = [str(number) for number, lines in enumerate(pages, 1) if not lines]
    notes = []
    if empty:
        notes.append(f"no text on {len(empty)} of {count} pages: {', '.join(empty[:20])}")
    if count > len(pages):
        notes.append(f"only the first {len(pages)} pages were read")
    return tuple(notes)
