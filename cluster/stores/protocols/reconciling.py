"""What the ledger tells to those who compare an index with it, or make one anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from cluster.stores.drift import DriftReport, LedgerRow
from cluster.stores.protocols.outbox import EVERYWHERE


class Comparable(Protocol):
    """What both indexes have in common for a comparison; see `VectorIndex`, `TextIndex`."""

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]: ...

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]: ...


@runtime_checkable
class CountsCopies(Protocol):
    """An index that could hold two rows under one id says so; others cannot hold them."""

    async def copies(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """How many rows are stored under each of these ids, found by searches or not; ids
        without any are absent."""
        ...


class Reconciling(Protocol):
    """The wanted rows are the chunks of pending and visible revisions."""

    async def page(self, *, after: str, limit: int) -> list[tuple[str, int]]:
        """`(chunk_id, row version)` of wanted rows in the order of ids (by code point), behind
        `after` (empty: from the start)."""
        ...

    async def states(
        self, chunk_ids: Sequence[str], *, target: str = EVERYWHERE
    ) -> dict[str, LedgerRow]:
        """What the ledger says of each of these ids, also of those it never knew. `target`: the
        generation whose own open entries count as well. Entries that were set aside do not."""
        ...

    async def count(self) -> int:
        """How many rows are wanted."""
        ...

    async def without_vector(
        self, *, after: str, limit: int, fingerprint: str | None = None
    ) -> list[str]:
        """Ids of wanted rows whose vector is not in the ledger, in order, behind `after`. The
        vector of `fingerprint`, by default of the encoder that the revision was put for."""
        ...

    async def newest_version(self) -> int:
        """No row version given so far is higher."""
        ...

    async def outgrow(self, version: int) -> None:
        """From now on give row versions above `version`, so that a row that an index holds in
        it loses against the next write. Versions over 2**52 are not outgrown."""
        ...

    async def owed_until(self, version: int) -> int:
        """How many open outbox entries carry this version or a lower one; set aside ones do not
        count."""
        ...

    async def record(self, report: DriftReport) -> None:
        """Keep it as the latest. A store may keep former ones too, a hundred in all at most."""
        ...

    async def latest(self) -> DriftReport | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """A rebuild that is not finished. The work of `owed` of `total` rows was queued, up to the
    chunk id `owed_to` (empty: none yet); `refills` are the stores that began empty."""

    rebuild_id: int
    refills: tuple[str, ...]
    started_at: datetime
    owed_to: str
    owed: int
    total: int


class Rebuilds(Protocol):
    """At most one is open."""

    async def begin(self, *, refills: Sequence[str], total: int, now: datetime) -> Rebuild:
        """Start one. One that is open already goes on instead; from the first row again when
        `refills` names stores that begin empty now."""
        ...

    async def unfinished(self) -> Rebuild | None: ...

    async def advance(self, rebuild_id: int, *, owed_to: str, owed: int) -> None: ...

    async def finish(self, rebuild_id: int, *, now: datetime) -> None: ...
