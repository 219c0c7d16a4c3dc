"""JSON, JSON Lines, YAML and XML (feeds too) as text that a person can read and search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

import yaml
from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # ships no types
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.faults import damage_of
from ingest.parse.front_matter import flatten
from ingest.parse.html import html_pieces
from ingest.parse.markdown import find_links
from ingest.parse.notebook import fence
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble
from ingest.parse.plain import parse_plain

MAX_DEPTH = 60
MAX_RECORDS = 100_000
_MARKUP = re.compile(r"<(?:p|br|div|ul|ol|li|a|img|h[1-6]|strong|em|pre|code|table|span)\b[^>]*>")
_TITLES = ("title", "name", "subject", "headline")
_BODIES = ("body", "text", "content", "description", "summary", "message")
_REPLIES = ("comments", "replies", "reviews", "answers")
_FIELD_NAMES = {
    "created_at": "published_at", "createdat": "published_at", "created": "published_at",
    "published": "published_at", "published_at": "published_at", "updated_at": "updated_at",
    "updatedat": "updated_at", "updated": "updated_at", "html_url": "url", "url": "url",
    "link": "url", "author": "author", "language": "language", "version": "version",
    "license": "license", "state": "state", "number": "number",
}  # fmt: skip


def parse_json(text: str, *, limits: ParseLimits) -> Parsed:
    """An issue or article (title and body) becomes a page; anything else stays as it is
    written, fenced. Broken JSON is plain text with a note."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _as_plain(text, "application/json", f"not valid JSON ({error}); kept as plain text")
    records = loaded if isinstance(loaded, list) else [loaded]
    if records and all(_is_page(record) for record in records[:MAX_RECORDS]):
        return _pages(records[:MAX_RECORDS], "application/json", limits)
    shown = text if "\n" in text.strip() else json.dumps(loaded, ensure_ascii=False, indent=2)
    fields = _fields(loaded) if isinstance(loaded, Mapping) else {}
    return _fenced(shown, "json", "application/json", fields)


def parse_json_lines(text: str, *, limits: ParseLimits) -> Parsed:
    """Records with a title and body become sections; others one line each, fenced."""
    records: list[Any] = []
    broken = 0
    for line in text.split("\n"):
        if line.strip() and len(records) < MAX_RECORDS:
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError):
                broken += 1
    if not records:
        return _as_plain(text, "application/jsonl", "no line is valid JSON; kept as plain text")
    if all(_is_page(record) for record in records):
        return _pages(records, "application/jsonl", limits)
    parsed = _fenced(text, "json", "application/jsonl", {})
    note = (f"{broken} lines are not valid JSON",) if broken else ()
    return Parsed(
        text=parsed.text, blocks=parsed.blocks, title="", media_type=parsed.media_type, notes=note
    )


def parse_yaml(text: str) -> Parsed:
    """As it is written, comments included."""
    fields: dict[str, str] = {}
    note: tuple[str, ...] = ()
    if len(text) <= 1_000_000:  # noqa: PLR2004 - only the fields at its top are of interest
        try:
            loaded = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - builds only str, list, dict
            fields = _fields(loaded) if isinstance(loaded, Mapping) else {}
        except (yaml.YAMLError, ValueError, RecursionError):
            note = ("not one valid YAML document; kept as it is",)
    return _fenced(text, "yaml", "application/yaml", fields, note)


def parse_xml(text: str, *, limits: ParseLimits) -> Parsed:
    """Feeds: one section for each entry. Else: one paragraph for each element with text."""
    try:
        with damage_of("XML", DefusedXmlException):
            root: Element = fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except UnreadableItem as error:
        return _as_plain(re.sub(r"<[^<>]*>", " ", text), "application/xml", f"{error}; words only")
    entries = [node for node in root.iter() if _local(node) in ("item", "entry")]
    if _local(root).lower() in ("rss", "feed", "rdf") and entries:
        return _feed(root, entries, limits)
    content, blocks = assemble(_elements(root, 1))
    if not content.strip():
        raise UnreadableItem("empty", "the XML file holds no text")
    return Parsed(text=content, blocks=blocks, title="", media_type="application/xml")


def _as_plain(text: str, media_type: str, note: str) -> Parsed:
    parsed = parse_plain(text, media_type=media_type)
    return Parsed(
        text=parsed.text, blocks=parsed.blocks, title="", media_type=media_type, notes=(note,)
    )


