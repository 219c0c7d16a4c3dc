"""Make the indexes anew from the ledger alone: every row is owed again, through the outbox.

Nothing is emptied that is sound: rows are replaced one by one while questions go on. Where an
index had to begin empty, answers say so until it is full (`Rebuild.refills`). How far it is
stands in the ledger, in the same transaction as the work that was queued: a rebuild that was
killed goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cluster.clock import Clock
from cluster.kill_points import reached
from cluster.stores.protocols import Lease, Ledger, Rebuild
from lifecycle.reconcile import room
from lifecycle.shrinking import Shrinking

LEASE = "rebuild"
BATCH = 1000
MAX_OWED = 5000
"""No more is queued while the indexer is so far behind: others' writes wait in the same line."""

STALLED_S = 120.0
POLL_S = 0.2
NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`written` of `total` rows are in the indexes; `eta` once a rate is known."""

    written: int
    total: int
    rows_per_s: float
    eta: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """`rows` were owed again; `left` are not written yet, and nobody works them off. `bare` rows
    have no vector in the ledger and are found by words only; `bare_examples` names some."""

    rows: int
    left: int
    took_s: float
    refills: tuple[str, ...]
    resumed: bool
    bare: int
    bare_examples: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not self.left and not self.bare


Watch = Callable[[Progress], None]


async def begin_rebuild(ledger: Ledger, *, refills: Sequence[str], now: datetime) -> Rebuild:
    """Note that these stores begin empty, before they do; one that is open goes on."""
    async with ledger.transaction() as tx:
        total = await tx.reconciling.count()
        begun = await tx.rebuilds.begin(refills=refills, total=total, now=now)
    reached("rebuild.begun")
    return begun


async def rebuild(
    ledger: Ledger, clock: Clock, *, watch: Watch = lambda _: None, stalled_s: float = STALLED_S
) -> Rebuilt:
    """Owe every wanted row again and wait until all are written; one rebuild at a time.

    Goes on with one that was begun. Returns with `left` when nothing moved for `stalled_s`:
    then it is not finished, and the next call goes on waiting. What the indexes have beside
    the wanted rows stays: `reconcile` removes it.
    """
    async with ledger.lease(LEASE) as lease:
        job = await begin_rebuild(ledger, refills=(), now=clock.now())
        pace = _Pace(asyncio.get_running_loop().time(), begun_at=job.owed)
        owed, all_owed = await _owe_all(ledger, job, lease, pace, watch=watch, stalled_s=stalled_s)
        left = await _written(ledger, pace, total=owed, watch=watch, stalled_s=stalled_s)
        if not all_owed:
            left += max(1, job.total - owed)
        bare, examples = await _bare(ledger)
        if not left:
            async with ledger.transaction() as tx:
                await tx.rebuilds.finish(job.rebuild_id, now=clock.now())
            reached("rebuild.finished")
        return Rebuilt(
            rows=owed,
            left=left,
            took_s=pace.passed_s(),
            refills=job.refills,
            resumed=job.owed > 0,
            bare=bare,
            bare_examples=examples,
        )


async def _owe_all(
    ledger: Ledger, job: Rebuild, lease: Lease, pace: _Pace, *, watch: Watch, stalled_s: float
) -> tuple[int, bool]:
    """How many rows were owed since the rebuild began, and whether these are all."""
    owed_to, owed = job.owed_to, job.owed
    while True:
        await lease.check()
        if not await room(ledger, MAX_OWED, stalled_s=stalled_s):
            return owed, False
        async with ledger.transaction() as tx:
            page = await tx.reconciling.page(after=owed_to, limit=BATCH)
            if page:
                owed_to, owed = page[-1][0], owed + len(page)
                await tx.documents.requeue([chunk for chunk, _ in page])
                await tx.rebuilds.advance(job.rebuild_id, owed_to=owed_to, owed=owed)
        reached("rebuild.owed")
        if not page:
            return owed, True
        async with ledger.transaction() as tx:
            behind, _ = await tx.outbox.lag()
        watch(pace.progress(written=max(0, owed - behind), total=max(job.total, owed)))


class _Pace:
    """Rows a second since this process took part, by the monotonic clock of its loop."""

    def __init__(self, started: float, *, begun_at: int) -> None:
        self._started = started
        self._begun_at = begun_at

    def passed_s(self) -> float:
        return asyncio.get_running_loop().time() - self._started

    def progress(self, *, written: int, total: int) -> Progress:
        rate = max(0, written - self._begun_at) / max(self.passed_s(), 1e-6)
        left_s = (total - written) / rate if rate else None
        return Progress(
            written=written,
            total=total,
            rows_per_s=rate,
            eta=None if left_s is None else timedelta(seconds=left_s),
        )


async def _written(
    ledger: Ledger, pace: _Pace, *, total: int, watch: Watch, stalled_s: float
) -> int:
    """Wait until what was owed by now is done; how much is left when nothing moved."""
    async with ledger.transaction() as tx:
        mark = await tx.reconciling.newest_version()
    shrinking = Shrinking(stalled_s)
    while True:
        async with ledger.transaction() as tx:
            left = await tx.reconciling.owed_until(mark)
        watch(pace.progress(written=max(0, total - left), total=total))
        if shrinking.stalled(left, pace.passed_s()) or not left:
            return left
        await asyncio.sleep(POLL_S)


async def _bare(ledger: Ledger) -> tuple[int, tuple[str, ...]]:
    """How many wanted rows have no vector of the active encoder in the ledger, and some of them."""
    async with ledger.transaction() as tx:
        active = await tx.generations.active()
    fingerprint = active.fingerprint if active else None
    count, after = 0, ""
    named: tuple[str, ...] = ()
    while True:
        async with ledger.transaction() as tx:
            page = await tx.reconciling.without_vector(
                after=after, limit=BATCH, fingerprint=fingerprint
            )
        count += len(page)
        named = named or tuple(page[:NAMED])
        if len(page) < BATCH:
            return count, named
        after = page[-1]
