"""Stores in which something can be forgotten, and what tests ask of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from serving import DIM, EMBEDDER, NOW, TENANT, views_of

from cluster.clock import FixedClock
from cluster.forget.key_files import KeyFile, receipt_key_file, tombstone_key_file
from cluster.forget.request import Wish, commit
from cluster.indexer import Indexer
from cluster.model import Generation
from cluster.settings import MilvusSettings, PostgresSettings, Settings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.open import Stores
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import ForgetJob, Selector
from cluster.stores.protocols.forgetting import SelectorKind
from cluster.stores.tantivy.index import TantivyTextIndex
from lifecycle.forget import Ground, finish

CLOCK = FixedClock(NOW)


@dataclass(frozen=True, kw_only=True)
class House:
    stores: Stores
    settings: Settings

    @property
    def key_file(self) -> KeyFile:
        return tombstone_key_file(self.settings)

    @property
    def ground(self) -> Ground:
        return Ground(
            ledger=self.stores.ledger,
            views=views_of(self.stores),
            clock=CLOCK,
            tombstone_key=self.key_file,
            receipt_key=receipt_key_file(self.settings),
        )

    async def drain(self) -> None:
        indexer = Indexer(self.stores.ledger, views_of(self.stores), CLOCK)
        while await indexer.drain():
            pass

    async def ask(
        self, kind: SelectorKind, value: str, *, tenant: str = TENANT, owner: str | None = None
    ) -> ForgetJob:
        """What has returned when nothing may be found any more."""
        wish = Wish(tenant=tenant, selector=Selector(kind=kind, value=value), owner=owner)
        return await commit(self.stores.ledger, wish, key_file=self.key_file, now=NOW)

    async def forget(self, kind: SelectorKind, value: str, **where: str) -> ForgetJob:
        """To the signed end."""
        job = await self.ask(kind, value, **where)
        await self.drain()
        return await finish(self.ground, job, within_s=60)

    async def receipt(self, job: ForgetJob) -> str:
        async with self.stores.ledger.transaction() as tx:
            return await tx.forget_jobs.receipt(job.tenant, job.receipt_id)


def memory_house(home: Path) -> House:
    settings = Settings(home=home)
    ledger = MemoryLedger(CLOCK, tombstone_key=tombstone_key_file(settings))
    stores = Stores(
        ledger=ledger, vector_index=MemoryVectorIndex(DIM), text_index=MemoryTextIndex()
    )
    return House(stores=stores, settings=settings)


@asynccontextmanager
async def real_house(home: Path, *, postgres_url: str, milvus_uri: str) -> AsyncIterator[House]:
    """PostgreSQL, Milvus Lite and Tantivy; the database must be empty."""
    settings = Settings(home=home, postgres=PostgresSettings(url=postgres_url))
    generation = Generation(fingerprint=EMBEDDER.fingerprint, dim=DIM, recipe={})
    stores = Stores(
        ledger=await PostgresLedger.open(
            postgres_url, settings.postgres, tombstone_key=tombstone_key_file(settings)
        ),
        vector_index=await MilvusVectorIndex.open(
            milvus_uri, token=None, generation=generation, settings=MilvusSettings()
        ),
        text_index=TantivyTextIndex.open(home / "text-index"),
    )
    try:
        yield House(stores=stores, settings=settings)
    finally:
        await stores.close()
