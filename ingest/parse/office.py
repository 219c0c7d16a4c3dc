"""DOCX, PPTX and their core properties."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import mammoth  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.containers import open_zip, read_xml
from ingest.parse.docx_source import readable_docx
from ingest.parse.faults import damage_of
from ingest.parse.html import html_pieces
from ingest.parse.markdown import find_links, first_title
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

# Comments are part of what a reader finds; titles are headings.
_STYLES = """
comment-reference => sup
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Code'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Quote'] => blockquote:fresh
p[style-name='Intense Quote'] => blockquote:fresh
r[style-name='Source Text'] => code
"""
_CORE = {
    "title": "title", "creator": "author", "language": "language", "keywords": "keywords",
    "description": "description", "subject": "subject", "created": "published_at",
    "modified": "updated_at", "version": "version",
}  # fmt: skip
_SLIDE = re.compile(r"<!-- Slide number: (\d+) -->")
_SLIDE_MEMBER = re.compile(r"ppt/slides/slide(\d+)\.xml")
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")


def parse_docx(content: bytes, *, limits: ParseLimits) -> Parsed:
    """Body with headings, lists, tables, equations (as TeX), text boxes and comments; page
    headers and footers once each, before and behind it."""
    with open_zip(content, what="DOCX", limits=limits) as archive:
        fields = core_fields(archive)
        above = list(_running_text(archive, "header"))
        below = list(_running_text(archive, "footer"))
        source = readable_docx(archive)
    with damage_of("DOCX"):
        pictures = mammoth.images.img_element(_no_image)
        page = mammoth.convert_to_html(
            io.BytesIO(source), style_map=_STYLES, convert_image=pictures
        ).value
    pieces = [*above, *html_pieces(page, limits=limits), *below]
    return _document(pieces, media_type=DOCX, fields=fields)


def parse_pptx(content: bytes, *, limits: ParseLimits) -> Parsed:
    """Slides in order, each with its number as page; tables, charts and notes included."""
    notes: tuple[str, ...] = ()
    with open_zip(content, what="PPTX", limits=limits) as archive:
        fields = core_fields(archive)
        try:
            with damage_of("PPTX"):
                pieces = _slides(content)
        except UnreadableItem as error:
            pieces = list(_slide_words(archive))
            if not pieces:
                raise
            notes = (f"{error}; only the words of the slides were read",)
    return _document(pieces, media_type=PPTX, fields=fields, notes=notes)


def core_fields(archive: zipfile.ZipFile, name: str = "docProps/core.xml") -> dict[str, str]:
    """Title, author, dates and so on of an office file."""
    try:
        root = read_xml(archive, name)
    except UnreadableItem:
        return {}
    fields: dict[str, str] = {}
    for node in root if root is not None else ():
        field = _CORE.get(node.tag.rpartition("}")[2])
        value = " ".join((node.text or "").split())
        if field and value:
            fields.setdefault(field, value)
    return fields


def _document(
    pieces: list[Piece],
    *,
    media_type: str,
    fields: dict[str, str],
    notes: tuple[str, ...] = (),
) -> Parsed:
    text, blocks = assemble(pieces)
    if not text.strip():
        raise UnreadableItem("empty", "the file holds no text")
    title = fields.get("title", "") or first_title(blocks)
    return Parsed(
        text=text,
        blocks=blocks,
        title=title,
        media_type=media_type,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
        notes=notes,
    )


def _running_text(archive: zipfile.ZipFile, part: str) -> Iterator[Piece]:
    seen: set[str] = set()
    for name in sorted(archive.namelist()):
        if not re.fullmatch(rf"word/{part}\d*\.xml", name):
            continue
        root = read_xml(archive, name)
        lines = [_paragraph_text(node) for node in _named(root, "p")] if root is not None else []
        text = "\n".join(line for line in lines if line)
        if text and text not in seen:
            seen.add(text)
            yield Piece(kind="paragraph", text=text)


def _named(root: Element, name: str) -> Iterator[Element]:
    return (node for node in root.iter() if node.tag.rpartition("}")[2] == name)


def _paragraph_text(paragraph: Element) -> str:
    parts = []
    for node in paragraph.iter():
        local = node.tag.rpartition("}")[2]
        if local == "t":
            parts.append(node.text or "")
        elif local in ("tab", "br"):
            parts.append(" ")
    return " ".join("".join(parts).split())


def _no_image(image: object) -> dict[str, str]:
    return {"src": ""}


def _slides(content: bytes) -> list[Piece]:
    # Here, because it loads models and table libraries that no other format needs.
    from markitdown import StreamInfo
    from markitdown.converters import PptxConverter

    info = StreamInfo(extension=".pptx", mimetype=PPTX)
    text = PptxConverter().convert(io.BytesIO(content), info).text_content  # type: ignore[no-untyped-call]
    parts = _SLIDE.split(text)
    return [
        Piece(
            kind="markdown",
            text=_PICTURE.sub(_alternative, parts[i + 1]).strip(),
            page=int(parts[i]),
        )
        for i in range(1, len(parts), 2)
    ]


def _alternative(picture: re.Match[str]) -> str:
    return picture[1].strip()


def _slide_words(archive: zipfile.ZipFile) -> Iterator[Piece]:
    members = {int(m[1]): m[0] for m in map(_SLIDE_MEMBER.fullmatch, archive.namelist()) if m}
    for number in sorted(members):
        try:
            root = read_xml(archive, members[number])
        except UnreadableItem:
            continue
        lines = [_paragraph_text(node) for node in _named(root, "p")] if root is not None else []
        text = "\n".join(line for line in lines if line)
        if text:
            yield Piece(kind="paragraph", text=text, page=number)
