"""Do the indexes hold what the ledger wants? Compared by id and version, store by store.

Both sides stream in batches: first every row of an index is looked up in the ledger (ghosts),
then every row that the ledger wants is looked for in the index, by the read path (missing,
stale, stored twice). What differs is looked at again a moment later, between two questions to
the ledger, so that writes under way are told from drift.

Repair owes the index work again, through the outbox: the indexer alone writes an index.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cluster.clock import Clock
from cluster.errors import StoreError, StoreUnavailable
from cluster.kill_points import reached
from cluster.stores.drift import EXAMPLES, KINDS, DriftKind, DriftReport, LedgerRow, StoreDrift
from cluster.stores.protocols import EVERYWHERE, Comparable, CountsCopies, Ledger
from lifecycle.shrinking import Shrinking

LEASE = "reconcile"
BATCH = 1000
SUSPECTS = 5000
"""Differences that are held to be looked at again together."""

GRACE = timedelta(minutes=10)
SETTLE_S = 1.0
"""Before a second look: servers show what was written a moment ago a moment later."""

MAX_OWED = 20_000
"""No more repairs are owed while the indexer is so far behind."""

LEDGER_STORE = "postgres"

STALLED_S = 120.0
POLL_S = 0.2
SAY_EVERY_S = 5.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An index to compare. `generation`: the encoder fingerprint of a vector index; while it
    is `building`, rows that are not there yet are on their way. While it is `catching_up`, only
    those are whose text has no vector of it yet: all others must be there."""

    index: Comparable
    generation: str = EVERYWHERE
    building: bool = False
    catching_up: bool = False


async def reconcile(
    ledger: Ledger,
    sides: Mapping[str, Side],
    clock: Clock,
    *,
    repair: bool = False,
    grace: timedelta = GRACE,
    settle_s: float = SETTLE_S,
    say: Say = lambda _: None,
) -> DriftReport:
    """Compare every index, one reconciliation at a time, and keep the report in the ledger, but
    for the ids that it names.

    With `repair`, what drifts is owed again, and after the indexer has worked it off the
    indexes are compared once more: that report is returned, with `repaired` filled in. An
    index that cannot be read makes a report with an `error`; the ledger's own errors are raised.
    """
    async with ledger.lease(LEASE) as lease:
        comparison = _Comparison(ledger, clock, grace=grace, settle_s=settle_s, say=say)
        report = await comparison.report(sides, repair=repair)
        if repair and report.repaired:
            left = await drained(ledger, say=say)
            await lease.check()
            again = await comparison.report(sides, repair=False)
            report = replace(again, repaired=report.repaired, unrepaired=left)
        async with ledger.transaction() as tx:
            await tx.reconciling.record(report.without_examples())
        reached("reconcile.recorded")
        return report


async def drained(ledger: Ledger, *, say: Say = lambda _: None) -> int:
    """Wait until the index work that is owed by now is done; how much is left when nothing
    moved for `STALLED_S`."""
    async with ledger.transaction() as tx:
        mark = await tx.reconciling.newest_version()
    shrinking = Shrinking(STALLED_S)
    tell_at = asyncio.get_running_loop().time() + SAY_EVERY_S
    while True:
        async with ledger.transaction() as tx:
            left = await tx.reconciling.owed_until(mark)
        now = asyncio.get_running_loop().time()
        if shrinking.stalled(left, now) or not left:
            return left
        if now >= tell_at:
            say(f"{left:,} entries of index work are still owed")
            tell_at = now + SAY_EVERY_S
        await asyncio.sleep(POLL_S)


def kind_of(wanted: int | None, *, found: int | None, stored: int) -> DriftKind | None:
    """The difference of one id. `found`: its version as searches see it; `stored`: how many
    rows are stored under it."""
    if wanted is None:
        return "ghost" if stored or found is not None else None
    if stored > 1:
        return "duplicate"
    if found is None:
        return "missing"
    return None if found == wanted else "stale"


def in_flight(before: LedgerRow, after: LedgerRow, *, now: datetime, grace: timedelta) -> bool:
    """Whether a difference seen between `before` and `after` may be a write under way."""
    young = after.changed_at is not None and abs(now - after.changed_at) < grace
    return after.owed or young or before != after


