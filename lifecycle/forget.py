"""What remains to be done once something was forgotten: wait until both indexes have let go of
it, look for it everywhere, and sign that it is gone.

The erasing itself was one transaction (`cluster.forget.request`). Every step here may be done
twice; a job that was interrupted is finished by whoever comes next, one at a time.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cluster.clock import Clock
from cluster.errors import InvalidRequest
from cluster.forget.key_files import KeyFile
from cluster.forget.marks import MarkKey
from cluster.forget.receipts import Signer
from cluster.forget.request import Work, unseal
from cluster.ids import digest
from cluster.kill_points import reached
from cluster.stores.protocols import Collections, Finding, ForgetJob, Ledger
from cluster.stores.views import Views
from lifecycle.reembed import SETTLE_S
from lifecycle.residue import present_needles, residue

LEASE = "forget"
POLL_S = 0.2
WITHIN_S = 120.0
"""After so long without an end a job is left to the next one who comes. A search that has begun is
not broken off: of a large index it may take longer, and would never come to its end."""

RETIRING = "the index of a retired encoder, which is dropped in a moment"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the jobs stand on."""

    ledger: Ledger
    views: Views
    clock: Clock
    tombstone_key: KeyFile
    receipt_key: KeyFile
    collections: Collections | None = None


async def finish_all(ground: Ground, *, within_s: float = WITHIN_S) -> list[ForgetJob]:
    """Finish what is unfinished, oldest first; those that could not be finished in time."""
    async with ground.ledger.transaction() as tx:
        jobs = await tx.forget_jobs.unfinished()
    done = [await finish(ground, job, within_s=within_s) for job in jobs]
    return [job for job in done if job.state != "finished"]


async def finish(ground: Ground, job: ForgetJob, *, within_s: float = WITHIN_S) -> ForgetJob:
    """The job as it is afterwards; `waits_for` says what keeps it from its end."""
    async with ground.ledger.lease(LEASE):
        async with ground.ledger.transaction() as tx:
            job = await tx.forget_jobs.get(job.tenant, job.job_id)
            sealed = await tx.forget_jobs.work(job.job_id)
        if job.state == "finished":
            return job
        work = unseal(_mark_key(ground.tombstone_key), sealed)
        await _finish(ground, job, work, until=_now_s() + within_s)
    async with ground.ledger.transaction() as tx:
        return await tx.forget_jobs.get(job.tenant, job.job_id)


async def _finish(ground: Ground, job: ForgetJob, work: Work, *, until: float) -> None:
    if not await _drained(ground, job, work, until=until):
        return
    reached("forget.drained")
    while True:
        await _scrub(ground, job, work)
        found = await residue(ground.ledger, ground.views, job.tenant, work)
        # Afterwards, as one that was searched may have been retired meanwhile.
        dropped = await _drop_dead_collections(ground)
        if dropped and not found:
            break
        await _progress(ground, job, waits_for=_told(found) or RETIRING)
        if _now_s() > until:
            return
        await asyncio.sleep(POLL_S)
    await _progress(ground, job, waits_for="the receipt")
    await _sign(ground, job, work)


async def _drained(ground: Ground, job: ForgetJob, work: Work, *, until: float) -> bool:
    told = ""
    while True:
        async with ground.ledger.transaction() as tx:
            owed = await tx.forgetting.owed(work.chunk_ids) if work.chunk_ids else 0
        if not owed:
            return True
        waits_for = f"the indexes: {owed:,} rows to be removed"
        if waits_for != told:
            told = waits_for
            await _progress(ground, job, waits_for=waits_for, state="draining")
        if _now_s() > until:
            return False
        await asyncio.sleep(POLL_S)


async def _drop_dead_collections(ground: Ground) -> bool:
    """Nobody keeps up the index of a generation that is gone, so it may hold anything. False
    while one is gone so lately that a process may still write to it, and make it anew."""
    if ground.collections is None:
        return True
    async with ground.ledger.transaction() as tx:
        known = await tx.generations.known()
    since = ground.clock.now() - timedelta(seconds=SETTLE_S)
    gone = [one for one in known if one.state == "gone"]
    settled = [one.generation for one in gone if one.ended_at is None or one.ended_at <= since]
    if settled:
        await ground.collections.drop(settled)
        reached("forget.collections_dropped")
    return len(settled) == len(gone)


async def _scrub(ground: Ground, job: ForgetJob, work: Work) -> None:
    """What came in since: reports of runs that were under way, vectors of texts that were being
    encoded."""
    async with ground.ledger.transaction() as tx:
        needles = await present_needles(tx, job.tenant, work)
        await tx.forgetting.scrub(
            job.tenant, needles, selector=work.selector, run_ids=work.run_ids, uploads=False
        )
        if work.vector_keys:
            await tx.forgetting.drop_vectors(work.vector_keys)
    reached("forget.scrubbed")


async def _progress(
    ground: Ground, job: ForgetJob, *, waits_for: str, state: str = "scanning"
) -> None:
    async with ground.ledger.transaction() as tx:
        await tx.forget_jobs.progress(
            job.job_id,
            state="draining" if state == "draining" else "scanning",
            waits_for=waits_for,
        )
    reached("forget.scanned")


async def _sign(ground: Ground, job: ForgetJob, work: Work) -> None:
    now = ground.clock.now()
    stores = ["ledger", *(f"vectors {each}" for each in await ground.views.vector_indexes())]
    body = Signer(ground.receipt_key.make()).sign(
        sections_of(
            job,
            work,
            key=_mark_key(ground.tombstone_key),
            stores=[*stores, "text index"],
            finished_at=now.isoformat(),
        )
    )
    async with ground.ledger.transaction() as tx:
        await tx.forget_jobs.finish(job.job_id, body=body, now=now)
    reached("forget.finished")


def sections_of(
    job: ForgetJob, work: Work, *, key: MarkKey, stores: Sequence[str], finished_at: str
) -> Mapping[str, Any]:
    """The receipt's content. Counts before are the ledger's, from the transaction that erased:
    both indexes held what it said they should; after is what was searched for and not found."""
    ids = digest(*sorted(work.needles.ids))
    before = {"ledger": dict(sorted(job.counts.items()))}
    after: dict[str, Any] = {"ledger": dict.fromkeys(sorted(job.counts), 0)}
    for store in stores[1:]:
        before[store] = {"rows": job.counts.get("chunks", 0)}
        after[store] = {"rows": 0}
    return {
        "subject": {
            "receipt_id": job.receipt_id,
            "job_id": job.job_id,
            "tenant": job.tenant,
            "kind": job.kind,
            "selector": job.selector,
            "asked_at": job.asked_at.isoformat(),
            "finished_at": finished_at,
        },
        "counts": {
            "before": before,
            "after": after,
            "ids": len(work.needles.ids),
            "ids_digest": hmac.new(key.secret, ids, "sha256").hexdigest(),
        },
        "search": {
            "stores": list(stores),
            "ids": len(work.needles.ids),
            "names": len(work.needles.names),
            "samples": len(work.needles.samples),
            "found": 0,
        },
        "stays": {"needs_recompute": list(work.recompute), "of_others": work.others},
    }


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _mark_key(key_file: KeyFile) -> MarkKey:
    secret = key_file.read()
    if secret is None:
        raise InvalidRequest(
            f"{key_file.path} is missing; copy the key of this ledger's tombstones there, or name "
            "it with forget.tombstone_key_file"
        )
    return MarkKey(secret)


def _told(found: Sequence[Finding]) -> str:
    return "; ".join(f"{one.store}, {one.place}: {one.rows:,} rows left" for one in found)
