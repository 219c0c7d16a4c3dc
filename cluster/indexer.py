"""Drains the outbox: brings all indexes to the ledger's state, then shows what can be found.

One drainer for each shard, guarded by the ledger's leases (`cluster.stores.slots`). Every step
may be done twice: rows carry the ledger's version, an entry leaves the outbox only if its version
is still the one that was taken, and a revision becomes visible only when a probe finds all of its
chunks in the text index and in the vector index of the active generation. What a drainer wrote
when it was no longer alone it owes again (`cluster.indexing.late_writes`).

A row that an index refuses rests, longer each time, and is set aside after some attempts; an
index that is out of reach costs no attempt.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cluster.clock import Clock
from cluster.errors import InvalidRequest, StoreRejected, StoreUnavailable
from cluster.indexing.late_writes import LATE, LateWrites
from cluster.indexing.writes import Written, write_out
from cluster.kill_points import reached
from cluster.settings import IndexerSettings
from cluster.stores.protocols import Failure, Lease, Ledger, OutboxEntry
from cluster.stores.slots import shard_slots, slot_leases
from cluster.stores.views import Views, Within

PROBE_IDS = 1000
"""Ids of one probe."""

PUBLISH_REVISIONS = 1024
"""Revisions of one look for what can be shown."""

MAX_PROBES = 5
"""Failed probes after which a revision is reported as stuck; it is tried on every `REST`."""

FIRST_REST = timedelta(milliseconds=200)
"""Rest after a failed probe; doubles with each. Rows are written again from the second on."""

REST = timedelta(seconds=30)
FORGET = timedelta(minutes=10)
"""A revision that was not probed for so long is gone, and no longer reported."""

BULK_ROWS = 1000
"""Rows written since the last flush that count as bulk work."""

QUIET = timedelta(seconds=30)
"""An idle time after which fewer rows are flushed, too."""

COUNT_EVERY_S = 1.0

FIRST_TRY_REST = timedelta(seconds=1)
"""Rest of an entry whose row was refused; doubles with each attempt up to `MAX_TRY_REST`."""

MAX_TRY_REST = timedelta(minutes=5)

FIRST_BACK_OFF_S = 0.5
MAX_BACK_OFF_S = 10.0

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerStatus:
    """Totals since this indexer was made. `open_entries`, `set_aside`, `lag` as of the last
    drain, or of a second before it; `rows_per_s` over the last drain that did something; `stuck`
    revisions are not found in an index however often they are written."""

    active: bool = False
    open_entries: int = 0
    set_aside: int = 0
    lag: timedelta = timedelta(0)
    written: int = 0
    removed: int = 0
    published: int = 0
    requeued: int = 0
    flushes: int = 0
    rows_per_s: float = 0.0
    stuck: tuple[str, ...] = ()
    last_error: str | None = None
    last_error_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probes:
    """How often the probe of a pending revision failed, and when it may be tried again."""

    failed: int
    not_before: datetime


def try_rest(attempts: int, *, max_attempts: int) -> timedelta | None:
    """How long an entry rests after so many failed attempts; `None`: it is set aside."""
    if attempts >= max_attempts:
        return None
    return min(MAX_TRY_REST, FIRST_TRY_REST * (1 << min(attempts - 1, 20)))


class Indexer:
    def __init__(
        self,
        ledger: Ledger,
        views: Views,
        clock: Clock,
        settings: IndexerSettings | None = None,
    ) -> None:
        self._ledger = ledger
        self._views = views
        self._clock = clock
        self._settings = settings or IndexerSettings()
        self._status = IndexerStatus()
        self._slots: tuple[int, ...] | None = None
        self._late = LateWrites()
        self._probes: dict[str, _Probes] = {}
        self._away: frozenset[str] = frozenset()
        self._unflushed = 0
        self._counted_s = -math.inf
        self._last_write: datetime | None = None

    def status(self) -> IndexerStatus:
        """The state as of the last step, for metrics; asks no store."""
        stuck = (key for key, probes in self._probes.items() if probes.failed >= MAX_PROBES)
        return replace(self._status, stuck=tuple(sorted(stuck)))

    async def drain(self, limit: int = 512, *, lease: Lease | None = None) -> int:
        """Do the oldest `limit` entries and publish what is complete; how many were done.

        `StoreUnavailable` leaves the entries owed. What an index refuses stays owed as well,
        which keeps a pending revision from becoming visible; it rests, and is set aside with
        the reason after `max_attempts`. `lease`: checked after each write; without one the
        caller makes sure that nobody else drains.
        """
        await self._owe_late_writes()
        done = await self._work_off(limit, lease)
        await self.publish_found()
        await self._count_owed(idle=not done)
        return done

    async def publish_found(self) -> int:
        """Probe the pending revisions whose work is done; show those that both indexes find,
        and owe the rest again. How many were shown."""
        now = self._clock.now()
        resting = {key for key, one in self._probes.items() if now < one.not_before}
        async with self._ledger.transaction() as tx:
            pending = await tx.documents.publishable(
                limit=PUBLISH_REVISIONS + len(resting), slots=self._slots
            )
        pending = {key: chunks for key, chunks in pending.items() if key not in resting}
        if not pending:
            return 0
        found = await self._found([row for chunks in pending.values() for row in chunks.items()])
        reached("indexer.probed")
        missing = {key: chunks.keys() - found for key, chunks in pending.items()}
        self._remember_probes(missing, now=now)
        ready = [key for key, chunks in missing.items() if not chunks]
        lost = [
            chunk
            for key, chunks in missing.items()
            if chunks and self._probes[key].failed > 1
            for chunk in sorted(chunks)
        ]
        async with self._ledger.transaction() as tx:
            # The moment of now: the probes took a while, and whoever asks meanwhile looks for it.
            moment = self._clock.now()
            shown = await tx.documents.publish(ready, now=moment, settled=True) if ready else 0
            if lost:
                await tx.documents.requeue(lost)
        reached("indexer.published")
        self._count(published=shown, requeued=len(lost))
        return shown

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set: wait for a free shard, drain it at every wake-up, flush when idle.
        A store that is unavailable or refuses is reported and tried again after a while: ending
        would only meet the same entry again."""
        count = self._settings.shards
        shards = [shard_slots(shard, of=count) for shard in range(count)]
        groups = [slot_leases(slots) for slots in shards]
        back_off_s = FIRST_BACK_OFF_S
        while not stop.is_set():
            before = self._progress()
            try:
                await self._owe_late_writes()
                async with AsyncExitStack() as held:
                    entering = held.enter_async_context(self._ledger.lease_any(groups))
                    entered = await _unless(stop, entering)
                    if entered is not None:
                        shard, lease = entered
                        self._slots = shards[shard] if len(shards) > 1 else None
                        await self._run_alone(lease, stop)
            except (StoreUnavailable, StoreRejected, InvalidRequest) as error:
                self._report(str(error))
                if self._progress() > before:
                    back_off_s = FIRST_BACK_OFF_S
                await _unless(stop, asyncio.sleep(back_off_s))
                back_off_s = min(back_off_s * 2, MAX_BACK_OFF_S)
            finally:
                self._status = replace(self._status, active=False)

    async def _run_alone(self, lease: Lease, stop: asyncio.Event) -> None:
        self._status = replace(self._status, active=True)
        async with aclosing(self._ledger.wake_ups()) as wake_ups:
            while not stop.is_set():
                await lease.check()
                shown = self._status.published
                if await self.drain(lease=lease) or self._status.published > shown:
                    continue
                await self._flush_when_due()
                await anext(wake_ups)

    async def _owe_late_writes(self) -> None:
        if due := self._late.due(self._clock.now()):
            async with self._ledger.transaction() as tx:
                await tx.documents.requeue(due)
            reached("indexer.owed_again")
            self._late.owed(due)
            self._count(requeued=len(due))

    async def _count_owed(self, *, idle: bool) -> None:
        """Counting reads the whole outbox, so under way only now and then."""
        now_s = asyncio.get_running_loop().time()
        if idle or now_s - self._counted_s > COUNT_EVERY_S:
            async with self._ledger.transaction() as tx:
                count, age = await tx.outbox.lag()
                aside = await tx.outbox.aside()
            self._counted_s = now_s
            self._status = replace(self._status, open_entries=count, lag=age, set_aside=aside)

    async def _work_off(self, limit: int, lease: Lease | None) -> int:
        started = asyncio.get_running_loop().time()
        now = self._clock.now()
        live = (await self._views.within_reach()).reach
        if not live:
            return 0
        async with self._ledger.transaction() as tx:
            entries = await tx.outbox.take(
                limit=limit, targets=list(live), now=now, slots=self._slots
            )
        reached("indexer.taken")
        if not entries:
            return 0
        # Asked again: a generation that is live since before an entry was made must get it.
        within = await self._views.within_reach()
        entries = [one for one in entries if not one.target or one.target in within.reach]
        if not entries or not within.reach:
            return 0
        self._report_away(within.away)
        written = await self._write(entries, within, lease)
        await self._settle(entries, written, now=now)
        took_s = asyncio.get_running_loop().time() - started
        self._status = replace(self._status, rows_per_s=len(entries) / max(took_s, 1e-6))
        return len(entries)

    async def _write(
        self, entries: Sequence[OutboxEntry], within: Within, lease: Lease | None
    ) -> Written:
        chunks = list(dict.fromkeys(one.chunk_id for one in entries))
        async with self._ledger.transaction() as tx:
            work = await tx.outbox.work(chunks, fingerprints=[*within.reach, *within.away])
        try:
            written = await write_out(
                entries,
                work,
                vector_indexes=within.reach,
                text_index=self._views.text_index,
                away=within.away,
            )
        except (StoreUnavailable, StoreRejected, InvalidRequest):
            await self._check_alone(lease, chunks)
            self._late.may_arrive(chunks, until=self._clock.now() + LATE)
            raise
        await self._check_alone(lease, chunks)
        self._unflushed += len(work)
        self._last_write = self._clock.now()
        self._count(written=written.written, removed=written.removed)
        return written

    async def _check_alone(self, lease: Lease | None, chunks: Sequence[str]) -> None:
        """`StoreUnavailable` when someone else may have written these chunks meanwhile."""
        try:
            if lease is not None:
                await lease.check()
        except StoreUnavailable:
            self._late.may_arrive(chunks, until=self._clock.now())
            raise

    async def _settle(
        self, entries: Sequence[OutboxEntry], written: Written, *, now: datetime
    ) -> None:
        failures = [self._failure(one, why, now=now) for one, why in written.failures.items()]
        done = [one for one in entries if one not in written.failures]
        async with self._ledger.transaction() as tx:
            # First, as whoever retires a generation takes it before what is owed to it.
            for target, chunks in written.owed.items():
                await tx.outbox.owe(chunks, target=target)
            if done:
                await tx.outbox.done(done)
            if failures:
                await tx.outbox.failed(failures, now=now)
            if self._slots is not None:
                await tx.outbox.wake()  # another shard may have to show what is complete now
        reached("indexer.done")

    def _failure(self, entry: OutboxEntry, reason: str, *, now: datetime) -> Failure:
        rest = try_rest(entry.attempts + 1, max_attempts=self._settings.max_attempts)
        fate = "set aside" if rest is None else f"tried again in {rest.total_seconds():g} s"
        self._report(f"chunk {entry.chunk_id}: {reason} ({fate})")
        return Failure(entry=entry, reason=reason, not_before=None if rest is None else now + rest)

    async def _found(self, rows: Sequence[tuple[str, int]]) -> set[str]:
        """The chunk ids that the text index and the active generation's index have in the
        wanted version."""
        found: set[str] = set()
        live = (await self._views.within_reach()).reach
        active = next(iter(live.values()), None)
        if active is None:
            return found
        for start in range(0, len(rows), PROBE_IDS):
            part = rows[start : start + PROBE_IDS]
            ids = [chunk for chunk, _ in part]
            in_vectors, in_texts = await asyncio.gather(
                active.versions(ids), self._views.text_index.versions(ids)
            )
            found.update(
                chunk
                for chunk, version in part
                if in_vectors.get(chunk) == version == in_texts.get(chunk)
            )
        return found

    def _remember_probes(self, missing: Mapping[str, Collection[str]], *, now: datetime) -> None:
        for revision, chunks in missing.items():
            before = self._probes.pop(revision, None)
            if not chunks:
                continue
            failed = before.failed + 1 if before else 1
            rest = min(REST, FIRST_REST * 2 ** min(failed - 1, 10))
            if failed >= MAX_PROBES:
                rest = REST
                self._report(
                    f"revision {revision}: {len(chunks)} chunks are not found in both indexes "
                    f"after {failed} probes, e.g. {min(chunks)}"
                )
            self._probes[revision] = _Probes(failed=failed, not_before=now + rest)
        for revision, one in list(self._probes.items()):
            if now - one.not_before > FORGET:
                del self._probes[revision]

    async def _flush_when_due(self) -> None:
        """Called when idle: after bulk work at once, after a few rows when it has been quiet."""
        quiet = self._last_write is not None and self._clock.now() - self._last_write >= QUIET
        if self._unflushed >= BULK_ROWS or (self._unflushed and quiet):
            for index in (await self._views.within_reach()).reach.values():
                await index.flush()
                reached("indexer.flushed")
            self._unflushed = 0
            self._count(flushes=1)

    def _progress(self) -> int:
        return self._status.written + self._status.removed + self._status.published

    def _count(self, **added: int) -> None:
        totals = {name: getattr(self._status, name) + value for name, value in added.items()}
        self._status = replace(self._status, **totals)

    def _report_away(self, away: Mapping[str, str]) -> None:
        """Each once, until it is there again."""
        for fingerprint in away.keys() - self._away:
            why = away[fingerprint]
            self._report(f"the vectors of {fingerprint} wait, all else goes on: {why}")
        self._away = frozenset(away)

    def _report(self, message: str) -> None:
        _log.warning("indexer: %s", message)
        self._status = replace(self._status, last_error=message, last_error_at=self._clock.now())


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """The result of `work`; `None` when `stop` was set first, and `work` is cancelled."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in (task, stopped):
            one.cancel()
        await asyncio.wait((task, stopped))
