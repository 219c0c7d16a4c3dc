"""Owed index work of the reference ledger."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cluster.ids import vector_key
from cluster.model import IndexRow, Vector
from cluster.stores.checks import printable, require, require_limit, require_target
from cluster.stores.fields import stored_fields
from cluster.stores.memory.state import HeldEntry, State
from cluster.stores.protocols import EVERYWHERE, Failure, IndexWork, OutboxEntry, SetAside
from cluster.stores.slots import slot_of

Lane = tuple[bool, str]
"""Whether it is owed to single generations, and if not, the tenant."""


class MemoryOutbox:
    def __init__(self, state: State) -> None:
        self._state = state

    async def take(
        self,
        *,
        limit: int,
        targets: Collection[str] | None = None,
        now: datetime | None = None,
        slots: Collection[int] | None = None,
    ) -> list[OutboxEntry]:
        lanes: dict[Lane, list[OutboxEntry]] = {}
        for held in sorted(self._state.outbox.values(), key=lambda one: one.entry.entry_id):
            target = held.entry.target
            wanted = target == EVERYWHERE or targets is None or target in targets
            here = slots is None or slot_of(held.entry.chunk_id) in slots
            if wanted and here and _ready(held, now=now):
                lanes.setdefault(_lane(held), []).append(held.entry)
        turns = [
            (turn, entry.entry_id, entry)
            for lane in lanes.values()
            for turn, entry in enumerate(lane)
        ]
        return [entry for _, _, entry in sorted(turns, key=lambda one: one[:2])][
            : require_limit(limit)
        ]

    async def wake(self) -> None:
        self._state.awake = True

    async def owe(self, chunk_ids: Sequence[str], *, target: str) -> None:
        require_target(target)
        asked = sorted(set(require(chunk_ids, "chunk ids")))
        generation = self._state.generations.get(target)
        if generation is not None and generation.state == "gone":
            return
        for chunk_id in asked:
            version = next(self._state.numbers)
            self._state.queue(chunk_id, "upsert", version=version, target=target)

    async def drop_target(self, target: str) -> int:
        require_target(target)
        gone = [place for place in self._state.outbox if place[1] == target]
        for place in gone:
            del self._state.outbox[place]
        return len(gone)

    async def work(
        self, chunk_ids: Sequence[str], *, fingerprints: Collection[str] | None = None
    ) -> list[IndexWork]:
        asked = require(chunk_ids, "chunk ids")
        return [self._work(chunk_id, fingerprints) for chunk_id in asked]

    async def done(self, entries: Sequence[OutboxEntry]) -> None:
        for taken in require(entries, "entries"):
            if self._unchanged(taken):
                del self._state.outbox[taken.chunk_id, taken.target]
                self._state.done_entries += 1

    async def failed(self, failures: Sequence[Failure], *, now: datetime) -> None:
        for failure in require(failures, "failures"):
            if held := self._unchanged(failure.entry):
                place = held.entry.chunk_id, held.entry.target
                self._state.outbox[place] = replace(
                    held,
                    entry=replace(held.entry, attempts=held.entry.attempts + 1),
                    reason=printable(failure.reason),
                    not_before=failure.not_before,
                    set_aside_at=now if failure.not_before is None else None,
                )

    async def set_aside(self, *, limit: int, tenant: str | None = None) -> list[SetAside]:
        aside = [(held.set_aside_at, held) for held in self._aside(tenant) if held.set_aside_at]
        aside.sort(key=lambda pair: (pair[0], pair[1].entry.entry_id))
        return [self._told(held, since) for since, held in aside][: require_limit(limit)]

    async def retry(
        self, chunk_ids: Sequence[str] | None = None, *, tenant: str | None = None
    ) -> int:
        wanted = None if chunk_ids is None else set(require(chunk_ids, "chunk ids"))
        opened = [
            held for held in self._aside(tenant) if wanted is None or held.entry.chunk_id in wanted
        ]
        for held in opened:
            place = held.entry.chunk_id, held.entry.target
            entry = replace(held.entry, attempts=0)
            self._state.outbox[place] = replace(
                held, entry=entry, reason="", not_before=None, set_aside_at=None
            )
        self._state.awake = True
        return len(opened)

    async def lag(self) -> tuple[int, timedelta]:
        since = [one.since for one in self._state.outbox.values() if one.set_aside_at is None]
        if not since:
            return 0, timedelta(0)
        return len(since), self._state.clock.now() - min(since)

    async def done_total(self) -> int:
        return self._state.done_entries

    async def aside(self, tenant: str | None = None) -> int:
        return len(self._aside(tenant))

    def _aside(self, tenant: str | None) -> list[HeldEntry]:
        return [
            held
            for held in self._state.outbox.values()
            if held.set_aside_at is not None and tenant in (None, held.tenant)
        ]

    def _told(self, held: HeldEntry, since: datetime) -> SetAside:
        state = self._state
        revision = held.revision_id
        if held.entry.target != EVERYWHERE:
            revision = state.revision_of_chunk.get(held.entry.chunk_id)
        owner = state.revisions.get(revision or "")
        return SetAside(
            chunk_id=held.entry.chunk_id,
            target=held.entry.target,
            tenant=held.tenant,
            attempts=held.entry.attempts,
            reason=held.reason,
            since=since,
            document_id=owner.revision.document_id if owner else None,
            revision_id=owner.revision.revision_id if owner else None,
            path=owner.revision.path if owner else None,
            revision_state=owner.state if owner else None,
        )

    def _unchanged(self, taken: OutboxEntry) -> HeldEntry | None:
        """The entry as it is held, if its version is still the one that was taken."""
        held = self._state.outbox.get((taken.chunk_id, taken.target))
        if held is None:
            return None
        now_and_then = (held.entry.entry_id, held.entry.version), (taken.entry_id, taken.version)
        return held if now_and_then[0] == now_and_then[1] else None

    def _work(self, chunk_id: str, fingerprints: Collection[str] | None) -> IndexWork:
        state = self._state
        held = state.revisions.get(state.revision_of_chunk.get(chunk_id, ""))
        if held is None or held.state not in ("pending", "visible"):
            return IndexWork(chunk_id=chunk_id, row=None, indexed_text="", language="", vectors={})
        text = next(one.indexed_text for one in held.chunks if one.chunk_id == chunk_id)
        language = held.revision.metadata.language
        return IndexWork(
            chunk_id=chunk_id,
            row=IndexRow(
                chunk_id=chunk_id,
                version=state.versions[chunk_id],
                fields=stored_fields(held.revision, newest_edition=held.newest_edition),
            ),
            indexed_text=text,
            language=language,
            vectors=self._vectors(vector_key(language, text), fingerprints),
        )

    def _vectors(self, key: str, fingerprints: Collection[str] | None) -> Mapping[str, Vector]:
        held = self._state.vectors
        known = {one for _, one in held} if fingerprints is None else fingerprints
        return {one: held[key, one].vector for one in sorted(known) if (key, one) in held}


def _ready(held: HeldEntry, *, now: datetime | None) -> bool:
    rests = now is not None and held.not_before is not None and held.not_before > now
    return held.set_aside_at is None and not rests


def _lane(held: HeldEntry) -> Lane:
    everywhere = held.entry.target == EVERYWHERE
    return not everywhere, held.tenant if everywhere else ""
