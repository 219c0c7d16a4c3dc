"""0, 1, 100, 101, 1001, 10001 items per write, delete, listing and filter, in every store."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.errors import InvalidRequest
from cluster.filters import Filter, In, Range
from cluster.model import IndexRow, Scope
from cluster.stores.protocols import Ledger, TextIndex, TextRow, VectorIndex, VectorRow
from cluster.text.terms import QueryTerm
from contract.samples import prepared, publish, put
from contract.stores import (
    LEDGERS,
    TEXT_INDEXES,
    VECTOR_INDEXES,
    opened_ledger,
    opened_terms,
    opened_vectors,
    searchable,
)

pytestmark = [pytest.mark.stores, pytest.mark.slow]

SIZES = (1, 100, 101, 1001, 10_001)
DIM = 8
ACME = Scope(tenant="acme")
WORD = (QueryTerm(term="word", weight=1.0, surface="word"),)
NAMES = [f"c{number:05}" for number in range(SIZES[-1])]

Asked = Callable[[Filter], Coroutine[Any, Any, list[str]]]


def fields(number: int) -> dict[str, str | float]:
    return {"tenant": "acme", "path": f"p/{number}", "authority": float(number)}


def index_rows() -> list[IndexRow]:
    return [
        IndexRow(chunk_id=name, version=number + 1, fields=fields(number))
        for number, name in enumerate(NAMES)
    ]


async def check_filters(found: Asked) -> None:
    """`found` gives the names of all rows that match."""
    for size in SIZES:
        assert sorted(await found(Range("authority", lt=size))) == NAMES[:size]
    for size in SIZES[:-1]:  # 10,000 values are in the table of filters
        named = In("path", tuple(f"p/{number}" for number in range(size)))
        assert sorted(await found(named)) == NAMES[:size]


async def check_deletes(index: VectorIndex | TextIndex) -> None:
    """Each size is deleted after the smaller ones, whose ids are unknown by then."""
    for size in SIZES:
        await index.delete(NAMES[:size])
        left = [pair async for batch in index.scan() for pair in batch]
        assert dict(left) == {name: n + 1 for n, name in enumerate(NAMES) if n >= size}
        assert len(left) == len(NAMES) - size


@pytest.mark.parametrize("store", VECTOR_INDEXES)
async def test_a_vector_index_takes_any_number(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(len(NAMES), DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [
        VectorRow(row=row, vector=vector) for row, vector in zip(index_rows(), vectors, strict=True)
    ]
    async with opened_vectors(store, request, tmp_path, dim=DIM) as index:
        for start, end in zip((0, *SIZES), SIZES, strict=False):
            await index.upsert(rows[start:end])
        await searchable(index, NAMES)

        async def found(where: Filter) -> list[str]:
            hits = await index.search(vectors[0], scope=ACME, where=where, limit=16_384)
            return [name for name, _ in hits]

        await check_filters(found)
        await check_deletes(index)
        for call in (index.upsert, index.delete, index.versions):
            with pytest.raises(InvalidRequest):
                await call([])


@pytest.mark.parametrize("store", TEXT_INDEXES)
async def test_a_text_index_takes_any_number(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rows = [TextRow(row=row, terms=("word",)) for row in index_rows()]
    async with opened_terms(store, request, tmp_path) as index:
        for start, end in zip((0, *SIZES), SIZES, strict=False):
            await index.upsert(rows[start:end])
        assert await index.versions(NAMES) == {name: n + 1 for n, name in enumerate(NAMES)}

        async def found(where: Filter) -> list[str]:
            hits = await index.search(WORD, scope=ACME, where=where, limit=16_384)
            return [name for name, _ in hits]

        await check_filters(found)
        await check_deletes(index)
        for call in (index.upsert, index.delete, index.versions):
            with pytest.raises(InvalidRequest):
                await call([])


@pytest.mark.parametrize("store", [name for name in LEDGERS if name != "memory ledger"])
async def test_a_ledger_takes_any_number(store: str, request: pytest.FixtureRequest) -> None:
    batch = [
        prepared(f"p/{number}", f"text {number}", pieces=1, metadata={"authority": float(number)})
        for number in range(SIZES[-1])
    ]
    names = dict(zip((one.revision.revision_id for one in batch), NAMES, strict=True))
    async with opened_ledger(store, request) as ledger:
        for start, end in zip((0, *SIZES), SIZES, strict=False):
            assert await put(ledger, *batch[start:end]) == end - start
            assert await publish(ledger, *batch[start:end]) == end - start

        async def found(where: Filter) -> list[str]:
            return [names[one] for one in await listed(ledger, where, limit=2 * len(NAMES))]

        await check_filters(found)
        documents = [one.revision.document_id for one in batch]
        chunks = [one.chunks[0].chunk_id for one in batch]
        async with ledger.transaction() as tx:
            assert len(await tx.documents.visible(ACME, chunks)) == len(chunks)
            assert len(await tx.outbox.work(chunks)) == len(chunks)
        for before, size in zip((0, *SIZES), SIZES, strict=False):
            async with ledger.transaction() as tx:
                assert await tx.documents.delete(ACME, documents[:size]) == size - before
            assert len(await listed(ledger, None, limit=999)) == len(batch) - size


async def listed(ledger: Ledger, where: Filter | None, *, limit: int) -> list[str]:
    """Revision ids, in pages of `limit`."""
    found: list[str] = []
    after: str | None = None
    async with ledger.transaction() as tx:
        while True:
            page, after = await tx.documents.page(ACME, where=where, after=after, limit=limit)
            found += [one.revision_id for one in page]
            if after is None:
                return found
