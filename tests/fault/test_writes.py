"""Writes while a store is gone, slow or silent: none is lost, none is shown by half."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

import psycopg
import pytest
from serving import EMBEDDER, NOW, TENANT, prepared

from cluster import ids
from cluster.model import Scope
from cluster.settings import PostgresSettings
from cluster.stores.open import Stores
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared, Transaction
from fault.houses import House, Surroundings, house_of, opened
from fault.tcp_proxy import Manner
from ingest.link import LedgerLink

pytestmark = [pytest.mark.stores, pytest.mark.slow]

MANNERS: tuple[Manner, ...] = ("drop", "refuse", "stall", "slow", "half")
AWAY_S = 1.5
BACK_WITHIN_S = 30.0
SCOPE = Scope(tenant=TENANT)
numbers = itertools.count(1)


@pytest.mark.parametrize("manner", MANNERS)
async def test_writes_outlast_the_vector_index(embedded: Surroundings, manner: Manner) -> None:
    await outlasts(embedded, "milvus", manner)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("store", ["milvus", "elasticsearch"])
async def test_writes_outlast_a_server(servers: Surroundings, store: str, manner: Manner) -> None:
    await outlasts(servers, store, manner)


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_put_outlasts_the_ledger(embedded: Surroundings, manner: Manner) -> None:
    """The writer goes on with the connections it has, and writes once."""
    number = next(numbers)
    page = prepared(f"put-{number}.md", f"Lamp P{number}X shines over the harbour.")
    async with house_of(embedded) as house, house.indexing():
        writing = asyncio.create_task(asyncio.to_thread(put_through_a_link, embedded, page))
        await asyncio.sleep(0.5)
        embedded.proxies["postgres"].set(manner)
        await asyncio.sleep(AWAY_S)
        embedded.proxies["postgres"].set("pass")
        assert await asyncio.wait_for(writing, BACK_WITHIN_S) in (0, 1)
        await until(lambda: found_by(house, page), within_s=BACK_WITHIN_S)
        assert await states(embedded, page) == ["visible"]


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_delete_is_done_or_refused(embedded: Surroundings, manner: Manner) -> None:
    number = next(numbers)
    page = prepared(f"delete-{number}.md", f"Lamp D{number}X shines over the harbour.")
    address = f"/v1/documents/{page.revision.document_id}"
    async with house_of(embedded) as house, house.indexing():
        await put(house.stores.ledger, page)
        await until(lambda: found_by(house, page), within_s=BACK_WITHIN_S)
        deleting = asyncio.create_task(house.client.delete(address))
        embedded.proxies["postgres"].set(manner)
        await asyncio.sleep(AWAY_S)
        embedded.proxies["postgres"].set("pass")
        answer = await asyncio.wait_for(deleting, BACK_WITHIN_S)
        assert answer.status_code in (204, 503), answer.text
        told = await states(embedded, page)
        assert told == (["deleted"] if answer.status_code == 204 else told)
        assert told in (["deleted"], ["visible"])
        await house.whole_again(within_s=BACK_WITHIN_S)
        assert (await house.client.delete(address)).status_code in (204, 404)
        assert await states(embedded, page) == ["deleted"]
        assert not await found_by(house, page)


async def outlasts(around: Surroundings, store: str, manner: Manner) -> None:
    number = next(numbers)
    page = prepared(f"new-{number}.md", f"Lamp L{number}X shines over the harbour.")
    async with house_of(around) as house, house.indexing():
        around.proxies[store].set(manner)
        await put(house.stores.ledger, page)
        await whole_or_hidden(house, page, for_s=AWAY_S)
        around.proxies[store].set("pass")
        await until(lambda: found_by(house, page), within_s=BACK_WITHIN_S)
        assert await held(around, page) == [True, True]
        around.proxies[store].set(manner)
        answer = await house.client.delete(f"/v1/documents/{page.revision.document_id}")
        assert answer.status_code == 204
        for _ in range(3):
            assert not await found_by(house, page)
        around.proxies[store].set("pass")
        await until(lambda: gone_from_both(around, page), within_s=BACK_WITHIN_S)


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


def put_through_a_link(around: Surroundings, page: Prepared) -> int:
    async def open_ledger() -> Ledger:
        return await PostgresLedger.open(around.behind.postgres, PostgresSettings())

    with LedgerLink(open_ledger) as link:
        link.call(nothing)
        time.sleep(1.0)
        return link.call(lambda tx: put_in(tx, page))


async def nothing(tx: Transaction) -> None:
    await tx.documents.counts(TENANT)


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
