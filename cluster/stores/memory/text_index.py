"""The reference text index: exact BM25 in memory."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from cluster.errors import InvalidRequest, StoreUnavailable
from cluster.filters import FIELDS, Filter, matches, scoped
from cluster.model import FieldValue, Scope
from cluster.stores.checks import require, require_limit
from cluster.stores.protocols import TextRow
from cluster.text.terms import QueryTerm

K1 = 1.2
B = 0.75
SCAN_BATCH = 1000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MemoryTextIndex:
    """`TextIndex` in plain dictionaries. Statistics (idf, mean length) are those of all rows of
    all tenants, and exact after deletes."""

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._fields: dict[str, Mapping[str, FieldValue | datetime]] = {}
        self._terms: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._total_length = 0
        self._closed = False

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        self._check_open()
        for row in require(rows, "rows"):
            self._forget(row.row.chunk_id)
            self._remember(row)

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        self._check_open()
        for chunk_id in require(chunk_ids, "chunk ids"):
            self._forget(chunk_id)

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        self._check_open()
        wall = scoped(scope, where)
        scores = self._scores(require(terms, "terms"))
        inside = (item for item in scores.items() if matches(wall, self._fields[item[0]]))
        return heapq.nsmallest(require_limit(limit), inside, key=lambda hit: (-hit[1], hit[0]))

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        self._check_open()
        asked = require(chunk_ids, "chunk ids")
        return {name: self._versions[name] for name in asked if name in self._versions}

    async def copies(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(await self.versions(chunk_ids), 1)

    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        self._check_open()
        rows = list(self._versions.items())
        for start in range(0, len(rows), SCAN_BATCH):
            yield rows[start : start + SCAN_BATCH]

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("text index", "it is closed")

    def _remember(self, row: TextRow) -> None:
        chunk_id = row.row.chunk_id
        self._versions[chunk_id] = row.row.version
        self._fields[chunk_id] = _matchable(row.row.fields)
        self._terms[chunk_id] = Counter(row.terms)
        self._lengths[chunk_id] = len(row.terms)
        self._total_length += len(row.terms)
        for term, count in self._terms[chunk_id].items():
            self._postings.setdefault(term, {})[chunk_id] = count

    def _forget(self, chunk_id: str) -> None:
        if self._versions.pop(chunk_id, None) is None:
            return
        del self._fields[chunk_id]
        self._total_length -= self._lengths.pop(chunk_id)
        for term in self._terms.pop(chunk_id):
            holders = self._postings[term]
            del holders[chunk_id]
            if not holders:
                del self._postings[term]

    def _scores(self, terms: Iterable[QueryTerm]) -> dict[str, float]:
        scores: dict[str, float] = {}
        mean_length = self._total_length / max(1, len(self._versions))
        for term in terms:
            holders = self._postings.get(term.term, {})
            weight = term.weight * inverse_document_frequency(len(self._versions), len(holders))
            for chunk_id, count in holders.items():
                norm = K1 * (1 - B + B * self._lengths[chunk_id] / mean_length)
                gain = weight * count * (K1 + 1) / (count + norm)
                scores[chunk_id] = scores.get(chunk_id, 0.0) + gain
        return scores


def inverse_document_frequency(rows: int, holders: int) -> float:
    """Robertson and Spärck Jones's, kept above zero: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return math.log(1 + (rows - holders + 0.5) / (holders + 0.5))


def _matchable(fields: Mapping[str, FieldValue]) -> dict[str, FieldValue | datetime]:
    """Fields of a row as `matches` reads them: whole milliseconds become moments."""
    return {name: _value(name, value) for name, value in fields.items()}


def _value(name: str, value: FieldValue) -> FieldValue | datetime:
    if FIELDS.get(name) != "moment" or value is None:
        return value
    if not isinstance(value, int):
        raise InvalidRequest(f"field {name!r}: {value!r} is not whole milliseconds")
    return _EPOCH + timedelta(milliseconds=value)
