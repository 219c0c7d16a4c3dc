"""What both indexes must do: vectors and terms, written by the indexer alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.filters import Filter
from cluster.model import (
    IndexRow,
    Scope,
    Vector,
)
from cluster.text.terms import QueryTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRow:
    row: IndexRow
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """`terms` in the order of the text, repeats kept (`cluster.text.terms.document_terms`)."""

    row: IndexRow
    terms: tuple[str, ...]


class VectorIndex(Protocol):
    """Nearest-neighbour search over chunk vectors of one encoder generation."""

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Write rows by chunk id; a repeated id replaces, the last of a batch wins.

        Searches may read what was before for a moment longer; `versions` says until when. A
        row that is being replaced is never absent.

        Raises `StoreRejected` for a wrong dimension, NaN, infinity or a norm off 1 by more
        than 0.01, naming the chunk; then nothing of the call was written.
        """
        ...

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        """Forget these ids, for searches a moment later. An unknown id is not an error."""
        ...

    async def search(
        self, vector: Vector, *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        """The `limit` nearest `(chunk_id, cosine)` inside `filters.scoped(scope, where)`;
        best first, ties by chunk id."""
        ...

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Row versions of those ids that a search can find at this moment."""
        ...

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Every `(chunk_id, version)` in batches, in no particular order."""
        ...

    async def flush(self) -> None:
        """Make bulk writes durable; call after bulk work, never per row."""
        ...

    async def close(self) -> None: ...


class TextIndex(Protocol):
    """BM25 over our own terms (`cluster.text.terms`)."""

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        """Write rows by chunk id; a repeated id replaces, the last of a batch wins.
        Searchable when the call returns."""
        ...

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        """Forget these ids. An unknown id is not an error. Effective when the call returns."""
        ...

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        """The `limit` best `(chunk_id, score)` with at least one of `terms`, inside
        `filters.scoped(scope, where)`; score = sum of weight x BM25(term), k1 1.2, b 0.75;
        best first, ties by chunk id. No terms: `InvalidRequest`."""
        ...

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Row versions of those ids that a search can find at this moment."""
        ...

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Every `(chunk_id, version)` in batches, in no particular order."""
        ...

    async def close(self) -> None: ...
