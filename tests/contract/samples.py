"""Small documents for store tests, with every id made as the product makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cluster.ids import chunk_id, digest, document_id, revision_id, sha256_hex, vector_key
from cluster.model import Chunk, Metadata, Revision, Turn, Vector
from cluster.stores.protocols import Ledger, Prepared

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
FINGERPRINT = "test-encoder"
DIM = 8


def prepared(
    path: str = "guide.md",
    body: str = "First part. Second part.",
    *,
    edition: str = "",
    edition_key: str | None = None,
    tenant: str = "acme",
    owner: str | None = None,
    source: str = "docs",
    origin: str | None = None,
    turn: Turn | None = None,
    pieces: int = 2,
    fingerprint: str = FINGERPRINT,
    metadata: Mapping[str, Any] | None = None,
    agent: str | None = None,
) -> Prepared:
    """A document (or, with `turn`, a turn) cut into `pieces` chunks of about equal length."""
    meta = Metadata(**{"language": "en", "product_version": edition or None, **(metadata or {})})
    document = document_id(tenant=tenant, source=source, path=path, language=meta.language)
    revision = revision_id(
        document=document,
        edition=edition,
        content=sha256_hex(body),
        metadata=sha256_hex(repr(meta)),
        recipe=fingerprint,
    )
    where = origin if origin is not None else f"file:///{path}?{edition}"
    return Prepared(
        revision=Revision(
            revision_id=revision,
            document_id=document,
            tenant=tenant,
            owner=owner,
            agent=agent,
            kind="turn" if turn else "document",
            source=source,
            path=path,
            edition=edition,
            edition_key=edition if edition_key is None else edition_key,
            origin=where,
            item_digest=sha256_hex(where + body),
            media_type="text/markdown",
            content_sha256=sha256_hex(body),
            text=body,
            metadata=meta,
            turn=turn,
            fingerprint=fingerprint,
            run_id="run-1",
        ),
        chunks=_cut(revision, body, pieces),
    )


def vector_of(key: str) -> Vector:
    """A unit vector that depends on the key alone."""
    raw = np.frombuffer(digest(key)[:DIM], dtype=np.uint8).astype(np.float32) + 1.0
    return (raw / np.linalg.norm(raw)).astype(np.float32)


def vectors_of(batch: Sequence[Prepared]) -> dict[str, Vector]:
    keys = (
        vector_key(one.revision.metadata.language, chunk.indexed_text)
        for one in batch
        for chunk in one.chunks
    )
    return {key: vector_of(key) for key in keys}


async def put(ledger: Ledger, *batch: Prepared, now: datetime = NOW) -> int:
    """Vectors, then revisions."""
    async with ledger.transaction() as tx:
        for fingerprint in {one.revision.fingerprint for one in batch}:
            await tx.vectors.put(vectors_of(batch), fingerprint=fingerprint)
        return await tx.documents.put(batch, now=now)


async def publish(ledger: Ledger, *batch: Prepared, now: datetime = NOW) -> int:
    async with ledger.transaction() as tx:
        return await tx.documents.publish([one.revision.revision_id for one in batch], now=now)


async def show(ledger: Ledger, *batch: Prepared, now: datetime = NOW) -> None:
    """Put and publish."""
    await put(ledger, *batch, now=now)
    await publish(ledger, *batch, now=now)


async def settle(ledger: Ledger) -> None:
    """Forget all index work that is owed, as if both indexes had done it."""
    async with ledger.transaction() as tx:
        while entries := await tx.outbox.take(limit=1000):
            await tx.outbox.done(entries)


def chunk_ids(*batch: Prepared) -> list[str]:
    return [chunk.chunk_id for one in batch for chunk in one.chunks]


def _cut(revision: str, body: str, pieces: int) -> tuple[Chunk, ...]:
    step = max(1, -(-len(body) // pieces))
    spans = [(start, min(start + step, len(body))) for start in range(0, len(body), step)]
    return tuple(
        Chunk(
            chunk_id=chunk_id(revision=revision, start=start, end=end, text=body[start:end]),
            revision_id=revision,
            ordinal=ordinal,
            start=start,
            end=end,
            text=body[start:end],
            context="Guide > Start" if ordinal else "",
            heading_path=("Guide", "Start") if ordinal else (),
            token_count=end - start,
        )
        for ordinal, (start, end) in enumerate(spans)
    )
