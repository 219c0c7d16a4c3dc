"""The vector indexes of generations in memory, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cluster.model import Generation
from cluster.stores.memory.vector_index import MemoryVectorIndex


@dataclass(slots=True)
class MemoryCollections:
    """`cluster.stores.protocols.Collections`; `by_fingerprint` is what is there."""

    by_fingerprint: dict[str, MemoryVectorIndex] = field(default_factory=dict)
    active: str | None = None

    async def open(self, generation: Generation) -> MemoryVectorIndex:
        """The same one each time: closing it loses nothing."""
        return self.by_fingerprint.setdefault(
            generation.fingerprint, MemoryVectorIndex(generation.dim)
        )

    async def point(self, generation: Generation) -> None:
        self.active = generation.fingerprint

    async def drop(self, generations: Sequence[Generation]) -> int:
        gone = [self.by_fingerprint.pop(one.fingerprint, None) for one in generations]
        return sum(one is not None for one in gone)
