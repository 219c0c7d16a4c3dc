"""Usage of passages and the count of writes in the reference ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.checks import require, require_limit
from cluster.stores.memory.forgetting import MemoryForgetting
from cluster.stores.memory.state import HeldRevision, HeldUsage, State
from cluster.stores.protocols.usage import PassageUsage, Shown, Standing, UsageReport
from cluster.stores.usage_rules import (
    MAX_PASSAGES,
    HeldEvent,
    artifacts_of,
    check_report,
    countable,
    events_of,
    owners_of,
    said_in_time,
    usage_of,
)

KEPT = ("visible", "superseded")


class MemoryUsage:
    def __init__(self, state: State, forgetting: MemoryForgetting) -> None:
        self._state = state
        self._forgetting = forgetting

    async def add_shown(self, shown: Sequence[Shown]) -> int:
        counts = self._state.usage_counts
        touched = set()
        for one in await self._countable(require(shown, "passages")):
            held = self._kept(one.chunk_id)
            if held is not None and held.revision.tenant == one.tenant:
                place = (one.chunk_id, one.owner or "")
                counts[place] = counts.get(place, 0) + one.times
                touched.add(place)
        return len(touched)

    async def report(self, scope: Scope, report: UsageReport, *, now: datetime) -> frozenset[str]:
        check_report(report)
        forgotten = await self._forgetting.owners_forgotten(owners_of([scope]))
        if not said_in_time(scope, now, forgotten):
            return frozenset()
        seen: set[str] = set()
        changed = False
        for event in events_of(scope, report):
            held = self._kept(event.chunk_id)
            if held is None or not held.in_scope(scope):
                continue
            seen.add(event.chunk_id)
            known = self._state.usage_events.get(event.event_id)
            if known is None or known.event.kind != event.kind:
                changed = True
                self._state.usage_events[event.event_id] = HeldUsage(
                    tenant=scope.tenant,
                    owner=scope.owner,
                    event=HeldEvent(
                        chunk_id=event.chunk_id,
                        search_id=report.search_id,
                        kind=event.kind,
                        artifact=event.artifact,
                        reported_at=now,
                    ),
                )
        if changed:
            self._state.note_write(scope.tenant)
        return frozenset(seen)

    async def of_document(
        self, scope: Scope, document_id: str, *, limit: int = MAX_PASSAGES
    ) -> list[PassageUsage]:
        def asked(chunk_id: str) -> bool:
            held = self._kept(chunk_id)
            return (
                held is not None
                and held.in_scope(scope)
                and held.revision.document_id == document_id
            )

        shown: dict[str, int] = {}
        for (chunk_id, owner), times in self._state.usage_counts.items():
            if owner in ("", scope.owner) and asked(chunk_id):
                shown[chunk_id] = shown.get(chunk_id, 0) + times
        events = [one.event for one in self._seen(scope) if asked(one.event.chunk_id)]
        return usage_of(document_id, shown, events, limit=require_limit(limit))

    async def used_in(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, tuple[str, ...]]:
        most = require_limit(limit)
        by_chunk: dict[str, list[HeldEvent]] = {one: [] for one in require(chunk_ids, "chunk ids")}
        for one in self._seen(scope):
            if one.event.chunk_id in by_chunk:
                by_chunk[one.event.chunk_id].append(one.event)
        found = {chunk_id: artifacts_of(events)[:most] for chunk_id, events in by_chunk.items()}
        return {chunk_id: artifacts for chunk_id, artifacts in found.items() if artifacts}

    async def tells_of(self, tenant: str, owner: str) -> bool:
        if not owner:
            return False
        state = self._state
        counts = (self._kept(chunk) for chunk, of in state.usage_counts if of == owner)
        return any(held is not None and held.revision.tenant == tenant for held in counts) or any(
            (one.tenant, one.owner) == (tenant, owner) for one in state.usage_events.values()
        )

    async def _countable(self, shown: Sequence[Shown]) -> list[Shown]:
        try:
            return countable(shown, await self._forgetting.owners_forgotten(owners_of(shown)))
        except InvalidRequest:
            return countable(shown, None)

    def _seen(self, scope: Scope) -> Iterable[HeldUsage]:
        return (
            one
            for one in self._state.usage_events.values()
            if one.tenant == scope.tenant and one.owner in (None, scope.owner)
        )

    def _kept(self, chunk_id: str) -> HeldRevision | None:
        held = self._state.revisions.get(self._state.revision_of_chunk.get(chunk_id, ""))
        return held if held is not None and held.state in KEPT else None


class MemoryWrites:
    def __init__(self, state: State) -> None:
        self._state = state

    async def standing(self, tenant: str) -> Standing:
        return Standing(
            writes=self._state.writes.get(tenant, 0),
            settled=not any(
                one.tenant == tenant and one.set_aside_at is None
                for one in self._state.outbox.values()
            ),
            has_usage=any(one.tenant == tenant for one in self._state.usage_events.values()),
        )

    async def counts(self, tenants: Sequence[str]) -> dict[str, int]:
        return {one: self._state.writes.get(one, 0) for one in require(tenants, "tenants")}

    async def note(self, tenants: Sequence[str]) -> None:
        for tenant in require(tenants, "tenants"):
            self._state.note_write(tenant)