def _fenced(
    text: str,
    language: str,
    media_type: str,
    fields: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> Parsed:
    content, blocks = assemble([Piece(kind="code", text=fence(text.strip("\n"), language))])
    return Parsed(
        text=content,
        blocks=blocks,
        title=fields.get("title", ""),
        media_type=media_type,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(content, ()),
        notes=notes,
    )


def _is_page(record: Any) -> bool:
    return (
        isinstance(record, Mapping)
        and any(isinstance(record.get(name), str) for name in _BODIES)
        and any(isinstance(record.get(name), str) for name in _TITLES)
    )


def _pages(records: list[Any], media_type: str, limits: ParseLimits) -> Parsed:
    fields = _fields(records[0]) if len(records) == 1 else {}
    text, blocks = assemble(
        piece
        for record in records
        for piece in _page(record, 1 if len(records) == 1 else 2, limits)
    )
    return Parsed(
        text=text,
        blocks=blocks,
        title=fields.get("title", ""),
        media_type=media_type,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
    )


def _fields(record: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    title = next((record[n] for n in _TITLES if isinstance(record.get(n), str)), "")
    if title:
        fields["title"] = " ".join(title.split())[:500]
    for name, value in record.items():
        field = _FIELD_NAMES.get(str(name).lower())
        if field and isinstance(value, str | int) and not isinstance(value, bool):
            fields.setdefault(field, str(value)[:500])
    for name in ("user", "author"):
        if isinstance(record.get(name), Mapping):
            who = _name(record[name])
            if who:
                fields.setdefault("author", who)
    labels = record.get("labels", record.get("tags", record.get("keywords")))
    if isinstance(labels, list):
        names = [_name(item) for item in labels[:100]]
        fields.setdefault("keywords", ", ".join(filter(None, names)))
    return {name: value for name, value in fields.items() if value.strip()}


def _name(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[k] for k in ("login", "name", "username", "email") if k in value), "")
    return str(value) if isinstance(value, str | int) else ""


def _page(record: Mapping[str, Any], level: int, limits: ParseLimits) -> Iterator[Piece]:
    title = next(record[n] for n in _TITLES if isinstance(record.get(n), str))
    yield Piece(kind="heading", text=title, level=level)
    shown = {k: v for k, v in _fields(record).items() if k != "title"}
    yield Piece(kind="paragraph", text="\n".join(f"{k}: {v}" for k, v in shown.items()))
    for name in _BODIES:
        if isinstance(record.get(name), str):
            yield from _prose(record[name], limits)
    for name in _REPLIES:
        replies = record.get(name)
        for reply in replies if isinstance(replies, list) else ():
            yield from _reply(reply, level + 1, limits)


def _reply(reply: Any, level: int, limits: ParseLimits) -> Iterator[Piece]:
    if isinstance(reply, str):
        yield from _prose(reply, limits)
    elif isinstance(reply, Mapping):
        fields = _fields(reply)
        head = ", ".join(fields[k] for k in ("author", "published_at") if k in fields)
        yield Piece(kind="heading", text=head or "Comment", level=level)
        for name in _BODIES:
            if isinstance(reply.get(name), str):
                yield from _prose(reply[name], limits)


def _prose(text: str, limits: ParseLimits) -> Iterator[Piece]:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if len(_MARKUP.findall(text)) > 1 and "```" not in text:
        yield from html_pieces(text, limits=limits)
    else:
        yield Piece(kind="markdown", text=text.strip("\n"))


def _feed(root: Element, entries: list[Element], limits: ParseLimits) -> Parsed:
    channel = next((node for node in root.iter() if _local(node) == "channel"), root)
    fields = {
        field: value
        for name, field in (("title", "title"), ("language", "language"), ("link", "url"),
                            ("lastBuildDate", "updated_at"), ("updated", "updated_at"))
        if (value := _child(channel, name))
    }  # fmt: skip
    pieces = [Piece(kind="heading", text=fields.get("title", ""), level=1)]
    pieces.append(Piece(kind="paragraph", text=_child(channel, "description", "subtitle")))
    for entry in entries[:MAX_RECORDS]:
        pieces.extend(_entry(entry, limits))
    text, blocks = assemble(pieces)
    return Parsed(
        text=text,
        blocks=blocks,
        title=fields.get("title", ""),
        media_type="application/rss+xml",
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(text, blocks),
    )


def _entry(entry: Element, limits: ParseLimits) -> Iterator[Piece]:
    yield Piece(kind="heading", text=_child(entry, "title"), level=2)
    facts = [
        _child(entry, "pubDate", "published", "updated", "date"),
        _child(entry, "creator", "author"),
    ]
    link = _child(entry, "link", "id")
    yield Piece(kind="paragraph", text="\n".join(filter(None, [*facts, link])))
    short = _child(entry, "description", "summary")
    full = _child(entry, "encoded", "content")
    for body in dict.fromkeys(filter(None, (short, full))):
        yield from html_pieces(body, limits=limits)


def _child(node: Element, *names: str) -> str:
    for name in names:
        for child in node:
            if _local(child) == name:
                value = "".join(child.itertext()).strip() or child.attrib.get("href", "")
                if value:
                    return value
    return ""


def _elements(node: Element, depth: int) -> Iterator[Piece]:
    if depth > MAX_DEPTH or not any(len(child) for child in node):
        own = " ".join((node.text or "").split())
        lines = [own] if own else []
        for child in node:
            text = " ".join("".join(child.itertext()).split())
            facts = flatten(dict(child.attrib))
            label = ", ".join(
                [_local(child), *(f"{k.rpartition('}')[2]}={v}" for k, v in facts.items())]
            )
            lines.append(f"{label}: {text}" if text or facts else "")
        name = _local(node)
        shown = "\n".join(filter(None, lines))
        yield Piece(kind="paragraph", text=shown if len(node) else f"{name}: {own}" if own else "")
        return
    named = ", ".join(f"{k.rpartition('}')[2]}={v}" for k, v in node.attrib.items())
    yield Piece(kind="paragraph", text=f"{_local(node)}: {named}" if named else "")
    yield Piece(kind="paragraph", text=" ".join((node.text or "").split()))
    for child in node:
        yield from _elements(child, depth + 1)
        yield Piece(kind="paragraph", text=" ".join((child.tail or "").split()))


def _local(node: Element) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
