"""The reference vector index: exact cosines over everything it holds, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np

from cluster.filters import Filter, matches, scoped
from cluster.model import Scope, Vector
from cluster.stores.checks import require
from cluster.stores.protocols import VectorRow
from cluster.stores.vector_rows import check_query, latest, ranked

STORE = "memory"
SCAN_ROWS = 1000


class MemoryVectorIndex:
    """`cluster.stores.protocols.VectorIndex` whose every sentence is literally true."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._rows: dict[str, VectorRow] = {}

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        for row in latest(rows, dim=self._dim, store=STORE):
            self._rows[row.row.chunk_id] = row

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        for chunk_id in require(chunk_ids, "chunk ids"):
            self._rows.pop(chunk_id, None)

    async def search(
        self, vector: Vector, *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        check_query(vector, limit=limit, dim=self._dim, store=STORE)
        inside = scoped(scope, where)
        rows = [row for row in self._rows.values() if matches(inside, row.row.fields)]
        scored = ((row.row.chunk_id, _cosine(row.vector, vector)) for row in rows)
        return ranked(scored)[:limit]

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        asked = require(chunk_ids, "chunk ids")
        return {name: self._rows[name].row.version for name in asked if name in self._rows}

    async def copies(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        asked = require(chunk_ids, "chunk ids")
        return {name: 1 for name in asked if name in self._rows}

    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        held = [(name, row.row.version) for name, row in self._rows.items()]
        for start in range(0, len(held), SCAN_ROWS):
            yield held[start : start + SCAN_ROWS]
            await asyncio.sleep(0)

    async def flush(self) -> None:
        """Nothing to do: rows live as long as the process."""

    async def close(self) -> None:
        """Nothing to let go of."""


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))
