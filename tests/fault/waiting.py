"""Putting, waiting and looking, for the tests of writes under faults."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import psycopg
from serving import EMBEDDER, NOW

from cluster import ids
from cluster.stores.open import Stores
from cluster.stores.protocols import Ledger, Prepared, Transaction
from fault.houses import House, Surroundings, opened

AWAY_S = float(os.environ.get("PALIMPSEST_TEST_AWAY_S", "1.5"))
"""How long a store is away; a moment is enough for every run, `PALIMPSEST_TEST_AWAY_S=30` for
those who want to see it wait."""

BACK_WITHIN_S = 30.0


async def whole_or_hidden(house: House, page: Prepared, *, for_s: float) -> None:
    """While it lasts: what is shown is in both indexes."""
    ends = time.monotonic() + for_s
    while time.monotonic() < ends:
        if (await states(house.around, page)) == ["visible"]:
            assert await held(house.around, page) == [True, True]
        await asyncio.sleep(0.2)


async def put(ledger: Ledger, page: Prepared) -> None:
    async with ledger.transaction() as tx:
        await put_in(tx, page)


async def put_in(tx: Transaction, page: Prepared) -> int:
    texts = [chunk.indexed_text for chunk in page.chunks]
    language = page.revision.metadata.language
    made = EMBEDDER.embed_documents(texts, languages=[language] * len(texts))
    keys = [ids.vector_key(language, text) for text in texts]
    vectors = dict(zip(keys, made, strict=True))
    await tx.vectors.put(vectors, fingerprint=EMBEDDER.fingerprint)
    return await tx.documents.put([page], now=NOW)


async def found_by(house: House, page: Prepared) -> bool:
    """Whether an answer, whole or partial, shows it."""
    (name,) = (word for word in page.revision.text.split() if word.endswith("X"))
    found = await house.ask(f"Where does lamp {name} shine?")
    if found.status_code != 200:
        return False
    return any(name in each["text"] for each in found.json()["results"])


async def until(true: Callable[[], Awaitable[bool]], *, within_s: float) -> None:
    ends = time.monotonic() + within_s
    while not await true():
        assert time.monotonic() < ends
        await asyncio.sleep(0.1)


async def states(around: Surroundings, page: Prepared) -> list[str]:
    """Of the page's revisions, seen directly."""
    query = "SELECT state FROM revisions WHERE document_id = %s"
    async with await psycopg.AsyncConnection.connect(around.direct.postgres) as connection:
        rows = await connection.execute(query, (page.revision.document_id,))
        return [state for (state,) in await rows.fetchall()]


async def held(around: Surroundings, page: Prepared) -> list[bool]:
    """Whether the vector index and the text index have all of its chunks, seen directly."""
    chunks = [chunk.chunk_id for chunk in page.chunks]
    stores = await seen_directly(around)
    try:
        return [
            (await index.versions(chunks)).keys() == set(chunks)
            for index in (stores.vector_index, stores.text_index)
        ]
    finally:
        await stores.close()


async def gone_from_both(around: Surroundings, page: Prepared) -> bool:
    return await held(around, page) == [False, False]


async def seen_directly(around: Surroundings) -> Stores:
    return await opened(around, around.direct, read_only=True)
