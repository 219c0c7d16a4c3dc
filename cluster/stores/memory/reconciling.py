"""For comparisons and rebuilds, in the reference ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count

from cluster.ids import vector_key
from cluster.model import Chunk
from cluster.stores.checks import require, require_limit
from cluster.stores.drift import MAX_OUTGROWN, DriftReport, LedgerRow, read_report
from cluster.stores.memory.state import HeldRevision, State
from cluster.stores.protocols import EVERYWHERE
from cluster.stores.protocols.reconciling import Rebuild


class MemoryReconciling:
    def __init__(self, state: State) -> None:
        self._state = state

    async def page(self, *, after: str, limit: int) -> list[tuple[str, int]]:
        behind = sorted(c.chunk_id for _, c in self._wanted() if c.chunk_id > after)
        return [(one, self._state.versions[one]) for one in behind[: require_limit(limit)]]

    async def states(
        self, chunk_ids: Sequence[str], *, target: str = EVERYWHERE
    ) -> dict[str, LedgerRow]:
        return {one: self._row(one, target) for one in require(chunk_ids, "chunk ids")}

    async def count(self) -> int:
        return sum(1 for _ in self._wanted())

    async def without_vector(
        self, *, after: str, limit: int, fingerprint: str | None = None
    ) -> list[str]:
        bare = sorted(
            chunk.chunk_id
            for held, chunk in self._wanted()
            if chunk.chunk_id > after
            and _vector(held, chunk, fingerprint) not in self._state.vectors
        )
        return bare[: require_limit(limit)]

    async def newest_version(self) -> int:
        return next(self._state.numbers)

    async def outgrow(self, version: int) -> None:
        if version <= MAX_OUTGROWN and next(self._state.numbers) <= version:
            self._state.numbers = count(version + 1)

    async def owed_until(self, version: int) -> int:
        return sum(
            held.entry.version <= version and held.set_aside_at is None
            for held in self._state.outbox.values()
        )

    async def record(self, report: DriftReport) -> None:
        self._state.reconciled = read_report(report.to_json())

    async def latest(self) -> DriftReport | None:
        return self._state.reconciled

    def _wanted(self) -> Iterable[tuple[HeldRevision, Chunk]]:
        return ((held, chunk) for held in self._state.alive() for chunk in held.chunks)

    def _row(self, chunk_id: str, target: str) -> LedgerRow:
        state = self._state
        held = state.revisions.get(state.revision_of_chunk.get(chunk_id, ""))
        alive = held is not None and held.state in ("pending", "visible")
        return LedgerRow(
            wanted=state.versions[chunk_id] if alive else None,
            owed=any(self._owed(chunk_id, one) for one in {EVERYWHERE, target}),
            changed_at=held.changed_at if held else None,
        )

    def _owed(self, chunk_id: str, target: str) -> bool:
        held = self._state.outbox.get((chunk_id, target))
        return held is not None and held.set_aside_at is None


class MemoryRebuilds:
    def __init__(self, state: State) -> None:
        self._state = state

    async def begin(self, *, refills: Sequence[str], total: int, now: datetime) -> Rebuild:
        begun = self._state.rebuild
        if begun is None:
            begun = Rebuild(
                rebuild_id=next(self._state.numbers),
                refills=tuple(sorted(refills)),
                started_at=now,
                owed_to="",
                owed=0,
                total=total,
            )
        elif refills:
            every = tuple(sorted({*begun.refills, *refills}))
            begun = replace(begun, refills=every, owed_to="", owed=0)
        self._state.rebuild = replace(begun, total=total)
        return self._state.rebuild

    async def unfinished(self) -> Rebuild | None:
        return self._state.rebuild

    async def advance(self, rebuild_id: int, *, owed_to: str, owed: int) -> None:
        begun = self._state.rebuild
        if begun is not None and begun.rebuild_id == rebuild_id:
            self._state.rebuild = replace(begun, owed_to=owed_to, owed=owed)

    async def finish(self, rebuild_id: int, *, now: datetime) -> None:
        begun = self._state.rebuild
        if begun is not None and begun.rebuild_id == rebuild_id:
            self._state.rebuild = None


def _vector(held: HeldRevision, chunk: Chunk, fingerprint: str | None) -> tuple[str, str]:
    language = held.revision.metadata.language
    of = fingerprint or held.revision.fingerprint
    return vector_key(language, chunk.indexed_text), of
