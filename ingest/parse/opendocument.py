"""ODT, ODS and ODP: headings, paragraphs, lists and tables of `content.xml`."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from cluster.errors import UnreadableItem
from ingest.parse.containers import open_zip, read_xml
from ingest.parse.markdown import find_links, first_title
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble
from ingest.parse.tables import pipe_table

MAX_REPEATED = 1_000
_FIELDS = {
    "title": "title", "creator": "author", "initial-creator": "author", "language": "language",
    "creation-date": "published_at", "date": "updated_at", "keyword": "keywords",
    "description": "description", "subject": "subject",
}  # fmt: skip
_SKIPPED = frozenset({"tracked-changes", "annotation-end", "sequence-decls", "forms", "bookmark"})


def parse_opendocument(content: bytes, *, media_type: str, limits: ParseLimits) -> Parsed:
    with open_zip(content, what="OpenDocument file", limits=limits) as archive:
        body = read_xml(archive, "content.xml")
        fields = _fields(read_xml(archive, "meta.xml"))
        manifest = read_xml(archive, "META-INF/manifest.xml")
    if manifest is not None and any(_local(node) == "encryption-data" for node in manifest.iter()):
        raise UnreadableItem("encrypted", "the document is encrypted; save it without a password")
    if body is None:
        raise UnreadableItem("broken", "an OpenDocument file without content.xml")
    text, blocks = assemble(_pieces(body, limits.max_depth))
    if not text.strip():
        raise UnreadableItem("empty", "the document holds no text")
    return Parsed(
        text=text,
        blocks=blocks,
        title=fields.get("title", "") or first_title(blocks),
        media_type=media_type,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
    )


def _fields(meta: Element | None) -> dict[str, str]:
    fields: dict[str, str] = {}
    for node in meta.iter() if meta is not None else ():
        field = _FIELDS.get(_local(node))
        value = " ".join((node.text or "").split())
        if field and value:
            fields.setdefault(field, value)
    return fields


def _pieces(node: Element, depth: int) -> Iterator[Piece]:
    if depth <= 0:
        yield Piece(kind="paragraph", text=" ".join("".join(node.itertext()).split()))
        return
    for child in node:
        match _local(child):
            case "h":
                level = _number(child, "outline-level", 1)
                yield Piece(kind="heading", text=_inline(child), level=min(level, 6))
            case "p":
                yield Piece(kind="paragraph", text=_inline(child))
                yield from _framed(child, depth - 1)
            case "list":
                yield Piece(kind="list", text="\n".join(_items(child, "", depth - 1)))
            case "table":
                yield from _table(child)
            case name if name not in _SKIPPED:
                yield from _pieces(child, depth - 1)


def _framed(paragraph: Element, depth: int) -> Iterator[Piece]:
    """Text boxes are anchored inside a paragraph."""
    for box in paragraph.iter():
        if _local(box) == "text-box":
            yield from _pieces(box, depth)


def _items(node: Element, indent: str, depth: int) -> Iterator[str]:
    for item in node:
        mark = "- "
        for child in item if depth > 0 else ():
            if _local(child) == "list":
                yield from _items(child, f"{indent}  ", depth - 1)
            else:
                text = _inline(child)
                if text:
                    yield f"{indent}{mark}{text}"
                    mark = "  "


def _table(node: Element) -> Iterator[Piece]:
    name = next((v for k, v in node.attrib.items() if k.endswith("}name")), "")
    rows = [
        _cells(row)
        for row in node.iter()
        if _local(row) == "table-row"
        for _ in range(min(_number(row, "number-rows-repeated", 1), 1 if _is_empty(row) else 50))
    ]
    table = pipe_table(rows)
    if table is not None:
        if name and not name.lower().startswith(("table", "tabelle", "表")):
            yield Piece(kind="paragraph", text=name)
        yield Piece(kind="table", text=table.text, table_header=table.header)


def _cells(row: Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if _local(cell) not in ("table-cell", "covered-table-cell"):
            continue
        text = " ".join(filter(None, (_inline(part) for part in cell)))
        repeated = _number(cell, "number-columns-repeated", 1)
        cells.extend([text] * min(repeated, MAX_REPEATED if text else 50))
    return cells


def _is_empty(row: Element) -> bool:
    return not "".join(row.itertext()).strip()


def _inline(node: Element) -> str:
    return " ".join("".join(_words(node)).split())


def _words(node: Element) -> Iterator[str]:
    yield node.text or ""
    for child in node:
        name = _local(child)
        if name in ("s", "tab", "line-break"):
            yield " "
        elif name not in ("frame", "annotation", "note-citation"):
            yield from _words(child)
        yield child.tail or ""


def _number(node: Element, name: str, default: int) -> int:
    raw = next((v for k, v in node.attrib.items() if k.endswith("}" + name)), "")
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 8 else default  # noqa: PLR2004


def _local(node: Element) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
