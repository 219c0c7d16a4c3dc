"""Unit of work -> items with their bytes; what cannot be read becomes a problem with a name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import yaml

from cluster.errors import UnreadableItem
from cluster.ids import digest, sha256_hex
from cluster.model import ItemProblem, Turn
from ingest import corpora, places
from ingest.metadata import plain_text
from ingest.records import Entry, decode_record, entries
from ingest.rules import Rules, canonical
from ingest.sources import FileRef, FilesUnit, LinesUnit, RowsUnit, Unit

_MAX_SIDECAR_BYTES = 1024 * 1024
_MAX_ORIGIN_CHARS = 4000
_TOLD = ("source", "product", "product_version", "language")
_DOCUMENT_SUFFIXES = (".md", ".markdown", ".rst", ".adoc", ".html", ".htm", ".txt", ".ipynb", ".py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to ingest.

    `origin` is its URI: what comes from there later takes its place, so no two things may have
    one. `label` names it in messages, and tells two apart that have one origin by mistake;
    `record` and `sidecar` hold fields under our names; `raw_digest` covers all of it.
    """

    origin: str
    label: str
    root: str
    path: str
    name: str
    content: bytes
    raw_digest: bytes
    media_type: str | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    sidecar: Mapping[str, Any] = field(default_factory=dict)
    page: Mapping[str, Any] = field(default_factory=dict)
    turn: Turn | None = None


def load(unit: Unit, *, rules: Rules, max_item_bytes: int) -> Iterator[Item | ItemProblem]:
    """Items in the order of the unit."""
    match unit:
        case FilesUnit(files=files):
            for file in files:
                yield _file(file, rules=rules, max_item_bytes=max_item_bytes)
        case LinesUnit():
            yield from _told(unit, _lines(unit, rules=rules, max_item_bytes=max_item_bytes))
        case RowsUnit():
            yield from _told(unit, _rows(unit, rules=rules))


def problem(origin: str, error: UnreadableItem, *, stage: str) -> ItemProblem:
    """Empty, scanned, encrypted and the like are skipped; what is damaged has failed."""
    skipped = error.kind in ("empty", "encrypted", "scanned", "binary", "unsupported")
    return ItemProblem(
        origin=origin,
        stage=stage,
        outcome="skipped" if skipped else "failed",
        kind=error.kind,
        reason=str(error),
    )


def from_upload(
    content: bytes,
    *,
    name: str,
    media_type: str | None,
    owner: str | None,
    said: Mapping[str, Any],
    rules: Rules,
) -> Iterator[Item | ItemProblem]:
    """Bytes that came over HTTP; a JSONL corpus gives its records. The same name of the same
    owner is the same document, whichever run brings it, unless another source, product, version
    or language is `said` of it."""
    root = f"upload:{owner}" if owner else "upload"
    uri = origin_of(f"upload:{owner or ''}/{name}", said)
    file = FileRef(uri=uri, root=root, path=name)
    if name.lower().endswith((".jsonl", ".ndjson")):
        sessions = corpora.Sessions(rules)
        for number, raw in enumerate(content.splitlines(), start=1):
            if raw.strip():
                ordinal = sessions.ordinal(raw)
                yield from _line(file, raw, number=number, rules=rules, ordinal=ordinal)
        return
    yield Item(
        origin=file.uri,
        label=file.uri,
        root=root,
        path=name,
        name=name.rsplit("/", 1)[-1],
        content=content,
        raw_digest=digest(content, media_type or "", name),
        media_type=media_type,
    )


def origin_of(place: str, said: Mapping[str, Any] | None = None) -> str:
    """`place` as every store takes it, with what is said of the thing that makes it another
    document: one page may be there in two languages under one name. What would be cut or
    cleaned away is told by its digest, so that two places never become one."""
    told = [
        f"{name}={quote(plain_text(value), safe='')}"
        for name in _TOLD
        if (value := (said or {}).get(name)) not in (None, "")
    ]
    whole = f"{place}?{'&'.join(told)}" if told else place
    kept = plain_text(whole, limit=_MAX_ORIGIN_CHARS)
    return kept if kept == whole else f"{kept[: _MAX_ORIGIN_CHARS - 65]}~{sha256_hex(whole)}"


def _file(file: FileRef, *, rules: Rules, max_item_bytes: int) -> Item | ItemProblem:
    try:
        content, media_type, page = _bytes(file, max_item_bytes)
        raw_sidecar, sidecar = _sidecar(file, rules)
    except UnreadableItem as error:
        return problem(file.uri, error, stage="load")
    except OSError as error:
        told = UnreadableItem("unreadable", error.strerror or str(error))
        return problem(file.uri, told, stage="load")
    origin = origin_of(file.uri)
    return Item(
        origin=origin,
        label=origin,
        root=file.root,
        path=file.path,
        name=file.path.rsplit("/", 1)[-1],
        content=content,
        raw_digest=digest(content, raw_sidecar, file.path),
        media_type=media_type,
        sidecar=sidecar,
        page=page,
    )


