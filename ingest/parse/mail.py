"""E-mail (`.eml`, Outlook `.msg`): who wrote when about what, then what was written."""

from __future__ import annotations

import email
import email.policy
import io
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

import olefile  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.encoding import clean, decode
from ingest.parse.faults import damage_of
from ingest.parse.html import html_pieces
from ingest.parse.markdown import find_links
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble

EML = "message/rfc822"
MSG = "application/vnd.ms-outlook"
MAX_PARTS = 500

_SHOWN = ("From", "To", "Cc", "Date")
_MSG_STREAMS = {
    "subject": "0037", "body": "1000", "html": "1013", "From": "0C1A", "address": "0C1F",
    "To": "0E04", "Cc": "0E03",
}  # fmt: skip
_TRANSPORT_HEADERS = "007D"
_DELIVERY_TIME, _SUBMIT_TIME = 0x0E06, 0x0039


def parse_eml(content: bytes, *, limits: ParseLimits) -> Parsed:
    """The plain text body where there is one, else the HTML body; attachments are named in
    the notes."""
    content = _eight_bit(content)
    with damage_of("e-mail"):
        message = email.message_from_bytes(content, policy=email.policy.compat32)
        headers = {name: _header(message, name) for name in (*_SHOWN, "Subject")}
        texts, pages, attached = _bodies(message)
    if texts:
        body = [Piece(kind="paragraph", text=part) for text in texts for part in _paragraphs(text)]
    else:
        body = [piece for page in pages for piece in html_pieces(page, limits=limits)]
    return _mail(headers, body, media_type=EML, date=_iso(headers["Date"]), attached=attached)


def parse_msg(content: bytes, *, limits: ParseLimits) -> Parsed:
    with damage_of("Outlook message"), olefile.OleFileIO(io.BytesIO(content)) as store:
        values = {name: _msg_text(store, code) for name, code in _MSG_STREAMS.items()}
        transport = email.message_from_string(_msg_text(store, _TRANSPORT_HEADERS))
        moment = _msg_time(store)
        attached = [name for name in _msg_attachments(store) if name]
    sender = " ".join(
        filter(None, (values["From"], f"<{values['address']}>" if values["address"] else ""))
    )
    date = transport.get("Date", "") or (moment.isoformat() if moment else "")
    headers = {
        "From": _header(transport, "From") or sender, "To": values["To"], "Cc": values["Cc"],
        "Date": date, "Subject": values["subject"],
    }  # fmt: skip
    if values["body"].strip():
        body = [Piece(kind="paragraph", text=part) for part in _paragraphs(values["body"])]
    else:
        body = html_pieces(values["html"], limits=limits)
    written = _iso(date) or (moment.isoformat() if moment else "")
    return _mail(headers, body, media_type=MSG, date=written, attached=attached)


def _mail(
    headers: Mapping[str, str],
    body: list[Piece],
    *,
    media_type: str,
    date: str,
    attached: Iterable[str],
) -> Parsed:
    subject = headers["Subject"]
    lines = [f"{name}: {headers[name]}" for name in _SHOWN if headers.get(name)]
    text, blocks = assemble(
        [
            Piece(kind="heading", text=subject, level=1),
            Piece(kind="paragraph", text="\n".join(lines)),
            *body,
        ]
    )
    if not text.strip():
        raise UnreadableItem("empty", "the message has neither headers nor a body")
    found = {"title": subject, "author": headers.get("From", ""), "published_at": date}
    fields = {name: value for name, value in found.items() if value}
    return Parsed(
        text=text,
        blocks=blocks,
        title=subject,
        media_type=media_type,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
        notes=tuple(f"attachment not read: {name}" for name in attached),
    )


def _eight_bit(content: bytes) -> bytes:
    """A mail saved as UTF-16 becomes UTF-8, so that its headers can be read."""
    if b"\0" not in content[:200]:
        return content
    return decode(content).text.encode("utf-8", "replace")


def _bodies(message: Message) -> tuple[list[str], list[str], list[str]]:
    texts: list[str] = []
    pages: list[str] = []
    attached: list[str] = []
    for _, part in zip(range(MAX_PARTS), message.walk(), strict=False):
        if part.is_multipart():
            continue
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            attached.append(_decoded_words(name or part.get_content_type()))
        elif part.get_content_type() == "text/plain":
            texts.append(_part_text(part))
        elif part.get_content_type() == "text/html":
            pages.append(_part_text(part))
    return [text for text in texts if text.strip()], pages, attached


def _part_text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return clean(str(part.get_payload()))
    try:
        return decode(payload, declared=part.get_content_charset()).text
    except UnreadableItem:
        return ""


def _header(message: Message, name: str) -> str:
    value = message.get(name)
    return _decoded_words(str(value)) if value is not None else ""


def _decoded_words(value: str) -> str:
    """`=?charset?q?…?=` and raw bytes above ASCII as text."""
    parts = []
    for raw, charset in decode_header(value):
        if isinstance(raw, str):
            raw_bytes = raw.encode("ascii", "surrogateescape") if not raw.isascii() else None
            parts.append(_words(raw_bytes, None) if raw_bytes is not None else raw)
        else:
            parts.append(_words(raw, charset))
    return " ".join(clean("".join(parts)).split())


def _words(raw: bytes, charset: str | None) -> str:
    try:
        return decode(raw, declared=charset).text if raw.strip() else " "
    except UnreadableItem:
        return raw.decode("ascii", "replace")


def _paragraphs(text: str) -> Iterator[str]:
    return (part.strip("\n") for part in re.split(r"\n[ \t]*\n", text) if part.strip())


def _iso(date: str) -> str:
    try:
        return parsedate_to_datetime(date).isoformat() if date else ""
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _msg_text(store: olefile.OleFileIO, code: str) -> str:
    for suffix, declared in (("001F", "utf-16-le"), ("001E", None), ("0102", None)):
        name = f"__substg1.0_{code}{suffix}"
        if not store.exists(name):
            continue
        raw = store.openstream(name).read()
        if declared:
            return clean(raw.decode(declared, "replace"))
        try:
            return decode(raw).text
        except UnreadableItem:
            return ""
    return ""


def _msg_time(store: olefile.OleFileIO) -> datetime | None:
    """Delivery or submit time among the fixed properties: 100 ns steps since 1601."""
    name = "__properties_version1.0"
    raw = store.openstream(name).read() if store.exists(name) else b""
    found: dict[int, datetime] = {}
    for offset in range(32, len(raw) - 15, 16):
        kind, tag, _, value = struct.unpack_from("<HHIQ", raw, offset)
        if tag in (_DELIVERY_TIME, _SUBMIT_TIME) and kind == 0x0040:  # noqa: PLR2004 - PtypTime
            found[tag] = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=value // 10)
    return found.get(_SUBMIT_TIME) or found.get(_DELIVERY_TIME)


def _msg_attachments(store: olefile.OleFileIO) -> Iterator[str]:
    for folder, *rest in store.listdir():
        if folder.startswith("__attach") and rest and rest[-1].startswith("__substg1.0_3707"):
            raw = store.openstream([folder, *rest]).read()
            yield clean(raw.decode("utf-16-le", "replace"))
