"""Every filter operator x every store x hostile values: the meaning is that of `matches`."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import InvalidFilter
from cluster.filters import (
    MAX_VALUES,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Range,
    matches,
    parse_filter,
    scoped,
)
from cluster.model import FieldValue, Generation, IndexRow, Scope
from cluster.settings import MilvusSettings, PostgresSettings
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.fields import matchable_fields, stored_fields
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared, TextIndex, TextRow, VectorIndex, VectorRow
from cluster.stores.tantivy.index import TantivyTextIndex
from cluster.text.terms import QueryTerm
from contract.filter_table import HOSTILE, documents, table
from contract.milvus_lite import milvus_lite
from contract.samples import show
from servers.elasticsearch_index import new_settings, removed

pytestmark = pytest.mark.stores

DIM = 8
TENANT = f"table-{uuid.uuid4().hex}"
SCOPE = Scope(tenant=TENANT)
WORD = (QueryTerm(term="word", weight=1.0, surface="word"),)
LIMIT = 1000

Found = Callable[[Filter], Awaitable[set[str]]]
"""The names of the rows that a store finds."""


class Table:
    """The documents and what `matches` says of them."""

    def __init__(self) -> None:
        self.batch = documents(TENANT)
        newest = {one.revision.document_id: "" for one in self.batch}
        for one in self.batch:
            held = newest[one.revision.document_id]
            newest[one.revision.document_id] = max(held, one.revision.edition_key)
        self.newest = {
            one.revision.revision_id: one.revision.edition_key == newest[one.revision.document_id]
            for one in self.batch
        }

    def expected(self, where: Filter) -> set[str]:
        asked = scoped(SCOPE, where)
        return {
            one.revision.revision_id
            for one in self.batch
            if matches(asked, matchable_fields(one.revision, newest_edition=self.flag(one)))
        }

    def rows(self) -> list[IndexRow]:
        return [
            IndexRow(chunk_id=one.revision.revision_id, version=1, fields=self.stored(one))
            for one in self.batch
        ]

    def stored(self, one: Prepared) -> Mapping[str, FieldValue]:
        return stored_fields(one.revision, newest_edition=self.flag(one))

    def flag(self, one: Prepared) -> bool:
        return self.newest[one.revision.revision_id]


@asynccontextmanager
async def of_ledger(ledger: Ledger) -> AsyncIterator[Found]:
    await show(ledger, *Table().batch)

    async def found(where: Filter) -> set[str]:
        async with ledger.transaction() as tx:
            page, _ = await tx.documents.page(SCOPE, where=where, after=None, limit=LIMIT)
        return {one.revision_id for one in page}

    yield found
    await ledger.close()


@asynccontextmanager
async def of_vectors(index: VectorIndex) -> AsyncIterator[Found]:
    vector = np.eye(1, DIM, dtype=np.float32)[0]
    rows = [VectorRow(row=row, vector=vector) for row in Table().rows()]
    await index.upsert(rows)
    until = time.monotonic() + 10
    while len(await index.versions([row.row.chunk_id for row in rows])) < len(rows):
        assert time.monotonic() < until

    async def found(where: Filter) -> set[str]:
        hits = await index.search(vector, scope=SCOPE, where=where, limit=LIMIT)
        return {name for name, _ in hits}

    yield found
    await index.close()


@asynccontextmanager
async def of_terms(index: TextIndex) -> AsyncIterator[Found]:
    await index.upsert([TextRow(row=row, terms=("word",)) for row in Table().rows()])

    async def found(where: Filter) -> set[str]:
        hits = await index.search(WORD, scope=SCOPE, where=where, limit=LIMIT)
        return {name for name, _ in hits}

    yield found
    await index.close()


@asynccontextmanager
async def of_milvus(uri: str) -> AsyncIterator[Found]:
    generation = Generation(fingerprint=f"table-{uuid.uuid4().hex}", dim=DIM, recipe={})
    settings = MilvusSettings()
    index = await MilvusVectorIndex.open(uri, token=None, generation=generation, settings=settings)
    async with of_vectors(index) as found:
        yield found


@asynccontextmanager
async def opened(store: str, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Found]:
    """The one place that knows how each store is opened."""
    match store:
        case "memory ledger":
            source = of_ledger(MemoryLedger())
        case "postgres" | "oldest postgres":
            name = "database_url" if store == "postgres" else "oldest_database_url"
            url = request.getfixturevalue(name)
            source = of_ledger(await PostgresLedger.open(url, PostgresSettings()))
        case "memory vectors":
            source = of_vectors(MemoryVectorIndex(DIM))
        case "milvus server":
            source = of_milvus(request.getfixturevalue("milvus_uri"))
        case "memory terms":
            source = of_terms(MemoryTextIndex())
        case "tantivy":
            source = of_terms(TantivyTextIndex.open(folder, writer_heap_mb=16))
        case _:
            raise AssertionError(store)
    async with source as found:
        yield found


STORES = (
    "memory ledger",
    "postgres",
    "oldest postgres",
    "memory vectors",
    "milvus server",
    "memory terms",
    "tantivy",
)


@cache
def answers() -> tuple[tuple[str, Filter, set[str]], ...]:
    """(operator, filter, what `matches` finds); each operator parts the rows at least once."""
    whole = Table()
    found = tuple((operator, where, whole.expected(where)) for operator, where in table())
    parting = {operator for operator, _, names in found if 0 < len(names) < len(whole.batch)}
    assert parting == {operator for operator, _, _ in found}
    return found


async def check(found: Found) -> None:
    for operator, where, expected in answers():
        assert await found(where) == expected, (operator, where)


@pytest.mark.parametrize("store", STORES)
async def test_every_operator_means_the_same(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with opened(store, request, tmp_path) as found:
        await check(found)


async def test_every_operator_means_the_same_on_milvus_lite(tmp_path: Path) -> None:
    with milvus_lite(tmp_path) as server:
        async with of_milvus(server.uri) as found:
            await check(found)


async def test_every_operator_means_the_same_on_elasticsearch(elasticsearch_url: str) -> None:
    settings = new_settings(elasticsearch_url)
    try:
        async with of_terms(await ElasticsearchTextIndex.open(settings)) as found:
            await check(found)
    finally:
        await removed(settings)


def test_an_empty_value_or_list_is_an_error_before_any_store() -> None:
    wrongs: tuple[Callable[[], object], ...] = (
        lambda: Eq("author", ""),
        lambda: In("author", ()),
        lambda: In("author", ("a", "")),
        lambda: Range("author"),
        lambda: AllOf(()),
        lambda: AnyOf(()),
        lambda: In("author", ("a",) * (MAX_VALUES + 1)),
        lambda: parse_filter({"author": []}),
        lambda: parse_filter({}),
    )
    for wrong in wrongs:
        with pytest.raises(InvalidFilter):
            wrong()
    assert len(set(HOSTILE)) == len(HOSTILE)
