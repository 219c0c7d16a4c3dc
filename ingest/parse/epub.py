"""EPUB: the chapters in the order of the book."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from cluster.errors import UnreadableItem
from ingest.parse.containers import open_zip, read_xml
from ingest.parse.encoding import decode
from ingest.parse.faults import damage_of
from ingest.parse.html import html_pieces
from ingest.parse.markdown import find_links, first_title
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble

EPUB = "application/epub+zip"
_FIELDS = {
    "title": "title", "creator": "author", "language": "language", "date": "published_at",
    "rights": "license", "subject": "keywords", "description": "description",
    "publisher": "publisher", "identifier": "identifier",
}  # fmt: skip


def parse_epub(content: bytes, *, limits: ParseLimits) -> Parsed:
    with open_zip(content, what="EPUB", limits=limits) as archive:
        package_name, package = _package(archive)
        fields = _fields(package)
        pieces = [
            piece
            for name in _spine(package, posixpath.dirname(package_name))
            for piece in _chapter(archive, name, limits)
        ]
    text, blocks = assemble(pieces)
    if not text.strip():
        raise UnreadableItem("empty", "the book holds no text")
    return Parsed(
        text=text,
        blocks=blocks,
        title=fields.get("title", "") or first_title(blocks),
        media_type=EPUB,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
    )


def _package(archive: zipfile.ZipFile) -> tuple[str, Element]:
    container = read_xml(archive, "META-INF/container.xml")
    nodes = container.iter() if container is not None else iter(())
    name = next((n.attrib.get("full-path", "") for n in nodes if n.tag.endswith("}rootfile")), "")
    package = read_xml(archive, name) if name else None
    if package is None:
        raise UnreadableItem("broken", "an EPUB that does not say where its book lies")
    return name, package


def _fields(package: Element) -> dict[str, str]:
    fields: dict[str, str] = {}
    for node in package.iter():
        field = _FIELDS.get(node.tag.rpartition("}")[2]) if "purl.org/dc" in node.tag else None
        value = " ".join((node.text or "").split())
        if field and value:
            fields.setdefault(field, value)
    return fields


def _spine(package: Element, folder: str) -> Iterator[str]:
    targets: dict[str, str] = {}
    order: list[str] = []
    for node in package.iter():
        local = node.tag.rpartition("}")[2]
        if local == "item" and "nav" not in node.attrib.get("properties", "").split():
            targets[node.attrib.get("id", "")] = unquote(node.attrib.get("href", ""))
        elif local == "itemref" and node.attrib.get("linear") != "no":
            order.append(node.attrib.get("idref", ""))
    for reference in dict.fromkeys(order):
        if targets.get(reference):
            yield posixpath.normpath(posixpath.join(folder, targets[reference]))


def _chapter(archive: zipfile.ZipFile, name: str, limits: ParseLimits) -> list[Piece]:
    try:
        with damage_of("EPUB"):
            content = archive.read(name) if name in archive.namelist() else b""
        return html_pieces(decode(content).text, limits=limits)
    except UnreadableItem as error:
        if error.kind in ("empty", "binary"):
            return []
        raise
