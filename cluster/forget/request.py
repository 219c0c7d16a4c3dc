"""One wish to forget: what it means, and carrying it out in one transaction of the ledger.

When `forget` has returned and the transaction is committed nothing can be found any more. The
rest (both indexes, the search for what is left, the receipt) is the job that it leaves behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from cluster.errors import InvalidRequest, NotFound
from cluster.forget.key_files import KeyFile
from cluster.forget.lineage import decide_fate
from cluster.forget.marks import (
    MarkKey,
    owner_mark,
    selector_mark,
    selector_tombstones,
    tombstones_of,
)
from cluster.forget.naming import needles_of, sentences_of
from cluster.ids import content_id, sha256_hex
from cluster.kill_points import reached
from cluster.stores.checks import storable
from cluster.stores.protocols import Ledger, Transaction
from cluster.stores.protocols.forgetting import ForgetJob, Holding, Needles, Selector

AT_ONCE = 500
"""Documents whose revisions are in memory at a time."""

IDS_A_PART = 5000
"""Chunk ids of one sealed part of a job's work."""

MAX_OWNERS = 32
"""Whose rows the indexes are asked for by words, too."""

SINGLE = ("item", "document")
"""What must be there; of an owner, a source or a session there may be nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """`owner`: whose rows may go; `None` for those of the whole tenant. What was made of them alone
    goes with them. What belongs to others stays, and is no longer said to be made of them."""

    tenant: str
    selector: Selector
    owner: str | None = None

    def __post_init__(self) -> None:
        if not self.selector.value.strip() or not storable(self.selector.value):
            raise InvalidRequest(f"forget {self.selector.kind}: name what shall be forgotten")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`named` are the documents that are meant, `derived` those that go with them, `recompute`
    those that stay on other support. All are document ids, in order. `others`: how many documents
    that are not the asking owner's were made of these, stay, and may tell of them."""

    named: tuple[str, ...]
    derived: tuple[str, ...]
    recompute: tuple[str, ...]
    others: int = 0

    @property
    def documents(self) -> tuple[str, ...]:
        return (*self.named, *self.derived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a dry run tells. `shown` names the first documents."""

    plan: Plan
    revisions: int
    chunks: int
    tombstones: int
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the job has to look for until all of it is gone."""

    selector: Selector
    owner: str | None
    owners: tuple[str, ...]
    chunk_ids: tuple[str, ...]
    vector_keys: tuple[str, ...]
    run_ids: tuple[str, ...]
    recompute: tuple[str, ...]
    others: int
    needles: Needles


async def plan_of(tx: Transaction, wish: Wish) -> Plan:
    """`NotFound` when an item or a document is not there, or not for this owner."""
    named = await tx.forgetting.matching(wish.tenant, wish.selector, owner=wish.owner)
    if not named and wish.selector.kind in SINGLE:
        raise NotFound(
            f"no {wish.selector.kind} of that name in tenant {wish.tenant!r}; "
            "`palimpsest search --json` and GET /v1/documents tell ids"
        )
    affected = await _affected(tx, wish, named) if named else []
    if not affected:
        others = await _of_others(tx, wish, named)
        return Plan(named=tuple(named), derived=(), recompute=(), others=others)
    supports = await tx.forgetting.supports(wish.tenant, affected)
    fate = decide_fate(named, affected, supports)
    return Plan(
        named=tuple(named),
        derived=fate.dropped,
        recompute=fate.recompute,
        others=await _of_others(tx, wish, [*named, *fate.dropped]),
    )


async def preview(tx: Transaction, wish: Wish, *, shown: int = 20) -> Preview:
    """Changes nothing."""
    plan = await plan_of(tx, wish)
    revisions = chunks = 0
    contents: set[str] = set()
    named: list[str] = []
    for part in _parts(plan.documents):
        for one in await tx.forgetting.holdings(wish.tenant, part):
            revisions += 1
            chunks += len(one.vector_keys)
            contents.add(sha256_hex(one.text) if one.text else "")
            if len(named) < shown and one.state != "deleted":
                named.append(f"{one.document_id}  {one.title or one.path}  ({one.origin})")
    places = 0 if wish.selector.kind == "item" else len(plan.named)
    return Preview(
        plan=plan,
        revisions=revisions,
        chunks=chunks,
        tombstones=len(contents - {""}) + places,
        shown=tuple(named),
    )


async def look(ledger: Ledger, wish: Wish) -> Preview:
    """`preview` in a transaction of its own."""
    async with ledger.transaction() as tx:
        return await preview(tx, wish)


async def forget(tx: Transaction, wish: Wish, *, key_file: KeyFile, now: datetime) -> ForgetJob:
    """Bury, erase and leave a job. Asked again, while nothing new matches, it returns the job
    that there is."""
    key = MarkKey(key_file.make())
    await tx.forgetting.lock(wish.tenant)
    selector = selector_mark(key, wish.tenant, wish.selector, owner=wish.owner)
    former = await tx.forget_jobs.latest(wish.tenant, selector)
    try:
        plan = await plan_of(tx, wish)
    except NotFound:
        if former is None:
            raise
        return former
    done = former is not None and former.lifted_at is None and not plan.documents
    if former is not None and done and not await _told_of(tx, wish):
        return former
    return await _carry_out(tx, wish, plan, key, selector=selector, now=now)


async def _told_of(tx: Transaction, wish: Wish) -> bool:
    """Whether usage tells of an owner who has no documents (any more)."""
    selector = wish.selector
    return selector.kind == "owner" and await tx.usage.tells_of(wish.tenant, selector.value)


async def commit(ledger: Ledger, wish: Wish, *, key_file: KeyFile, now: datetime) -> ForgetJob:
    """`forget` in a transaction of its own."""
    async with ledger.transaction() as tx:
        job = await forget(tx, wish, key_file=key_file, now=now)
    reached("forget.committed")
    return job


async def lift(ledger: Ledger, tenant: str, receipt_id: str, *, now: datetime) -> int:
    """Let what one receipt keeps away come back; how many tombstones went."""
    async with ledger.transaction() as tx:
        lifted = await tx.forgetting.lift(tenant, receipt_id, now=now)
    reached("forget.lifted")
    return lifted


async def _carry_out(
    tx: Transaction, wish: Wish, plan: Plan, key: MarkKey, *, selector: str, now: datetime
) -> ForgetJob:
    job_id = content_id("fgt", selector, now.isoformat(), uuid.uuid4().hex)
    receipt_id = content_id("rcp", job_id)
    stones = selector_tombstones(key, wish.tenant, wish.selector, owner=wish.owner, now=now)
    await tx.forgetting.bury(wish.tenant, receipt_id, stones, now=now)
    holdings: list[Holding] = []  # of all documents, so without their texts
    places = frozenset(plan.named if wish.selector.kind != "item" else ())
    counts: dict[str, int] = {}
    for part in _parts(sorted(plan.documents)):  # locked in this order, as everybody does
        held = await tx.forgetting.holdings(wish.tenant, part)
        stones = tombstones_of(key, wish.tenant, held, places=places)
        await tx.forgetting.bury(wish.tenant, receipt_id, stones, now=now)
        _count(counts, await tx.forgetting.erase(wish.tenant, part))
        holdings.extend(replace(one, text="\n".join(sentences_of(one.text))) for one in held)
    if plan.recompute:
        former = await tx.forgetting.erase_former(wish.tenant, plan.recompute)
        _count(counts, {"revisions": former})
    work = _work(wish, plan, holdings)
    supports = [*plan.documents, *sorted({one.origin for one in holdings})]
    for part in _parts(supports):
        _count(counts, {"lineage": await tx.forgetting.detach(wish.tenant, part)})
    scrubbed = await tx.forgetting.scrub(
        wish.tenant, work.needles, selector=wish.selector, run_ids=work.run_ids
    )
    _count(counts, scrubbed)
    job = ForgetJob(
        job_id=job_id,
        receipt_id=receipt_id,
        tenant=wish.tenant,
        kind=wish.selector.kind,
        selector=selector,
        state="draining",
        counts=counts,
        asked_at=now,
        waits_for="the indexes",
        asked_by=None if wish.owner is None else owner_mark(key, wish.tenant, wish.owner),
    )
    await tx.forget_jobs.add(job, seal(key, work))
    return job


def seal(key: MarkKey, work: Work) -> list[bytes]:
    """Parts of bounded size: the first tells the wish, the others ids and keys."""
    needles = work.needles
    head = {
        "selector": asdict(work.selector),
        "owner": work.owner,
        "owners": work.owners,
        "run_ids": work.run_ids,
        "recompute": work.recompute,
        "others": work.others,
        "samples": needles.samples,
    }
    parts: list[dict[str, Any]] = [head]
    for name, values in (
        ("chunk_ids", work.chunk_ids),
        ("vector_keys", work.vector_keys),
        ("ids", needles.ids),
        ("names", needles.names),
    ):
        for start in range(0, len(values), IDS_A_PART):
            more = {name: values[start : start + IDS_A_PART]}
            parts.append(more)
    return [key.seal(part) for part in parts]


def unseal(key: MarkKey, sealed: Sequence[bytes]) -> Work:
    """`InvalidRequest` when it was sealed with another key."""
    head, *rest = (key.unseal(one) for one in sealed)

    def joined(name: str) -> tuple[str, ...]:
        return tuple(value for part in rest for value in part.get(name, ()))

    return Work(
        selector=Selector(**head["selector"]),
        owner=head["owner"],
        owners=tuple(head["owners"]),
        chunk_ids=joined("chunk_ids"),
        vector_keys=joined("vector_keys"),
        run_ids=tuple(head["run_ids"]),
        recompute=tuple(head["recompute"]),
        others=head.get("others", 0),
        needles=Needles(ids=joined("ids"), names=joined("names"), samples=tuple(head["samples"])),
    )


async def _affected(tx: Transaction, wish: Wish, named: Sequence[str]) -> list[str]:
    """Everything that was made of these, or of what was made of them, as far as it may go."""
    found: set[str] = set()
    frontier = list(named)
    while frontier:
        more: set[str] = set()
        for part in _parts(frontier):
            more.update(await tx.forgetting.derived(wish.tenant, part, owner=wish.owner))
        frontier = sorted(more - found - set(named))
        found.update(frontier)
    return sorted(found)


async def _of_others(tx: Transaction, wish: Wish, gone: Sequence[str]) -> int:
    """How many documents that the wish does not reach were made of what goes."""
    if wish.owner is None:
        return 0
    found: set[str] = set()
    for part in _parts(gone):
        every = await tx.forgetting.derived(wish.tenant, part, owner=None)
        own = await tx.forgetting.derived(wish.tenant, part, owner=wish.owner)
        found.update(set(every) - set(own))
    return len(found - set(gone))


def _work(wish: Wish, plan: Plan, holdings: Sequence[Holding]) -> Work:
    return Work(
        selector=wish.selector,
        owner=wish.owner,
        owners=tuple(sorted({one.owner for one in holdings if one.owner})[:MAX_OWNERS]),
        chunk_ids=tuple(sorted({each for one in holdings for each in one.chunk_ids})),
        vector_keys=tuple(sorted({each for one in holdings for each in one.vector_keys})),
        run_ids=tuple(sorted({one.run_id for one in holdings})),
        recompute=plan.recompute,
        others=plan.others,
        needles=needles_of(holdings),
    )


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), AT_ONCE):
        yield list(ids[start : start + AT_ONCE])


def _count(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count


def may_see(job: ForgetJob, *, owner: str | None, key_file: KeyFile) -> bool:
    """Whoever has no owner sees all jobs of the tenant, an owner what was asked with its keys."""
    if owner is None:
        return True
    secret = key_file.read()
    return secret is not None and job.asked_by == owner_mark(MarkKey(secret), job.tenant, owner)


def job_view(job: ForgetJob) -> dict[str, Any]:
    """As it is told over HTTP and by the command line."""
    moments = {"asked_at": job.asked_at, "finished_at": job.finished_at, "lifted_at": job.lifted_at}
    return {
        "job_id": job.job_id,
        "receipt_id": job.receipt_id,
        "tenant": job.tenant,
        "kind": job.kind,
        "state": job.state,
        "counts": dict(job.counts),
        "waits_for": job.waits_for,
        **{name: at.isoformat() if at else None for name, at in moments.items()},
    }
