"""A ledger with indexes beside it, and ways to damage those behind the product's back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from cluster.clock import FixedClock
from cluster.indexer import Indexer
from cluster.model import Generation, IndexRow, Scope
from cluster.settings import MilvusSettings, PostgresSettings
from cluster.stores.drift import DriftReport
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.milvus.schema import collection_name
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared, TextIndex, TextRow, VectorIndex, VectorRow
from cluster.stores.tantivy.index import TantivyTextIndex
from cluster.stores.views import FixedViews
from contract.milvus_lite import MilvusLite, milvus_lite
from contract.postgres import wipe
from contract.samples import DIM, FINGERPRINT, NOW, chunk_ids, put, vector_of
from lifecycle.reconcile import Side, reconcile

ACME = Scope(tenant="acme")
LATER = NOW + timedelta(hours=1)
GENERATION = Generation(fingerprint=FINGERPRINT, dim=DIM, recipe={})


@dataclass
class Rig:
    """Three stores that belong together; the indexer runs only where a test says so."""

    ledger: Ledger
    vectors: VectorIndex
    texts: TextIndex

    def indexer(self) -> Indexer:
        views = FixedViews(by_fingerprint={FINGERPRINT: self.vectors}, text_index=self.texts)
        return Indexer(self.ledger, views, FixedClock(NOW))

    def sides(self) -> dict[str, Side]:
        return {
            "vectors": Side(index=self.vectors, generation=FINGERPRINT),
            "text": Side(index=self.texts),
        }

    async def fill(self, *batch: Prepared) -> None:
        """Put, index and show; nothing is owed afterwards."""
        await put(self.ledger, *batch)
        await self.work_off()

    async def work_off(self) -> None:
        indexer = self.indexer()
        async with asyncio.timeout(60):
            while await indexer.drain() or indexer.status().open_entries:
                pass

    @asynccontextmanager
    async def indexing(self) -> AsyncIterator[None]:
        """An indexer runs inside the block."""
        stop = asyncio.Event()
        running = asyncio.create_task(self.indexer().run(stop))
        try:
            yield
        finally:
            stop.set()
            await running

    async def compare(self, *, repair: bool = False, grace: timedelta | None = None) -> DriftReport:
        return await reconcile(
            self.ledger,
            self.sides(),
            FixedClock(LATER),
            repair=repair,
            grace=timedelta(minutes=10) if grace is None else grace,
            settle_s=0.05,
        )

    async def ledger_versions(self, *batch: Prepared) -> dict[str, int]:
        async with self.ledger.transaction() as tx:
            rows = await tx.reconciling.page(after="", limit=100_000)
        return {chunk: version for chunk, version in rows if chunk in set(chunk_ids(*batch))}

    async def foreign(self, store: str, ids: Sequence[str], *, version: int) -> None:
        """Write rows that the ledger did not ask for."""
        rows = [
            IndexRow(chunk_id=chunk, version=version, fields={"tenant": "acme"}) for chunk in ids
        ]
        if store == "vectors":
            await self.vectors.upsert(
                [VectorRow(row=row, vector=vector_of(row.chunk_id)) for row in rows]
            )
        else:
            await self.texts.upsert([TextRow(row=row, terms=("word",)) for row in rows])

    async def lose(self, store: str, ids: Sequence[str]) -> None:
        index = self.vectors if store == "vectors" else self.texts
        await index.delete(ids)


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusLite]:
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture(params=["memory", pytest.param("embedded", marks=pytest.mark.stores)])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    """The reference stores, and those of one machine."""
    if request.param == "memory":
        yield Rig(MemoryLedger(), MemoryVectorIndex(DIM), MemoryTextIndex())
        return
    url, server = (request.getfixturevalue(name) for name in ("module_database_url", "milvus"))
    async with embedded_rig(url, server, tmp_path) as made:
        yield made


@pytest.fixture
async def embedded(
    module_database_url: str, milvus: MilvusLite, tmp_path: Path
) -> AsyncIterator[Rig]:
    """Stores that can be damaged from outside. Text index: `tmp_path / "text"`."""
    async with embedded_rig(module_database_url, milvus, tmp_path) as made:
        yield made


@asynccontextmanager
async def embedded_rig(url: str, server: MilvusLite, folder: Path) -> AsyncIterator[Rig]:
    wipe(url)
    MilvusClient(server.uri).drop_collection(collection_name(GENERATION))
    vectors = await MilvusVectorIndex.open(
        server.uri, token=None, generation=GENERATION, settings=MilvusSettings()
    )
    texts = TantivyTextIndex.open(folder / "text", writer_heap_mb=16)
    ledger = await PostgresLedger.open(url, PostgresSettings())
    made = Rig(ledger, vectors, texts)
    yield made
    await asyncio.gather(made.vectors.close(), made.texts.close(), ledger.close())


def drift_of(report: DriftReport, store: str) -> dict[str, int]:
    """Kinds that drift, without the zeros."""
    (found,) = (one for one in report.stores if one.store == store)
    return {kind: count for kind, count in found.drift.items() if count}


def flying_of(report: DriftReport, store: str) -> dict[str, int]:
    (found,) = (one for one in report.stores if one.store == store)
    return {kind: count for kind, count in found.in_flight.items() if count}
