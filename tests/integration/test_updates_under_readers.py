"""A document that is updated while it is asked for: whole revisions only, and never none."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serving import (
    EMBEDDER,
    NOW,
    TENANT,
    application,
    client_of,
    fill,
    make_key,
    memory_stores,
    prepared,
    service_on,
    views_of,
)

from cluster import ids
from cluster.clock import SystemClock
from cluster.filters import Filter
from cluster.indexer import Indexer
from cluster.model import Generation, Scope
from cluster.settings import MilvusSettings, PostgresSettings, ServeSettings, Settings
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.open import Stores
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared
from cluster.stores.tantivy.index import TantivyTextIndex
from cluster.stores.views import FixedViews
from cluster.text.terms import QueryTerm
from contract.milvus_lite import milvus_lite

UPDATES = int(os.environ.get("PALIMPSEST_TEST_UPDATES", "60"))
"""200 in the long form that `docs/operations.md` names."""

READERS = 2
PIECES = 3
PATIENT = Settings(serve=ServeSettings(channel_deadline_s=10, deadline_s=20))
ACME = Scope(tenant=TENANT)
PATH = "ladder.md"


def revision(number: int) -> Prepared:
    """Each piece says the number."""
    pieces = [f"Rung {part} of ladder number {number:04} is firm. " for part in range(PIECES)]
    text = "".join(pieces)
    return prepared(PATH, text, cuts=[len(pieces[0]), len(pieces[0]) + len(pieces[1])])


async def put_only(ledger: Ledger, one: Prepared) -> None:
    texts = [chunk.indexed_text for chunk in one.chunks]
    vectors = EMBEDDER.embed_documents(texts, languages=["en"] * len(texts))
    keys = [ids.vector_key("en", text) for text in texts]
    async with ledger.transaction() as tx:
        await tx.vectors.put(
            dict(zip(keys, vectors, strict=True)), fingerprint=EMBEDDER.fingerprint
        )
        await tx.documents.put([one], now=NOW)


class UpdatedMeanwhile(MemoryTextIndex):
    """Has looked when the document is updated, twice at the most."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times
        self.stores: Stores | None = None
        self.number = 1

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        found = await super().search(terms, scope=scope, where=where, limit=limit)
        if self.left and self.stores:
            self.left -= 1
            self.number += 1
            await fill(self.stores, [revision(self.number)])
        return found


@pytest.mark.parametrize("times", [1, 2])
async def test_a_document_updated_after_the_channels_looked_is_found(times: int) -> None:
    texts = UpdatedMeanwhile(times)
    stores = Stores(
        ledger=memory_stores().ledger,
        vector_index=MemoryVectorIndex(EMBEDDER.dim),
        text_index=texts,
    )
    await fill(stores, [revision(1)])
    texts.stores = stores
    async with client_of(
        application(service_on(stores, PATIENT)), await make_key(stores.ledger)
    ) as client:
        answer = await client.post(
            "/v1/search", json={"query": "firm rung of a ladder", "channels": ["keyword"]}
        )
    assert numbers_in(answer.json()) == [times + 1] * PIECES


async def test_a_ghost_of_long_ago_is_not_asked_for_again() -> None:
    """Nothing was updated under the question; the index is only slow to forget."""
    texts = UpdatedMeanwhile(0)
    stores = Stores(
        ledger=memory_stores().ledger,
        vector_index=MemoryVectorIndex(EMBEDDER.dim),
        text_index=texts,
    )
    await fill(stores, [revision(1)])
    async with stores.ledger.transaction() as tx:
        found = await tx.documents.replaced(
            ACME, [chunk.chunk_id for chunk in revision(1).chunks], since=NOW
        )
    assert found == set()


@pytest.mark.stores
@pytest.mark.slow
async def test_many_updates_under_readers(database_url: str, tmp_path: Path) -> None:
    async with embedded(database_url, tmp_path) as house:
        await put_only(house.ledger, revision(0))
        stop = asyncio.Event()
        indexing = asyncio.create_task(house.indexer.run(stop))
        await shown(house.ledger, revision(0))
        done = asyncio.Event()
        readers = [asyncio.create_task(read(house.reading, done)) for _ in range(READERS)]
        for number in range(1, UPDATES + 1):
            await put_only(house.ledger, revision(number))
            await shown(house.ledger, revision(number))
        done.set()
        seen = [answer for reader in readers for answer in await reader]
        stop.set()
        await indexing
    assert len(seen) > UPDATES // 2
    assert {len(set(numbers)) for numbers in seen} == {1}, "a mixture, or none"
    assert {len(numbers) for numbers in seen} == {PIECES}, "not whole"
    assert len({numbers[0] for numbers in seen}) > UPDATES // 8


@dataclass(frozen=True)
class House:
    ledger: Ledger
    indexer: Indexer
    reading: Stores


@asynccontextmanager
async def embedded(database_url: str, folder: Path) -> AsyncIterator[House]:
    """The embedded stores, written by one side and read by another, as in the local stack."""
    generation = Generation(
        fingerprint=EMBEDDER.fingerprint, dim=EMBEDDER.dim, recipe={"tests": "tests"}
    )
    ledger = await PostgresLedger.open(database_url, PostgresSettings())
    with milvus_lite(folder / "milvus") as server:
        sides = []
        for read_only in (False, True):
            vectors = await MilvusVectorIndex.open(
                server.uri, token=None, generation=generation, settings=MilvusSettings()
            )
            texts = TantivyTextIndex.open(folder / "text", writer_heap_mb=16, read_only=read_only)
            sides.append(Stores(ledger=ledger, vector_index=vectors, text_index=texts))
        writing, reading = sides
        try:
            yield House(
                ledger=ledger,
                indexer=Indexer(ledger, views_of(writing), SystemClock()),
                reading=reading,
            )
        finally:
            for side in sides:
                await FixedViews(
                    by_fingerprint={EMBEDDER.fingerprint: side.vector_index},
                    text_index=side.text_index,
                ).close()
            await ledger.close()


async def shown(ledger: Ledger, one: Prepared) -> None:
    wanted = [one.chunks[0].chunk_id]
    async with asyncio.timeout(30):
        while True:
            async with ledger.transaction() as tx:
                if await tx.documents.visible(ACME, wanted):
                    return
            await asyncio.sleep(0.005)


async def read(stores: Stores, done: asyncio.Event) -> list[list[int]]:
    """The numbers that each answer has; between two questions a breath."""
    seen: list[list[int]] = []
    service = service_on(stores, PATIENT)
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        while not done.is_set():
            answer = await client.post("/v1/search", json={"query": "firm rung of a ladder"})
            assert answer.status_code == 200, answer.text
            seen.append(numbers_in(answer.json()))
            await asyncio.sleep(0.05)
    return seen


def numbers_in(answer: dict[str, Any]) -> list[int]:
    texts = " ".join(result["text"] for result in answer["results"])
    return [int(found) for found in re.findall(r"ladder number (\d+) is", texts)]
