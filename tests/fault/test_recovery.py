"""A store that comes back is used again soon, however long it was away."""

from __future__ import annotations

import asyncio
import time

import pytest
from serving import TENANT

from cluster.errors import StoreUnavailable
from cluster.settings import PostgresSettings
from cluster.stores.postgres.ledger import PostgresLedger
from fault.houses import Surroundings
from fault.waiting import until

pytestmark = [pytest.mark.stores, pytest.mark.slow]

AWAY_S = 8.5
"""Long enough that a pool which waits twice as long after each failure sleeps for 5 s more."""

FOUND_WITHIN_S = 4.0


async def test_the_ledger_is_found_again_soon_after_a_long_absence(embedded: Surroundings) -> None:
    ledger = await PostgresLedger.open(
        embedded.behind.postgres, PostgresSettings(connect_timeout_s=2.0)
    )
    try:
        assert await answers(ledger)
        embedded.proxies["postgres"].set("refuse")
        ends = time.monotonic() + AWAY_S
        while time.monotonic() < ends:
            assert not await answers(ledger)
            await asyncio.sleep(0.2)
        embedded.proxies["postgres"].set("pass")
        await until(lambda: answers(ledger), within_s=FOUND_WITHIN_S)
    finally:
        await ledger.close()


async def answers(ledger: PostgresLedger) -> bool:
    try:
        async with ledger.transaction() as tx:
            await tx.documents.counts(TENANT)
    except StoreUnavailable:
        return False
    return True
