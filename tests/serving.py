"""A served corpus on the reference stores, for tests of the question side."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
from fastapi import FastAPI

from cluster import ids
from cluster.clock import FixedClock
from cluster.indexer import Indexer
from cluster.model import Chunk, EncodedQuery, Metadata, Revision, Role, Turn
from cluster.models.hashing import HashingEmbedder
from cluster.models.token_vectors import pack
from cluster.settings import Settings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.open import Stores
from cluster.stores.protocols import Ledger, Prepared, TextIndex
from cluster.stores.views import FixedViews
from cluster.text.versions import version_key
from ingest.near_duplicates import sketches
from rerank.cross_encoder import ScorePassages
from serve.api.application import build_api
from serve.api.gate import Limits
from serve.channels.semantic import EncodeQuery
from serve.metrics import Metrics
from serve.secret import new_key, secret_digest
from serve.service import Service, build_service

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DIM = 256
EMBEDDER = HashingEmbedder(DIM)
TENANT = "acme"


class Encoding:
    """Encodes and counts by the reference embedder."""

    async def __call__(self, question: str, language: str) -> EncodedQuery:
        (query,) = EMBEDDER.encode_queries([question], languages=[language])
        return query

    async def count(self, texts: Sequence[str]) -> list[int]:
        return EMBEDDER.count_tokens(texts)


encode = Encoding()


def prepared(
    path: str,
    text: str,
    *,
    cuts: Sequence[int] = (),
    tenant: str = TENANT,
    owner: str | None = None,
    edition: str = "",
    metadata: Metadata | None = None,
    turn: Turn | None = None,
) -> Prepared:
    """A revision cut at `cuts`."""
    about = metadata or Metadata(title=path, language="en")
    document = ids.document_id(tenant=tenant, source="tests", path=path, language=about.language)
    revision = ids.revision_id(
        document=document,
        edition=edition,
        content=ids.sha256_hex(text),
        metadata=ids.sha256_hex(repr(about)),
        recipe="tests",
    )
    bounds = [0, *cuts, len(text)]
    chunks = tuple(
        Chunk(
            chunk_id=ids.chunk_id(revision=revision, start=start, end=end, text=text[start:end]),
            revision_id=revision,
            ordinal=ordinal,
            start=start,
            end=end,
            text=text[start:end],
            context="",
            heading_path=(about.title,),
            token_count=EMBEDDER.count_tokens([text[start:end]])[0],
        )
        for ordinal, (start, end) in enumerate(itertools.pairwise(bounds))
    )
    made = Revision(
        revision_id=revision,
        document_id=document,
        tenant=tenant,
        owner=owner,
        kind="turn" if turn else "document",
        source="tests",
        path=path,
        edition=edition,
        edition_key=version_key(edition),
        origin=f"tests:{path}@{edition}",
        item_digest=ids.sha256_hex(f"{path}{edition}{text}"),
        media_type="text/markdown",
        content_sha256=ids.sha256_hex(text),
        text=text,
        metadata=about,
        turn=turn,
        fingerprint=EMBEDDER.fingerprint,
        run_id="run_tests",
    )
    return Prepared(revision=made, chunks=chunks, bands=sketches(made, chunks))


async def fill(stores: Stores, batch: Sequence[Prepared]) -> None:
    """Into the ledger and, by the real indexer, into both indexes; visible afterwards."""
    languages = {each.revision.metadata.language for each in batch}
    async with stores.ledger.transaction() as tx:
        for language in languages:
            texts = [
                chunk.indexed_text
                for each in batch
                if each.revision.metadata.language == language
                for chunk in each.chunks
            ]
            vectors, tokens = EMBEDDER.embed_documents_with_tokens(
                texts, languages=[language] * len(texts)
            )
            keys = [ids.vector_key(language, text) for text in texts]
            packed = [pack(rows, recipe=EMBEDDER.token_recipe) for rows in tokens]
            await tx.vectors.put(
                dict(zip(keys, vectors, strict=True)),
                fingerprint=EMBEDDER.fingerprint,
                tokens=dict(zip(keys, packed, strict=True)),
            )
        await tx.documents.put(batch, now=NOW)
    async with asyncio.timeout(60):
        while await _pending(stores):
            # A new one each time: it has not heard yet that a probe came too early.
            indexer = Indexer(stores.ledger, views_of(stores), FixedClock(NOW))
            while await indexer.drain():
                pass


async def _pending(stores: Stores) -> int:
    async with stores.ledger.transaction() as tx:
        return (await tx.documents.counts(None))["pending"]


def views_of(stores: Stores, *, text_index: TextIndex | None = None) -> FixedViews:
    """Both indexes, as one generation."""
    return FixedViews(
        by_fingerprint={EMBEDDER.fingerprint: stores.vector_index},
        text_index=text_index or stores.text_index,
    )


def memory_stores() -> Stores:
    return Stores(
        ledger=MemoryLedger(FixedClock(NOW)),
        vector_index=MemoryVectorIndex(DIM),
        text_index=MemoryTextIndex(),
    )


async def make_key(
    ledger: Ledger, *, tenant: str = TENANT, role: Role = "read", owner: str | None = None
) -> str:
    """A new key's secret."""
    secret, key = new_key(tenant=tenant, role=role, name="tests", now=NOW, owner=owner)
    async with ledger.transaction() as tx:
        await tx.keys.put(key, secret_sha256=secret_digest(secret))
    return secret


def service_on(
    stores: Stores,
    settings: Settings | None = None,
    *,
    encoder: EncodeQuery = encode,
    cross_encoder: ScorePassages | None = None,
) -> Service:
    return build_service(
        settings=settings or Settings(),
        stores=stores,
        encode=encoder,
        fingerprint=EMBEDDER.fingerprint,
        clock=FixedClock(NOW),
        metrics=Metrics(),
        cross_encoder=cross_encoder,
    )


def application(
    service: Service,
    *,
    max_ongoing: int = 8,
    max_waiting: int = 8,
    queue_s: float = 10.0,
    body_s: float = 10.0,
) -> FastAPI:
    async def open_service() -> Service:
        return service

    limits = Limits(
        max_ongoing=max_ongoing,
        max_waiting=max_waiting,
        max_upload_bytes=2 * 2**20,
        queue_s=queue_s,
        body_s=body_s,
    )
    return build_api(open_service, limits=limits, metrics=service.metrics)


@asynccontextmanager
async def client_of(app: FastAPI, secret: str | None) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client,
    ):
        yield client
