"""Writes while a store is gone, slow or silent: none is lost, none is shown by half."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest
from serving import TENANT, prepared

from cluster.settings import PostgresSettings
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared, Transaction
from fault.houses import Surroundings, house_of
from fault.tcp_proxy import Manner
from fault.waiting import (
    AWAY_S,
    BACK_WITHIN_S,
    found_by,
    gone_from_both,
    held,
    put,
    put_in,
    states,
    until,
    whole_or_hidden,
)
from ingest.link import LedgerLink

pytestmark = [pytest.mark.stores, pytest.mark.slow]

MANNERS: tuple[Manner, ...] = ("drop", "refuse", "stall", "slow", "half")
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


def put_through_a_link(around: Surroundings, page: Prepared) -> int:
    async def open_ledger() -> Ledger:
        return await PostgresLedger.open(around.behind.postgres, PostgresSettings())

    with LedgerLink(open_ledger) as link:
        link.call(nothing)
        time.sleep(1.0)
        return link.call(lambda tx: put_in(tx, page))


async def nothing(tx: Transaction) -> None:
    await tx.documents.counts(TENANT)
