"""Between table rows and the system's nouns, both ways."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from cluster.filters import epoch_ms
from cluster.ids import sha256_hex, vector_key
from cluster.model import (
    Chunk,
    FieldValue,
    IndexRow,
    Metadata,
    Revision,
    StoredPassage,
    Turn,
    Vector,
)
from cluster.stores.protocols import DocumentSummary, IndexWork, Prepared

Row = tuple[Any, ...]

WIRE = np.dtype("<f4")
"""How a vector lies in the database."""


def to_json(rows: Iterable[dict[str, object]]) -> str:
    return json.dumps(list(rows), ensure_ascii=False)


def moment_text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()


def revision_record(
    prepared: Prepared, *, newest_edition: bool, put_order: int, now: datetime
) -> dict[str, object]:
    """A row of `revisions`, as `put_revisions` reads it."""
    revision = prepared.revision
    meta = revision.metadata
    turn = revision.turn
    first = min(prepared.chunks, key=lambda chunk: chunk.ordinal)
    return {
        "revision_id": revision.revision_id,
        "document_id": revision.document_id,
        "tenant": revision.tenant,
        "owner": revision.owner,
        "agent": revision.agent,
        "kind": revision.kind,
        "source": revision.source,
        "path": revision.path,
        "edition": revision.edition,
        "edition_key": revision.edition_key,
        "origin": revision.origin,
        "item_digest": revision.item_digest,
        "media_type": revision.media_type,
        "content_sha256": revision.content_sha256,
        "text": revision.text,
        "text_sha256": sha256_hex(revision.text),
        "title": meta.title,
        "author": meta.author,
        "language": meta.language,
        "source_type": meta.source_type,
        "source_url": meta.source_url,
        "published_at": moment_text(meta.published_at),
        "updated_at": moment_text(meta.updated_at),
        "product": meta.product,
        "product_version": meta.product_version,
        "api_version": meta.api_version,
        "authority": meta.authority,
        "license": meta.license,
        "quote_policy": meta.quote_policy,
        "tags": meta.tags,
        "provenance": dict(meta.provenance),
        "conversation": turn.conversation if turn else None,
        "session": turn.session if turn else None,
        "turn_ordinal": turn.ordinal if turn else None,
        "speaker": turn.speaker if turn else None,
        "said_at": moment_text(turn.said_at) if turn else None,
        "fingerprint": revision.fingerprint,
        "run_id": revision.run_id,
        "chunk_count": len(prepared.chunks),
        "first_chunk_id": first.chunk_id,
        "newest_edition": newest_edition,
        "put_order": put_order,
        "recorded_at": moment_text(now),
    }


def chunk_record(
    chunk: Chunk, *, language: str, bands: Sequence[int] | None = None
) -> dict[str, object]:
    """A row of `chunks`, as `put_chunks` reads it."""
    return {
        "chunk_id": chunk.chunk_id,
        "revision_id": chunk.revision_id,
        "ordinal": chunk.ordinal,
        "start_at": chunk.start,
        "end_at": chunk.end,
        "text": chunk.text,
        "context": chunk.context,
        "heading_path": chunk.heading_path,
        "token_count": chunk.token_count,
        "page": chunk.page,
        "vector_key": vector_key(language, chunk.indexed_text),
        "bands": bands,
    }


def lineage_records(revision: Revision) -> list[dict[str, object]]:
    """Rows of `lineage`, as `put_lineage` reads them."""
    return [
        {
            "revision_id": revision.revision_id,
            "document_id": revision.document_id,
            "tenant": revision.tenant,
            "support": support,
        }
        for support in revision.derived_from
    ]


def read_vector(raw: bytes) -> Vector:
    return np.frombuffer(raw, dtype=WIRE).astype(np.float32, copy=False)


def read_passages(rows: Sequence[Row]) -> dict[str, StoredPassage]:
    """Rows of the statement `visible`. What belongs to a revision is built once."""
    metadata: dict[str, Metadata] = {}
    passages: dict[str, StoredPassage] = {}
    for row in rows:
        if row[1] not in metadata:
            metadata[row[1]] = _read_metadata(row[20:35])
        passages[row[0]] = _read_passage(row, metadata[row[1]])
    return passages


def _read_passage(row: Row, metadata: Metadata) -> StoredPassage:
    shown: Sequence[str] = row[40] or ()
    return StoredPassage(
        chunk=_read_chunk(row),
        document_id=row[10],
        kind=row[11],
        source=row[12],
        path=row[13],
        edition=row[14],
        edition_key=row[15],
        newest_edition=row[16],
        other_editions=tuple(edition for edition in shown if edition != row[14]),
        content_sha256=row[17],
        owner=row[18],
        recorded_at=row[19],
        metadata=metadata,
        turn=_read_turn(row[35:40]),
    )


def _read_chunk(row: Row) -> Chunk:
    return Chunk(
        chunk_id=row[0],
        revision_id=row[1],
        ordinal=row[2],
        start=row[3],
        end=row[4],
        text=row[5],
        context=row[6],
        heading_path=tuple(row[7]),
        token_count=row[8],
        page=row[9],
    )


def _read_metadata(row: Row) -> Metadata:
    return Metadata(
        title=row[0],
        author=row[1],
        language=row[2],
        source_type=row[3],
        source_url=row[4],
        published_at=row[5],
        updated_at=row[6],
        product=row[7],
        product_version=row[8],
        api_version=row[9],
        authority=row[10],
        license=row[11],
        quote_policy=row[12],
        tags=tuple(row[13]),
        provenance=dict(_read_provenance(row[14])),
    )


@lru_cache(maxsize=1024)
def _read_provenance(text: str) -> dict[str, str]:
    """Pages of one source tell the same: parsed once, copied for each."""
    return dict(json.loads(text))


def _read_turn(row: Row) -> Turn | None:
    if row[0] is None:
        return None
    return Turn(conversation=row[0], session=row[1], ordinal=row[2], speaker=row[3], said_at=row[4])


def read_summary(row: Row) -> DocumentSummary:
    """The first 19 columns of `page` and `editions`."""
    return DocumentSummary(
        document_id=row[0],
        revision_id=row[1],
        kind=row[2],
        source=row[3],
        path=row[4],
        title=row[5],
        language=row[6],
        source_type=row[7],
        source_url=row[8],
        product=row[9],
        edition=row[10],
        newest_edition=row[11],
        published_at=row[12],
        updated_at=row[13],
        recorded_at=row[14],
        authority=row[15],
        quote_policy=row[16],
        chunk_count=row[17],
        text_sha256=row[18],
    )


def read_work(rows: Sequence[Row]) -> list[IndexWork]:
    """Rows of the statement `work`, in their order."""
    fields: dict[str, dict[str, FieldValue]] = {}
    found = []
    for chunk_id, version, text, context, fingerprints, vectors, revision, *rest in rows:
        if version is None:
            gone = IndexWork(chunk_id=chunk_id, row=None, indexed_text="", language="", vectors={})
            found.append(gone)
            continue
        if revision not in fields:
            fields[revision] = _read_fields(rest)
        found.append(
            IndexWork(
                chunk_id=chunk_id,
                row=IndexRow(chunk_id=chunk_id, version=version, fields=fields[revision]),
                indexed_text=f"{context}\n{text}" if context else text,
                language=str(fields[revision]["language"]),
                vectors=_read_vectors(fingerprints, vectors),
            )
        )
    return found


def _read_vectors(
    fingerprints: Sequence[str] | None, vectors: Sequence[bytes] | None
) -> dict[str, Vector]:
    pairs = zip(fingerprints or (), vectors or (), strict=True)
    return {fingerprint: read_vector(raw) for fingerprint, raw in pairs}


FIELD_ORDER = (
    "tenant",
    "owner",
    "agent",
    "kind",
    "document_id",
    "source",
    "path",
    "source_type",
    "source_url",
    "language",
    "author",
    "product",
    "product_version",
    "version_key",
    "api_version",
    "license",
    "quote_policy",
    "tags",
    "conversation",
    "session",
    "speaker",
    "authority",
    "published_at",
    "updated_at",
    "said_at",
    "newest_edition",
)
"""The filterable columns at the end of the statement `work`."""


def _read_fields(values: Sequence[Any]) -> dict[str, FieldValue]:
    return {name: _read_field(value) for name, value in zip(FIELD_ORDER, values, strict=True)}


def _read_field(value: Any) -> FieldValue:
    if isinstance(value, datetime):
        return epoch_ms(value)
    return tuple(value) if isinstance(value, list) else value
