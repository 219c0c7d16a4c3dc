"""The reference ledger: the protocols' meaning in plain dictionaries, for one process.

Transactions run one after another; opening a second one inside a first one waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from cluster.clock import Clock, SystemClock
from cluster.forget.key_files import KeyFile
from cluster.stores.memory.documents import MemoryDocuments
from cluster.stores.memory.forgetting import MemoryForgetJobs, MemoryForgetting
from cluster.stores.memory.generations import MemoryGenerations
from cluster.stores.memory.lookups import MemoryLookups
from cluster.stores.memory.operations import (
    MemoryKeys,
    MemoryRuns,
    MemoryUploads,
    MemoryVectors,
)
from cluster.stores.memory.outbox import MemoryOutbox
from cluster.stores.memory.reconciling import MemoryRebuilds, MemoryReconciling
from cluster.stores.memory.state import State
from cluster.stores.memory.usage import MemoryUsage, MemoryWrites
from cluster.stores.protocols import Lease

POLL_S = 1.0


class MemoryTransaction:
    def __init__(self, state: State, tombstone_key: KeyFile | None) -> None:
        self.forgetting = MemoryForgetting(state, tombstone_key)
        self.forget_jobs = MemoryForgetJobs(state)
        self.documents = MemoryDocuments(state, self.forgetting)
        self.vectors = MemoryVectors(state)
        self.outbox = MemoryOutbox(state)
        self.runs = MemoryRuns(state)
        self.uploads = MemoryUploads(state)
        self.keys = MemoryKeys(state)
        self.generations = MemoryGenerations(state)
        self.reconciling = MemoryReconciling(state)
        self.rebuilds = MemoryRebuilds(state)
        self.lookups = MemoryLookups(state)
        self.usage = MemoryUsage(state, self.forgetting)
        self.writes = MemoryWrites(state)


class MemoryLedger:
    """`clock` tells when index work was queued, which only `Outbox.lag` shows."""

    def __init__(self, clock: Clock | None = None, *, tombstone_key: KeyFile | None = None) -> None:
        self._state = State(clock=clock or SystemClock())
        self._tombstone_key = tombstone_key
        self._one_at_a_time = asyncio.Lock()
        self._listeners: set[asyncio.Event] = set()
        self._leases: set[str] = set()
        self._leases_changed = asyncio.Condition()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[MemoryTransaction]:
        async with self._one_at_a_time:
            state = self._state.twin()
            state.awake = False
            yield MemoryTransaction(state, self._tombstone_key)
            self._state = state
        if state.awake:
            for listener in self._listeners:
                listener.set()

    @asynccontextmanager
    async def lease(self, *names: str) -> AsyncIterator[Lease]:
        async with self.lease_any([names]) as (_, lease):
            yield lease

    @asynccontextmanager
    async def lease_any(self, groups: Sequence[Sequence[str]]) -> AsyncIterator[tuple[int, Lease]]:
        async with self._leases_changed:
            while (at := self._free(groups)) is None:
                await self._leases_changed.wait()
            self._leases.update(groups[at])
        try:
            yield at, MemoryLease()
        finally:
            async with self._leases_changed:
                self._leases.difference_update(groups[at])
                self._leases_changed.notify_all()

    def _free(self, groups: Sequence[Sequence[str]]) -> int | None:
        free = (at for at, names in enumerate(groups) if self._leases.isdisjoint(names))
        return next(free, None)

    async def wake_ups(self) -> AsyncGenerator[None, None]:
        called = asyncio.Event()
        self._listeners.add(called)
        try:
            while True:
                try:
                    async with asyncio.timeout(POLL_S):
                        await called.wait()
                except TimeoutError:
                    pass
                called.clear()
                yield
        finally:
            self._listeners.discard(called)

    async def close(self) -> None:
        """Nothing is held open."""


class MemoryLease:
    async def check(self) -> None:
        """Cannot be lost: it lives and dies with this process."""
