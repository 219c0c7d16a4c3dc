"""Every store that exists, opened empty for one test: the one place that knows how."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cluster.model import Generation
from cluster.settings import MilvusSettings, PostgresSettings
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, TextIndex, VectorIndex
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.milvus_lite import milvus_lite
from servers.elasticsearch_index import new_settings, removed

LEDGERS = ("memory ledger", "postgres", "oldest postgres")
VECTOR_INDEXES = ("memory vectors", "milvus lite", "milvus server")
TEXT_INDEXES = ("memory terms", "tantivy", "elasticsearch")


@asynccontextmanager
async def opened_ledger(name: str, request: pytest.FixtureRequest) -> AsyncIterator[Ledger]:
    ledger: Ledger
    if name == "memory ledger":
        ledger = MemoryLedger()
    else:
        fixture = {"postgres": "database_url", "oldest postgres": "oldest_test_database_url"}[name]
        ledger = await PostgresLedger.open(request.getfixturevalue(fixture), PostgresSettings())
    yield ledger
    await ledger.close()


@asynccontextmanager
async def opened_vectors(
    name: str, request: pytest.FixtureRequest, folder: Path, *, dim: int
) -> AsyncIterator[VectorIndex]:
    if name == "memory vectors":
        yield MemoryVectorIndex(dim)
        return
    if name == "milvus lite":
        with milvus_lite(folder) as server:
            async with _milvus(server.uri, dim=dim) as index:
                yield index
        return
    async with _milvus(request.getfixturevalue("milvus_uri"), dim=dim) as index:
        yield index


@asynccontextmanager
async def opened_terms(
    name: str, request: pytest.FixtureRequest, folder: Path
) -> AsyncIterator[TextIndex]:
    index: TextIndex
    if name == "elasticsearch":
        settings = new_settings(request.getfixturevalue("elasticsearch_url"))
        index = await ElasticsearchTextIndex.open(settings)
        try:
            yield index
        finally:
            await index.close()
            await removed(settings)
        return
    index = (
        TantivyTextIndex.open(folder, writer_heap_mb=16) if name == "tantivy" else MemoryTextIndex()
    )
    yield index
    await index.close()


async def searchable(
    index: VectorIndex, chunk_ids: Sequence[str], *, within_s: float = 20.0
) -> None:
    """Returns when searches find all of these."""
    until = time.monotonic() + within_s
    while len(await index.versions(chunk_ids)) < len(chunk_ids):
        assert time.monotonic() < until, "what was written does not become searchable"
        await asyncio.sleep(0.05)


@asynccontextmanager
async def _milvus(uri: str, *, dim: int) -> AsyncIterator[VectorIndex]:
    generation = Generation(fingerprint=f"test-{uuid.uuid4().hex}", dim=dim, recipe={})
    settings = MilvusSettings()
    index = await MilvusVectorIndex.open(uri, token=None, generation=generation, settings=settings)
    yield index
    await index.close()
