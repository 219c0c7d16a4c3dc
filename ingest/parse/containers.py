"""Zip-like files, opened only when what they unpack to is bounded."""

from __future__ import annotations

import io
import zipfile
from xml.etree.ElementTree import Element

from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # ships no types
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.faults import damage_of
from ingest.parse.parsed import ParseLimits

MAX_XML_BYTES = 128 * 1024 * 1024
"""Of one XML member: its tree takes about ten times as much memory."""
_PROLOG_BYTES = 65_536
_ENCRYPTED = 0x1


def open_zip(content: bytes, *, what: str, limits: ParseLimits) -> zipfile.ZipFile:
    """The archive, after its declared sizes were checked; reading a member stops at its declared
    size, so that a lie about it ends in `broken`.

    Raises `UnreadableItem`: `broken`, `encrypted`, `too_large`.
    """
    with damage_of(what):
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = archive.infolist()
    if len(members) > limits.max_entries:
        raise UnreadableItem("too_large", f"{what} with {len(members)} members")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.max_unpacked_bytes:
        raise UnreadableItem(
            "too_large",
            f"{what} unpacks to {unpacked} bytes; at most {limits.max_unpacked_bytes}",
        )
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise UnreadableItem("encrypted", f"{what} is encrypted; save it without a password")
    for member in members:
        if member.filename.endswith((".xml", ".rels", ".xhtml", ".opf")):
            _check_xml(archive, member, what)
    return archive


def read_xml(archive: zipfile.ZipFile, name: str) -> Element | None:
    """The root element of a member; `None` when it is not there. No entities, no DTD fetch."""
    try:
        content = archive.read(name)
    except KeyError:
        return None
    with damage_of(name, DefusedXmlException):
        root: Element = fromstring(content)
    return root


def _check_xml(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str) -> None:
    if member.file_size > MAX_XML_BYTES:
        raise UnreadableItem(
            "too_large", f"{member.filename} of the {what}: {member.file_size} bytes of XML"
        )
    with damage_of(what), archive.open(member) as stream:
        prolog = stream.read(_PROLOG_BYTES)
    if b"<!ENTITY" in prolog.replace(b"\0", b""):
        raise UnreadableItem("broken", f"{member.filename} of the {what} declares XML entities")
