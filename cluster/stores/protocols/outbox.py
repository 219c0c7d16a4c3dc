"""Index work that is owed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

from cluster.model import (
    IndexRow,
    Vector,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """Index work that is owed: bring both indexes to the ledger's state of `chunk_id`."""

    entry_id: int
    chunk_id: str
    version: int
    operation: Literal["upsert", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexWork:
    """The ledger's present state of a chunk: a row to write, or `None` when it must be gone."""

    chunk_id: str
    row: IndexRow | None
    indexed_text: str
    language: str
    vector: Vector | None


class Outbox(Protocol):
    async def take(self, *, limit: int) -> list[OutboxEntry]:
        """The oldest open entries, without removing them."""
        ...

    async def work(self, chunk_ids: Sequence[str]) -> list[IndexWork]:
        """The present state of these chunks, as both indexes should have it."""
        ...

    async def done(self, entries: Sequence[OutboxEntry]) -> None:
        """Remove entries whose version is still the one that was taken."""
        ...

    async def lag(self) -> tuple[int, timedelta]:
        """Open entries, and the age of the oldest."""
        ...
