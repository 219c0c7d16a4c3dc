"""Every filter operator x every store x hostile values: the meaning is that of `matches`."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
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
from cluster.model import FieldValue, IndexRow, Scope
from cluster.stores.fields import matchable_fields, stored_fields
from cluster.stores.protocols import Ledger, Prepared, TextIndex, TextRow, VectorIndex, VectorRow
from cluster.text.terms import QueryTerm
from contract.filter_table import HOSTILE, documents, table
from contract.samples import show
from contract.stores import (
    LEDGERS,
    TEXT_INDEXES,
    VECTOR_INDEXES,
    opened_ledger,
    opened_terms,
    opened_vectors,
    searchable,
)

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


async def fill_ledger(ledger: Ledger) -> Found:
    await show(ledger, *Table().batch)

    async def found(where: Filter) -> set[str]:
        async with ledger.transaction() as tx:
            page, _ = await tx.documents.page(SCOPE, where=where, after=None, limit=LIMIT)
        return {one.revision_id for one in page}

    return found


async def fill_vectors(index: VectorIndex) -> Found:
    vector = np.eye(1, DIM, dtype=np.float32)[0]
    rows = [VectorRow(row=row, vector=vector) for row in Table().rows()]
    await index.upsert(rows)
    await searchable(index, [row.row.chunk_id for row in rows])

    async def found(where: Filter) -> set[str]:
        hits = await index.search(vector, scope=SCOPE, where=where, limit=LIMIT)
        return {name for name, _ in hits}

    return found


async def fill_terms(index: TextIndex) -> Found:
    await index.upsert([TextRow(row=row, terms=("word",)) for row in Table().rows()])

    async def found(where: Filter) -> set[str]:
        hits = await index.search(WORD, scope=SCOPE, where=where, limit=LIMIT)
        return {name for name, _ in hits}

    return found


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


@pytest.mark.parametrize("store", LEDGERS)
async def test_every_operator_means_the_same_in_a_ledger(
    store: str, request: pytest.FixtureRequest
) -> None:
    async with opened_ledger(store, request) as ledger:
        await check(await fill_ledger(ledger))


@pytest.mark.parametrize("store", VECTOR_INDEXES)
async def test_every_operator_means_the_same_in_a_vector_index(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with opened_vectors(store, request, tmp_path, dim=DIM) as index:
        await check(await fill_vectors(index))


@pytest.mark.parametrize("store", TEXT_INDEXES)
async def test_every_operator_means_the_same_in_a_text_index(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with opened_terms(store, request, tmp_path) as index:
        await check(await fill_terms(index))


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
