"""How often passages are shown: counted beside the answers, never in their way.

An answer only adds to a small table in memory; every second what has come together is written in
one go. What does not fit, or cannot be written, is lost, and how much was lost is counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from cluster.errors import StoreError
from cluster.ids import content_id
from cluster.model import ChannelFailure, Scope
from cluster.stores.protocols import Ledger, Shown
from rerank.citations import CitedPassage
from serve.metrics import Metrics
from serve.retrieve import Retrieved
from serve.tasks import log_failure

CAPACITY = 20_000
"""Passages that wait at most."""

ROWS_AT_ONCE = 1000
WRITE_S = 5.0
PAUSE_S = 1.0
USED_IN = 5
"""Artifacts that a citation names at most."""

log = logging.getLogger(__name__)

Place = tuple[str, str | None, str]
"""Tenant, owner, chunk id."""


class ShownCounter:
    """`capacity`: how many passages wait at most."""

    def __init__(self, ledger: Ledger, metrics: Metrics, *, capacity: int = CAPACITY) -> None:
        self._ledger, self._metrics, self._capacity = ledger, metrics, capacity
        self._waiting: dict[Place, tuple[int, datetime]] = {}
        self._running = False

    def add(self, scope: Scope, passages: Sequence[CitedPassage], *, since: datetime) -> None:
        """Returns at once; nothing is counted unless it is running. `since`: when the question
        came, so that nothing is told of an owner who was forgotten meanwhile."""
        if not self._running:
            return
        lost = 0
        for passage in passages:
            for chunk_id in passage.citation.chunk_ids:
                place = (scope.tenant, scope.owner, chunk_id)
                if place in self._waiting or len(self._waiting) < self._capacity:
                    times, first = self._waiting.get(place, (0, since))
                    self._waiting[place] = (times + 1, min(first, since))
                else:
                    lost += 1
        self._metrics.shown(lost=lost)

    async def write(self) -> None:
        """Write what waits, once; from the first rows that cannot be written the rest is lost."""
        waiting, self._waiting = self._waiting, {}
        places = sorted(waiting, key=lambda place: (place[0], place[2], place[1] or ""))
        for start in range(0, len(places), ROWS_AT_ONCE):
            rows = [
                Shown(tenant=tenant, owner=owner, chunk_id=chunk, times=times, since=since)
                for tenant, owner, chunk in places[start : start + ROWS_AT_ONCE]
                for times, since in [waiting[tenant, owner, chunk]]
            ]
            if not await self._write(rows):
                rest = places[start + ROWS_AT_ONCE :]
                self._metrics.shown(lost=sum(waiting[place][0] for place in rest))
                return

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Counts while the block lasts; what waits at its end is still written."""
        self._running = True
        task = asyncio.create_task(self._run(), name="the count of shown passages")
        task.add_done_callback(log_failure)
        try:
            yield
        finally:
            self._running = False
            task.cancel()
            await asyncio.wait([task])
            await self.write()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PAUSE_S)
            await self.write()

    async def _write(self, rows: Sequence[Shown]) -> bool:
        times = sum(row.times for row in rows)
        try:
            async with asyncio.timeout(WRITE_S), self._ledger.transaction() as tx:
                await tx.usage.add_shown(rows)
        except (StoreError, TimeoutError) as error:
            log.warning("how often %d passages were shown is not known: %s", len(rows), error)
            self._metrics.shown(lost=times)
            return False
        self._metrics.shown(kept=times)
        return True


async def cited_uses(found: Retrieved, ledger: Ledger, *, within_s: float) -> Retrieved:
    """Each citation with what the passage went into. What cannot be read in time is a failure in
    the answer, not the end of it."""
    ids = sorted({chunk for one in found.passages for chunk in one.citation.chunk_ids})
    if not ids:
        return found
    try:
        async with asyncio.timeout(within_s), ledger.transaction() as tx:
            used_in = await tx.usage.used_in(found.plan.scope, ids, limit=USED_IN)
    except TimeoutError:
        failure = ChannelFailure(channel="usage", reason="what passages went into was late")
        return replace(found, failures=(*found.failures, failure))
    except StoreError as error:
        failure = ChannelFailure(channel="usage", reason=str(error))
        return replace(found, failures=(*found.failures, failure))
    return replace(found, passages=tuple(_used(one, used_in) for one in found.passages))


def _used(passage: CitedPassage, used_in: Mapping[str, tuple[str, ...]]) -> CitedPassage:
    names = (name for chunk in passage.citation.chunk_ids for name in used_in.get(chunk, ()))
    artifacts = tuple(dict.fromkeys(names))[:USED_IN]
    if not artifacts:
        return passage
    return replace(passage, citation=replace(passage.citation, used_in=artifacts))


def new_search_id(unique: str) -> str:
    """The name of one answer, for reports of what became of it."""
    return content_id("srch", unique)
