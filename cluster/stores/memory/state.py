"""What the reference ledger holds: dictionaries of frozen values, copied to roll back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import count
from typing import Literal

from cluster.clock import Clock
from cluster.forget.refusal import Buried
from cluster.model import (
    ApiKey,
    Chunk,
    ItemProblem,
    Revision,
    RevisionState,
    Run,
    Scope,
    Vector,
)
from cluster.stores.drift import DriftReport
from cluster.stores.protocols import EVERYWHERE, ForgetJob, HeldGeneration, OutboxEntry
from cluster.stores.protocols.reconciling import Rebuild
from cluster.stores.succession import LiveRevision
from cluster.stores.usage_rules import HeldEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRevision:
    """`chunks` in the order of their ordinals; empty once deleted."""

    revision: Revision
    chunks: tuple[Chunk, ...]
    state: RevisionState
    newest_edition: bool
    put_order: int
    recorded_at: datetime
    ended_at: datetime | None = None
    bands: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def in_scope(self, scope: Scope) -> bool:
        owner = self.revision.owner
        return self.revision.tenant == scope.tenant and (owner is None or owner == scope.owner)

    @property
    def place(self) -> tuple[str, str | None, str, str]:
        """Where this edition was read, and for whom."""
        return (
            self.revision.tenant,
            self.revision.owner,
            self.revision.origin,
            self.revision.edition,
        )

    @property
    def changed_at(self) -> datetime:
        return max(self.recorded_at, self.ended_at or self.recorded_at)

    @property
    def moment(self) -> datetime | None:
        said = self.revision.turn.said_at if self.revision.turn else None
        meta = self.revision.metadata
        return said or meta.updated_at or meta.published_at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldVector:
    """`tokens` are the packed token vectors of the same text."""

    vector: Vector
    tokens: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEntry:
    """`since`: when it was first owed; being owed anew keeps it and its number."""

    entry: OutboxEntry
    tenant: str
    revision_id: str | None
    since: datetime
    reason: str = ""
    not_before: datetime | None = None
    set_aside_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUpload:
    tenant: str
    name: str
    media_type: str | None
    content: bytes
    arguments: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTombstone:
    tenant: str
    key_id: str
    stone: Buried


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUsage:
    tenant: str
    owner: str | None
    event: HeldEvent


@dataclass(slots=True, kw_only=True)
class State:
    clock: Clock
    revisions: dict[str, HeldRevision] = field(default_factory=dict)
    revision_of_chunk: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    vectors: dict[tuple[str, str], HeldVector] = field(default_factory=dict)
    outbox: dict[tuple[str, str], HeldEntry] = field(default_factory=dict)
    """By chunk id and target."""

    done_entries: int = 0
    runs: dict[str, Run] = field(default_factory=dict)
    problems: dict[str, dict[tuple[str, str], ItemProblem]] = field(default_factory=dict)
    uploads: dict[str, HeldUpload] = field(default_factory=dict)
    keys: dict[str, tuple[ApiKey, str]] = field(default_factory=dict)
    generations: dict[str, HeldGeneration] = field(default_factory=dict)
    forget_jobs: dict[str, tuple[ForgetJob, tuple[bytes, ...]]] = field(default_factory=dict)
    receipts: dict[str, tuple[str, str]] = field(default_factory=dict)
    tombstones: dict[tuple[str, str], HeldTombstone] = field(default_factory=dict)
    usage_counts: dict[tuple[str, str], int] = field(default_factory=dict)
    """By chunk id and owner (empty: none)."""

    usage_events: dict[str, HeldUsage] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)
    """By tenant."""

    rebuild: Rebuild | None = None
    reconciled: DriftReport | None = None
    # Numbers are never given twice, also when the transaction that took one is rolled back.
    numbers: count[int] = field(default_factory=lambda: count(1))
    awake: bool = False

    def twin(self) -> State:
        twin = copy(self)
        for one in fields(self):
            held = getattr(self, one.name)
            if isinstance(held, dict):
                setattr(twin, one.name, dict(held))
        return twin

    def alive(self) -> Iterable[HeldRevision]:
        return (one for one in self.revisions.values() if one.state in ("pending", "visible"))

    def visible(self, scope: Scope) -> list[HeldRevision]:
        return [
            one for one in self.revisions.values() if one.state == "visible" and one.in_scope(scope)
        ]

    def live(self, documents: set[str]) -> list[LiveRevision]:
        return [
            LiveRevision(
                revision_id=one.revision.revision_id,
                document_id=one.revision.document_id,
                tenant=one.revision.tenant,
                owner=one.revision.owner,
                origin=one.revision.origin,
                edition=one.revision.edition,
                edition_key=one.revision.edition_key,
                state="pending" if one.state == "pending" else "visible",
                put_order=one.put_order,
                newest_edition=one.newest_edition,
            )
            for one in self.alive()
            if one.revision.document_id in documents
        ]

    def note_write(self, tenant: str) -> None:
        self.writes[tenant] = self.writes.get(tenant, 0) + 1

    def note_changed(self, revisions: Iterable[HeldRevision]) -> None:
        for tenant in {one.revision.tenant for one in revisions}:
            self.note_write(tenant)

    def owe(self, chunk_id: str, operation: Literal["upsert", "delete"]) -> None:
        """Give the chunk's row its next version and queue it; an open entry keeps its place."""
        version = next(self.numbers)
        if chunk_id in self.versions:
            self.versions[chunk_id] = version
        self.queue(chunk_id, operation, version=version, target=EVERYWHERE)

    def queue(
        self, chunk_id: str, operation: Literal["upsert", "delete"], *, version: int, target: str
    ) -> None:
        held = self.outbox.get((chunk_id, target))
        revision = self.revisions.get(self.revision_of_chunk.get(chunk_id, ""))
        entry = OutboxEntry(
            entry_id=held.entry.entry_id if held else next(self.numbers),
            chunk_id=chunk_id,
            version=version,
            operation=operation,
            target=target,
        )
        self.outbox[chunk_id, target] = HeldEntry(
            entry=entry,
            tenant=revision.revision.tenant if revision else "",
            revision_id=revision.revision.revision_id if revision else None,
            since=held.since if held else self.clock.now(),
        )
        self.awake = True

    def owing(self) -> set[str]:
        """The chunks that are owed to all indexes."""
        return {chunk_id for chunk_id, target in self.outbox if target == EVERYWHERE}
