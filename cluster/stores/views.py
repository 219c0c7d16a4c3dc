"""The indexes that are views of the ledger at this moment, and must be kept up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from cluster.stores.protocols import TextIndex, VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """`reach`: the indexes that answer, the active generation's first. `away`: fingerprint -> why
    the index of another live generation cannot be opened; what it misses must be owed to it."""

    reach: Mapping[str, VectorIndex]
    away: Mapping[str, str]


class Views(Protocol):
    """One text index, and one vector index for each live encoder generation."""

    async def vector_indexes(self) -> Mapping[str, VectorIndex]:
        """Encoder fingerprint -> index of each live generation (active, building, in grace),
        the active one first. Never older than the ledger's state when called: an entry taken
        before the call is then written to every generation that was live when it was made.
        One that cannot be opened raises: for whoever has to see all."""
        ...

    async def within_reach(self) -> Within:
        """The same for whoever can go on without one that is not active. Raises when that of
        the active generation cannot be opened."""
        ...

    @property
    def text_index(self) -> TextIndex: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedViews:
    """Generations that do not change while it is used; the active one first."""

    by_fingerprint: Mapping[str, VectorIndex]
    text_index: TextIndex

    async def vector_indexes(self) -> Mapping[str, VectorIndex]:
        return self.by_fingerprint

    async def within_reach(self) -> Within:
        return Within(reach=self.by_fingerprint, away={})

    async def close(self) -> None:
        """Each is closed, also when another one's `close` fails."""
        try:
            for index in self.by_fingerprint.values():
                await index.close()
        finally:
            await self.text_index.close()