@dataclass(slots=True, kw_only=True)
class _Tally:
    rows: int = 0
    drift: dict[DriftKind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    flying: dict[DriftKind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    examples: dict[DriftKind, list[str]] = field(default_factory=dict)
    repaired: int = 0

    def count(self, chunk_id: str, kind: DriftKind, *, flying: bool) -> None:
        if flying:
            self.flying[kind] += 1
            return
        self.drift[kind] += 1
        named = self.examples.setdefault(kind, [])
        if len(named) < EXAMPLES:
            named.append(chunk_id)

    def told(self, store: str, error: str | None) -> StoreDrift:
        return StoreDrift(
            store=store,
            rows=self.rows,
            drift=self.drift,
            in_flight=self.flying,
            examples={kind: tuple(sorted(ids)) for kind, ids in self.examples.items()},
            error=error,
        )


class _Comparison:
    def __init__(
        self, ledger: Ledger, clock: Clock, *, grace: timedelta, settle_s: float, say: Say
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._grace = grace
        self._settle_s = settle_s
        self._say = say

    async def report(self, sides: Mapping[str, Side], *, repair: bool) -> DriftReport:
        started = self._clock.now()
        stores, repaired = [], 0
        for name, side in sides.items():
            tally = _Tally()
            error = None
            try:
                await self._compare(side, tally, repair=repair)
            except StoreError as failure:
                if failure.store == LEDGER_STORE:
                    raise
                error = str(failure)
            stores.append(tally.told(name, error))
            repaired += tally.repaired
            self._say(f"{name}: {tally.rows:,} rows compared")
        async with self._ledger.transaction() as tx:
            wanted = await tx.reconciling.count()
        return DriftReport(
            started_at=started,
            finished_at=self._clock.now(),
            wanted=wanted,
            stores=tuple(stores),
            repaired=repaired,
        )

    async def _compare(self, side: Side, tally: _Tally, *, repair: bool) -> None:
        suspects: list[str] = []
        async with aclosing(self._suspects(side, tally)) as found:
            async for ids in found:
                suspects.extend(ids)
                while len(suspects) >= SUSPECTS:
                    await self._look_again(suspects[:SUSPECTS], side, tally, repair=repair)
                    del suspects[:SUSPECTS]
        if suspects:
            await self._look_again(suspects, side, tally, repair=repair)

    async def _suspects(self, side: Side, tally: _Tally) -> AsyncGenerator[list[str], None]:
        """Ids that differ at first sight, each kind of difference from the side that shows it."""
        async for batch in side.index.scan():
            tally.rows += len(batch)
            for held in _parts([chunk for chunk, _ in batch]):
                async with self._ledger.transaction() as tx:
                    states = await tx.reconciling.states(held, target=side.generation)
                yield [chunk for chunk in held if states[chunk].wanted is None]
        async for page in self._wanted():
            wanted = dict(page)
            found, stored = await _seen(side.index, list(wanted))
            yield [
                chunk
                for chunk, version in page
                if kind_of(version, found=found.get(chunk), stored=stored.get(chunk, 0))
            ]

    async def _wanted(self) -> AsyncIterator[list[tuple[str, int]]]:
        after = ""
        while True:
            async with self._ledger.transaction() as tx:
                page = await tx.reconciling.page(after=after, limit=BATCH)
            if not page:
                return
            yield page
            after = page[-1][0]

    async def _look_again(
        self, suspects: Sequence[str], side: Side, tally: _Tally, *, repair: bool
    ) -> None:
        await asyncio.sleep(self._settle_s)
        for ids in _parts(list(dict.fromkeys(suspects))):
            drifting, newest = await self._judge(ids, side, tally)
            if drifting and repair:
                await self._owe(drifting, newest)
                tally.repaired += len(drifting)

    async def _judge(self, ids: list[str], side: Side, tally: _Tally) -> tuple[list[str], int]:
        """The ids that drift, and the highest version that the index has of any."""
        before = await self._states(ids, side)
        found, stored = await _seen(side.index, ids)
        after = await self._states(ids, side)
        now = self._clock.now()
        kinds = {
            chunk: kind
            for chunk in ids
            if (
                kind := kind_of(
                    after[chunk].wanted, found=found.get(chunk), stored=stored.get(chunk, 0)
                )
            )
        }
        missing = [chunk for chunk, kind in kinds.items() if kind == "missing"]
        expected = await self._on_their_way(missing, side) if missing else set()
        drifting = []
        for chunk, kind in kinds.items():
            flying = in_flight(before[chunk], after[chunk], now=now, grace=self._grace)
            tally.count(chunk, kind, flying=flying or chunk in expected)
            if not flying and chunk not in expected:
                drifting.append(chunk)
        return drifting, max((found.get(chunk, 0) for chunk in drifting), default=0)

    async def _on_their_way(self, missing: list[str], side: Side) -> set[str]:
        """Those of these rows that nobody has to find there yet."""
        if side.building:
            return set(missing)
        if not side.catching_up:
            return set()
        async with self._ledger.transaction() as tx:
            work = await tx.outbox.work(missing, fingerprints=[side.generation])
        return {one.chunk_id for one in work if not one.vectors}

    async def _states(self, ids: list[str], side: Side) -> dict[str, LedgerRow]:
        async with self._ledger.transaction() as tx:
            return await tx.reconciling.states(ids, target=side.generation)

    async def _owe(self, ids: list[str], newest: int) -> None:
        """A row of a higher version than the ledger ever gave must lose, too."""
        if not await room(self._ledger, MAX_OWED):
            raise StoreUnavailable(
                "indexer", f"{MAX_OWED:,} entries are owed and none is worked off: is it running?"
            )
        async with self._ledger.transaction() as tx:
            if newest > await tx.reconciling.newest_version():
                await tx.reconciling.outgrow(newest)
            await tx.documents.requeue(ids)
        reached("reconcile.owed")


async def room(ledger: Ledger, most: int, *, stalled_s: float = STALLED_S) -> bool:
    """Wait while more than `most` entries are owed; `False` when nothing moved for so long."""
    shrinking = Shrinking(stalled_s)
    while True:
        async with ledger.transaction() as tx:
            owed, _ = await tx.outbox.lag()
        now = asyncio.get_running_loop().time()
        if shrinking.stalled(owed, now) or owed <= most:
            return owed <= most
        await asyncio.sleep(POLL_S)


async def _seen(index: Comparable, ids: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    """What searches find of these ids, and how many rows are stored under each."""
    found = await index.versions(ids)
    if isinstance(index, CountsCopies):
        return found, await index.copies(ids)
    return found, dict.fromkeys(found, 1)


def _parts(ids: list[str]) -> list[list[str]]:
    return [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
