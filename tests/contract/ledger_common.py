"""What holds for every call of a ledger: empty lists, what wakes a listener, what commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.protocols import Ledger, Transaction
from contract.samples import FINGERPRINT, NOW, prepared, put, vectors_of

ACME = Scope(tenant="acme")

EMPTY: tuple[Callable[[Transaction], Awaitable[object]], ...] = (
    lambda tx: tx.documents.digests("acme", []),
    lambda tx: tx.documents.put([], now=NOW),
    lambda tx: tx.documents.publish([], now=NOW),
    lambda tx: tx.documents.requeue([]),
    lambda tx: tx.documents.visible(ACME, []),
    lambda tx: tx.documents.alike(ACME, [], limit=1),
    lambda tx: tx.documents.texts(ACME, []),
    lambda tx: tx.documents.replaced(ACME, [], since=NOW),
    lambda tx: tx.documents.delete(ACME, []),
    lambda tx: tx.vectors.known([], fingerprint=FINGERPRINT),
    lambda tx: tx.vectors.get([], fingerprint=FINGERPRINT),
    lambda tx: tx.vectors.put({}, fingerprint=FINGERPRINT),
    lambda tx: tx.vectors.tokens_of(ACME, [], fingerprint=FINGERPRINT),
    lambda tx: tx.outbox.owe([], target="newer"),
    lambda tx: tx.outbox.work([]),
    lambda tx: tx.outbox.done([]),
    lambda tx: tx.outbox.failed([], now=NOW),
    lambda tx: tx.outbox.retry([]),
    lambda tx: tx.runs.add_problems("run-1", []),
    lambda tx: tx.generations.hold([]),
    lambda tx: tx.reconciling.states([]),
    lambda tx: tx.lookups.headed(ACME, [], where=None, limit=1),
    lambda tx: tx.lookups.titled(ACME, [], where=None, limit=1),
    lambda tx: tx.lookups.around(ACME, [], where=None, before=1, after=1),
    lambda tx: tx.usage.add_shown([]),
    lambda tx: tx.usage.used_in(ACME, [], limit=1),
    lambda tx: tx.writes.counts([]),
    lambda tx: tx.writes.note([]),
)
"""`Forgetting` has a test of its own."""


class CommonContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_an_empty_list_is_refused_by_every_call(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            for call in EMPTY:
                with pytest.raises(InvalidRequest):
                    await call(tx)

    async def test_leaving_the_block_commits(self, ledger: Ledger) -> None:
        one = prepared()
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint=FINGERPRINT)
            assert await tx.documents.put([one], now=NOW) == 1
        async with ledger.transaction() as tx:
            assert (await tx.documents.counts("acme"))["pending"] == 1

    async def test_a_listener_is_called_soon_and_once_a_second_anyway(self, ledger: Ledger) -> None:
        async def call() -> None:
            async with ledger.transaction() as tx:
                await tx.outbox.wake()

        async def upload() -> None:
            async with ledger.transaction() as tx:
                await tx.uploads.put(
                    "run-1", "acme", name="a", media_type=None, content=b"x", arguments={}
                )

        async def owe() -> None:
            await put(ledger, prepared())

        async with aclosing(ledger.wake_ups()) as wake_ups:
            await uncalled(wake_ups)
            for act in (call, upload, owe):
                await act()
                assert await waited(wake_ups) < 0.7, act.__name__
            await uncalled(wake_ups)


async def waited(wake_ups: AsyncGenerator[None, None]) -> float:
    """Seconds until the next wake-up."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await asyncio.wait_for(anext(wake_ups), timeout=10)
    return loop.time() - begun


async def uncalled(wake_ups: AsyncGenerator[None, None]) -> None:
    """Returns after a wake-up that nobody called for: it took its second."""
    for _ in range(5):
        if await waited(wake_ups) > 0.7:
            return
    pytest.fail("someone calls all the time")
