"""Forgetting in the reference ledger: selection, erasure, tombstones, jobs, receipts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from cluster.errors import InvalidRequest, NotFound
from cluster.forget.key_files import KeyFile
from cluster.forget.marks import MarkKey, marks_of_owner
from cluster.forget.naming import WHOSE, emptied, is_upload, names_it, scrubbed, upload_meant
from cluster.forget.refusal import NO_KEY, OTHER_KEY, Buried, decide_refusals, marks_of
from cluster.ids import sha256_hex, vector_key
from cluster.model import Revision
from cluster.stores.checks import require
from cluster.stores.memory.state import HeldRevision, HeldTombstone, State
from cluster.stores.memory.usage_erasure import UsageErasure
from cluster.stores.protocols.forgetting import (
    Finding,
    ForgetJob,
    Holding,
    JobState,
    Needles,
    Selector,
    Support,
    Tombstone,
)

STORE = "memory"
LIVE = ("pending", "visible")


class MemoryForgetting:
    def __init__(self, state: State, key_file: KeyFile | None) -> None:
        self._state = state
        self._key_file = key_file

    async def lock(self, tenant: str) -> None:
        """Transactions run one after another anyway."""

    async def owners_forgotten(
        self, owners: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], datetime]:
        """Of these (tenant, owner) the forgotten ones, and when that was last. `InvalidRequest`
        when there are tombstones and no key to read them with."""
        closed = {held.tenant for held in self._state.tombstones.values()}
        asked = [one for one in owners if one[0] in closed]
        if not asked:
            return {}
        key = self._known_key()
        marks = {mark: one for one in asked for mark in marks_of_owner(key, *one)}
        found: dict[tuple[str, str], datetime] = {}
        for (mark, _), held in self._state.tombstones.items():
            if mark in marks:
                at = held.stone.buried_at
                found[marks[mark]] = max(at, found.get(marks[mark], at))
        return found

    async def matching(self, tenant: str, selector: Selector, *, owner: str | None) -> list[str]:
        return sorted(
            {
                one.revision.document_id
                for one in self._of(tenant)
                if owner in (None, one.revision.owner) and _meant(one, selector)
            }
        )

    async def holdings(self, tenant: str, document_ids: Sequence[str]) -> list[Holding]:
        asked = set(require(document_ids, "document ids"))
        found = [one for one in self._of(tenant) if one.revision.document_id in asked]
        return sorted(map(_holding, found), key=lambda one: one.revision_id)

    async def derived(
        self, tenant: str, document_ids: Sequence[str], *, owner: str | None
    ) -> list[str]:
        named = set(require(document_ids, "document ids"))
        asked = named | {
            one.revision.origin for one in self._of(tenant) if one.revision.document_id in named
        }
        return sorted(
            {
                one.revision.document_id
                for one in self._of(tenant)
                if asked.intersection(one.revision.derived_from)
                and owner in (None, one.revision.owner)
            }
        )

    async def supports(self, tenant: str, document_ids: Sequence[str]) -> list[Support]:
        asked = set(require(document_ids, "document ids"))
        pairs = {
            (one.revision.document_id, support)
            for one in self._of(tenant)
            if one.revision.document_id in asked
            for support in one.revision.derived_from
        }
        return [
            Support(document_id=document, support=support, alive=self._alive(tenant, support))
            for document, support in sorted(pairs)
        ]

    async def erase(self, tenant: str, document_ids: Sequence[str]) -> dict[str, int]:
        asked = set(require(document_ids, "document ids"))
        gone = [one for one in self._of(tenant) if one.revision.document_id in asked]
        counts = self._erase(gone)
        return {**counts, "documents": len({one.revision.document_id for one in gone})}

    async def erase_former(self, tenant: str, document_ids: Sequence[str]) -> int:
        asked = set(require(document_ids, "document ids"))
        former = [
            one
            for one in self._of(tenant)
            if one.revision.document_id in asked and one.state not in LIVE
        ]
        self._erase(former)
        return len(former)

    async def detach(self, tenant: str, supports: Sequence[str]) -> int:
        asked = set(require(supports, "supports"))
        asked -= {one.revision.origin for one in self._of(tenant) if one.state in LIVE}
        dropped = 0
        for held in self._of(tenant):
            kept = tuple(one for one in held.revision.derived_from if one not in asked)
            dropped += len(set(held.revision.derived_from)) - len(set(kept))
            revision = replace(held.revision, derived_from=kept)
            self._state.revisions[revision.revision_id] = replace(held, revision=revision)
        return dropped

    async def scrub(
        self,
        tenant: str,
        needles: Needles,
        *,
        selector: Selector,
        run_ids: Sequence[str],
        uploads: bool = True,
    ) -> dict[str, int]:
        names = frozenset((*needles.names, *needles.ids))
        dropped = self._scrub_uploads(tenant, names, selector) if uploads else []
        problems = self._scrub_problems(tenant, names, needles)
        only = {*run_ids, *dropped} - {one.revision.run_id for one in self._of(tenant)}
        changed = 0
        for run in [one for one in self._state.runs.values() if one.tenant == tenant]:
            if run.run_id in only and is_upload(run.arguments):
                clean = emptied(run.arguments, selector)
            else:
                clean = scrubbed(run.arguments, needles, names, selector)
            error = run.error
            if error and names_it(error, names, needles.samples):
                error = None
            changed += (clean, error) != (run.arguments, run.error)
            self._state.runs[run.run_id] = replace(run, arguments=clean, error=error)
        usage = UsageErasure(self._state).scrub(tenant, needles, names, selector)
        return {"uploads": len(dropped), "run_problems": problems, "runs": changed, **usage}

    async def drop_vectors(self, vector_keys: Sequence[str]) -> int:
        needed = {key for one in self._state.revisions.values() for key in _vector_keys(one)}
        unneeded = set(vector_keys) - needed
        gone = [one for one in self._state.vectors if one[0] in unneeded]
        for one in gone:
            del self._state.vectors[one]
        return len(gone)

    async def bury(
        self, tenant: str, receipt_id: str, tombstones: Sequence[Tombstone], *, now: datetime
    ) -> None:
        if self._key_file is None:
            raise InvalidRequest(NO_KEY)
        key = MarkKey(self._key_file.make())
        self._check(key)
        for one in tombstones:
            stone = Buried(receipt_id=receipt_id, buried_at=now, before=one.before)
            held = HeldTombstone(tenant=tenant, key_id=key.key_id, stone=stone)
            self._state.tombstones.setdefault((one.mark, receipt_id), held)

    async def lift(self, tenant: str, receipt_id: str, *, now: datetime) -> int:
        jobs = self._state.forget_jobs
        for job, work in list(jobs.values()):
            if (job.tenant, job.receipt_id) == (tenant, receipt_id):
                jobs[job.job_id] = (replace(job, lifted_at=job.lifted_at or now), work)
                break
        else:
            raise NotFound(f"no receipt {receipt_id!r}")
        gone = [one for one in self._state.tombstones if one[1] == receipt_id]
        for one in gone:
            del self._state.tombstones[one]
        return len(gone)

    async def refused(self, revisions: Sequence[Revision]) -> dict[str, str]:
        closed = {held.tenant for held in self._state.tombstones.values()}
        asked = [one for one in require(revisions, "revisions") if one.tenant in closed]
        if not asked:
            return {}
        key = self._known_key()
        buried: dict[str, list[Buried]] = {}
        for (mark, _), held in self._state.tombstones.items():
            buried.setdefault(mark, []).append(held.stone)
        for stones in buried.values():
            stones.sort(key=lambda stone: stone.receipt_id)
            stones.sort(key=lambda stone: stone.buried_at, reverse=True)
        return decide_refusals(
            {one.revision_id: marks_of(key, one) for one in asked},
            asked,
            buried=buried,
            started={run.run_id: run.started_at for run in self._state.runs.values()},
            said=frozenset(
                (one.revision.document_id, sha256_hex(one.revision.text))
                for one in self._state.alive()
            ),
        )

    async def owed(self, chunk_ids: Sequence[str]) -> int:
        asked = set(require(chunk_ids, "chunk ids"))
        return sum(chunk in asked for chunk, _ in self._state.outbox)

    async def residue(self, tenant: str, needles: Needles) -> list[Finding]:
        state = self._state
        ids, names = set(needles.ids), {*needles.names, *needles.ids}
        runs = [one for one in state.runs.values() if one.tenant == tenant]

        def told(texts: Iterable[str]) -> bool:
            return any(names_it(text, names, needles.samples) for text in texts)

        places = {
            "documents": [bool(ids.intersection(_ids_of(one))) for one in state.revisions.values()],
            "outbox": [chunk in ids for chunk, _ in state.outbox],
            "usage_counts": [chunk in ids for chunk, _ in state.usage_counts],
            "usage_events": [
                one.event.chunk_id in ids or told([one.event.artifact])
                for one in state.usage_events.values()
                if one.tenant == tenant
            ],
            "lineage": [told(one.revision.derived_from) for one in self._of(tenant)],
            "runs": [told([*_said(run.arguments), run.error or ""]) for run in runs],
            "run_problems": [
                told((one.origin, one.reason))
                for run in runs
                for one in state.problems.get(run.run_id, {}).values()
            ],
            "uploads": [
                told((one.name, *_said(one.arguments), one.content.decode("utf-8", "replace")))
                for one in state.uploads.values()
                if one.tenant == tenant
            ],
        }
        return [
            Finding(store=STORE, place=place, rows=sum(hits))
            for place, hits in places.items()
            if any(hits)
        ]

    def _of(self, tenant: str) -> list[HeldRevision]:
        return [one for one in self._state.revisions.values() if one.revision.tenant == tenant]

    def _alive(self, tenant: str, support: str) -> tuple[str, ...]:
        live = (one.revision for one in self._of(tenant) if one.state in LIVE)
        return tuple(
            sorted({one.document_id for one in live if support in (one.document_id, one.origin)})
        )

    def _erase(self, gone: Sequence[HeldRevision]) -> dict[str, int]:
        state = self._state
        chunks = sorted(chunk.chunk_id for held in gone for chunk in held.chunks)
        keys = sorted({key for held in gone for key in _vector_keys(held)})
        for chunk_id in chunks:
            state.owe(chunk_id, "delete")
        usage = UsageErasure(state).erase(chunks)
        state.note_changed(gone)
        for held in gone:
            del state.revisions[held.revision.revision_id]
        for chunk_id in chunks:
            del state.versions[chunk_id], state.revision_of_chunk[chunk_id]
        needed = {key for one in state.revisions.values() for key in _vector_keys(one)}
        vectors = [one for one in state.vectors if one[0] in set(keys) - needed]
        for one in vectors:
            del state.vectors[one]
        return {
            "revisions": len(gone),
            "chunks": len(chunks),
            **usage,
            "lineage": sum(len(set(held.revision.derived_from)) for held in gone),
            "embeddings": len(vectors),
        }

    def _scrub_uploads(self, tenant: str, names: frozenset[str], selector: Selector) -> list[str]:
        meant = [
            run_id
            for run_id, one in self._state.uploads.items()
            if one.tenant == tenant
            and upload_meant(name=one.name, arguments=one.arguments, names=names, selector=selector)
        ]
        for run_id in meant:
            del self._state.uploads[run_id]
            run = self._state.runs.get(run_id)
            if run is not None and run.state in ("queued", "running"):
                self._state.runs[run_id] = replace(
                    run,
                    state="failed",
                    finished_at=self._state.clock.now(),
                    error="forgotten before it was ingested",
                )
        return meant

    def _scrub_problems(self, tenant: str, names: frozenset[str], needles: Needles) -> int:
        dropped = 0
        for run in self._state.runs.values():
            if run.tenant != tenant:
                continue
            held = self._state.problems.get(run.run_id, {})
            kept = {
                key: one
                for key, one in held.items()
                if not names_it(f"{one.origin}\n{one.reason}", names, needles.samples)
            }
            dropped += len(held) - len(kept)
            if len(kept) < len(held):
                self._state.problems[run.run_id] = kept
        return dropped

    def _known_key(self) -> MarkKey:
        secret = self._key_file.read() if self._key_file else None
        if secret is None:
            raise InvalidRequest(NO_KEY)
        key = MarkKey(secret)
        self._check(key)
        return key

    def _check(self, key: MarkKey) -> None:
        if any(held.key_id != key.key_id for held in self._state.tombstones.values()):
            raise InvalidRequest(OTHER_KEY)


class MemoryForgetJobs:
    def __init__(self, state: State) -> None:
        self._state = state

    async def add(self, job: ForgetJob, work: Sequence[bytes]) -> None:
        self._state.forget_jobs[job.job_id] = (job, tuple(work))
        self._state.awake = True

    async def get(self, tenant: str, job_id: str) -> ForgetJob:
        held = self._state.forget_jobs.get(job_id)
        if held is None or held[0].tenant != tenant:
            raise NotFound(f"no forget job {job_id!r}")
        return held[0]

    async def of_receipt(self, tenant: str, receipt_id: str) -> ForgetJob:
        for job, _ in self._state.forget_jobs.values():
            if (job.tenant, job.receipt_id) == (tenant, receipt_id):
                return job
        raise NotFound(f"no receipt {receipt_id!r}")

    async def latest(self, tenant: str, selector: str) -> ForgetJob | None:
        jobs = [
            job
            for job, _ in self._state.forget_jobs.values()
            if (job.tenant, job.selector) == (tenant, selector)
        ]
        return max(jobs, key=lambda job: job.asked_at, default=None)

    async def unfinished(self) -> list[ForgetJob]:
        jobs = [job for job, _ in self._state.forget_jobs.values() if job.state != "finished"]
        return sorted(jobs, key=lambda job: (job.asked_at, job.job_id))

    async def work(self, job_id: str) -> list[bytes]:
        held = self._state.forget_jobs.get(job_id)
        return list(held[1]) if held else []

    async def progress(self, job_id: str, *, state: JobState, waits_for: str) -> None:
        job, work = self._state.forget_jobs[job_id]
        if job.state != "finished":
            changed = replace(job, state=state, waits_for=waits_for)
            self._state.forget_jobs[job_id] = (changed, work)

    async def finish(self, job_id: str, *, body: str, now: datetime) -> bool:
        job, _ = self._state.forget_jobs[job_id]
        if job.state == "finished":
            return False
        done = replace(job, state="finished", waits_for="", finished_at=now)
        self._state.forget_jobs[job_id] = (done, ())
        self._state.receipts[job.receipt_id] = (job.tenant, body)
        return True

    async def receipt(self, tenant: str, receipt_id: str) -> str:
        held = self._state.receipts.get(receipt_id)
        if held is None or held[0] != tenant:
            raise NotFound(f"no receipt {receipt_id!r}")
        return held[1]


def _said(arguments: Mapping[str, str]) -> Iterable[str]:
    return (value for key, value in arguments.items() if key not in WHOSE)


def _meant(held: HeldRevision, selector: Selector) -> bool:
    revision, value = held.revision, selector.value
    turn = revision.turn
    chunks = (chunk.chunk_id for chunk in held.chunks)
    return {
        "item": value in (revision.document_id, revision.origin, *chunks),
        "document": value == revision.document_id,
        "source": value == revision.source,
        "owner": value == revision.owner,
        "session": turn is not None and value == turn.session,
        "conversation": turn is not None and value == turn.conversation,
    }[selector.kind]


def _holding(held: HeldRevision) -> Holding:
    revision = held.revision
    return Holding(
        revision_id=revision.revision_id,
        document_id=revision.document_id,
        owner=revision.owner,
        source=revision.source,
        path=revision.path,
        origin=revision.origin,
        title=revision.metadata.title,
        state=held.state,
        run_id=revision.run_id,
        text=revision.text,
        turn=revision.turn,
        chunk_ids=tuple(chunk.chunk_id for chunk in held.chunks),
        vector_keys=tuple(key for key in _vector_keys(held)),
    )


def _vector_keys(held: HeldRevision) -> Iterable[str]:
    language = held.revision.metadata.language
    return (vector_key(language, chunk.indexed_text) for chunk in held.chunks)


def _ids_of(held: HeldRevision) -> tuple[str, ...]:
    chunks = (chunk.chunk_id for chunk in held.chunks)
    return (held.revision.revision_id, held.revision.document_id, *chunks)
