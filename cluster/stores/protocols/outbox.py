"""Index work that is owed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from cluster.model import (
    IndexRow,
    Vector,
)

EVERYWHERE = ""
"""The target of an entry that is owed to the text index and to every vector index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """Index work that is owed: bring the indexes of `target` to the ledger's state of `chunk_id`.

    `target` is `EVERYWHERE`, or the fingerprint of the one generation whose vector index is
    meant. `version` is the entry's own: it changes whenever the chunk is owed anew. `attempts`:
    how often a store has refused this version of it.
    """

    entry_id: int
    chunk_id: str
    version: int
    operation: Literal["upsert", "delete"]
    target: str = EVERYWHERE
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A store refused the row of `entry`. `not_before` says when to try it again; `None` sets
    the entry aside until someone looks at it."""

    entry: OutboxEntry
    reason: str
    not_before: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """An entry that failed too often. `document_id`, `path` and `revision_state` are `None`
    where the ledger no longer knows the chunk."""

    chunk_id: str
    target: str
    tenant: str
    attempts: int
    reason: str
    since: datetime
    document_id: str | None
    revision_id: str | None
    path: str | None
    revision_state: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexWork:
    """The ledger's present state of a chunk: a row to write, or `None` when it must be gone.
    `vectors`: of its text, by the fingerprint of the encoder that made each."""

    chunk_id: str
    row: IndexRow | None
    indexed_text: str
    language: str
    vectors: Mapping[str, Vector]


class Outbox(Protocol):
    async def take(
        self,
        *,
        limit: int,
        targets: Collection[str] | None = None,
        now: datetime | None = None,
        slots: Collection[int] | None = None,
    ) -> list[OutboxEntry]:
        """Open entries, without removing them: the oldest of each tenant in turn, then the
        second of each, so that none waits for another's thousands. What is owed to single
        generations is one more turn. Of one tenant oldest first.

        `targets`: the generations whose own entries are wanted beside those owed everywhere;
        `None` is all. `now`: leave out what rests after a failure until later than that;
        `None` leaves out nothing. `slots`: only the chunks that fall into them
        (`cluster.stores.slots`); `None` is all. What is set aside is never among them. While
        more than four tenants owe, it may be fewer than `limit`, though never none.
        """
        ...

    async def wake(self) -> None:
        """Make whoever listens to `Ledger.wake_ups` look, when the transaction ends."""
        ...

    async def owe(self, chunk_ids: Sequence[str], *, target: str) -> None:
        """Owe these chunks to the vector index of one generation. The row's version stays, so
        that the other indexes are not behind. One that is gone is owed nothing. An empty
        `target` is `InvalidRequest`."""
        ...

    async def drop_target(self, target: str) -> int:
        """Owe a generation that is given up nothing more; how many entries went."""
        ...

    async def work(
        self, chunk_ids: Sequence[str], *, fingerprints: Collection[str] | None = None
    ) -> list[IndexWork]:
        """The present state of these chunks, as the indexes should have it, in the order of the
        question; with the vectors of the encoders `fingerprints` that the ledger holds (`None`:
        of all)."""
        ...

    async def done(self, entries: Sequence[OutboxEntry]) -> None:
        """Remove entries whose version is still the one that was taken."""
        ...

    async def failed(self, failures: Sequence[Failure], *, now: datetime) -> None:
        """One more attempt of each entry whose version is still the one that was taken. Being
        owed anew forgives: the new version starts with none."""
        ...

    async def set_aside(self, *, limit: int, tenant: str | None = None) -> list[SetAside]:
        """What failed too often, the longest first; of one tenant, or of all."""
        ...

    async def retry(
        self, chunk_ids: Sequence[str] | None = None, *, tenant: str | None = None
    ) -> int:
        """Open what is set aside again, with no attempts behind it: of these chunks, or all;
        how many entries."""
        ...

    async def lag(self) -> tuple[int, timedelta]:
        """Open entries, and the age of the oldest. What is set aside is not among them."""
        ...

    async def done_total(self) -> int:
        """Entries done since the ledger began to count. It only grows, but that a crash of the
        store may let it begin at 0 again, as counters of monitoring may."""
        ...

    async def aside(self, tenant: str | None = None) -> int:
        """How many entries are set aside, of one tenant or of all."""
        ...