def _bytes(file: FileRef, limit: int) -> tuple[bytes, str | None, dict[str, Any]]:
    if file.size is not None and file.size > limit:
        raise UnreadableItem("too_large", f"{file.size:,} bytes; at most {limit:,}")
    if file.uri.startswith(("http://", "https://")):
        fetched = places.fetch(file.uri, max_bytes=limit)
        told = {"source_url": fetched.url, "updated_at": fetched.last_modified}
        page = {key: value for key, value in told.items() if value}
        return fetched.content, fetched.media_type, page
    with places.open_bytes(file.uri) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise UnreadableItem("too_large", f"more than {limit:,} bytes")
    return content, None, {}


def _sidecar(file: FileRef, rules: Rules) -> tuple[bytes, dict[str, Any]]:
    if file.sidecar is None:
        return b"", {}
    with places.open_bytes(file.sidecar) as stream:
        raw = stream.read(_MAX_SIDECAR_BYTES)
    try:
        fields = json.loads(raw) if file.sidecar.endswith(".json") else yaml.safe_load(raw)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise UnreadableItem("broken", f"its metadata file cannot be read: {error}") from error
    if not isinstance(fields, dict):
        raise UnreadableItem("broken", "its metadata file is not an object of fields")
    known = canonical(fields, rules.document_aliases)
    known.pop("text", None)
    known.pop("path", None)
    return raw, known


def _told(
    unit: LinesUnit | RowsUnit, found: Iterator[Item | ItemProblem]
) -> Iterator[Item | ItemProblem]:
    """A corpus that is gone or damaged since it was listed is a problem of its own."""
    try:
        yield from found
    except UnreadableItem as error:
        yield problem(unit.file.uri, error, stage="load")
    except OSError as error:
        told = UnreadableItem("unreadable", error.strerror or str(error))
        yield problem(unit.file.uri, told, stage="load")


def _lines(unit: LinesUnit, *, rules: Rules, max_item_bytes: int) -> Iterator[Item | ItemProblem]:
    ordinals = iter(unit.ordinals)
    with places.open_bytes(unit.file.uri) as stream:
        stream.seek(unit.start)
        found = corpora.lines(
            stream, max_bytes=max_item_bytes, number=unit.first_line - 1, offset=unit.start
        )
        for number, offset, _, raw in found:
            if offset >= unit.stop:
                return
            if raw is None or not raw.strip():
                continue
            ordinal = next(ordinals, 0)
            yield from _line(unit.file, raw, number=number, rules=rules, ordinal=ordinal)


def _line(
    file: FileRef, raw: bytes, *, number: int, rules: Rules, ordinal: int
) -> Iterator[Item | ItemProblem]:
    try:
        record = decode_record(raw)
        yield from _items(file, record, rules=rules, position=f"L{number}", ordinal=ordinal)
    except UnreadableItem as error:
        yield problem(f"{file.uri}#L{number}", error, stage="load")


def _rows(unit: RowsUnit, *, rules: Rules) -> Iterator[Item | ItemProblem]:
    records = corpora.rows(unit.file.uri, row_group=unit.row_group, batch=256)
    for number, record in enumerate(records, start=unit.first_row):
        try:
            if isinstance(record, UnreadableItem):
                raise record
            yield from _items(unit.file, record, rules=rules, position=f"R{number}", ordinal=0)
        except UnreadableItem as error:
            yield problem(f"{unit.file.uri}#R{number}", error, stage="load")


def _items(
    file: FileRef, record: Mapping[str, Any], *, rules: Rules, position: str, ordinal: int
) -> Iterator[Item]:
    for entry in entries(record, rules, position=position, ordinal=ordinal):
        origin = origin_of(f"{file.uri}#{entry.path}", entry.fields)
        yield Item(
            origin=origin,
            label=f"{origin} ({entry.position})",
            root=file.root,
            path=entry.path,
            name=_name(entry),
            content=entry.text.encode("utf-8", "replace"),
            raw_digest=_entry_digest(entry),
            media_type=entry.fields.get("media_type"),
            record=entry.fields,
            turn=entry.turn,
        )


def _entry_digest(entry: Entry) -> bytes:
    fields = json.dumps(entry.fields, sort_keys=True, default=str, ensure_ascii=True)
    turn = repr(entry.turn) if entry.turn is not None else ""
    return digest(entry.text, entry.path, fields, turn)


def _name(entry: Entry) -> str:
    """A text in a record is plain unless its path says what it is."""
    name = entry.path.rsplit("/", 1)[-1] or "record"
    return name if name.lower().endswith(_DOCUMENT_SUFFIXES) else f"{name}.txt"
