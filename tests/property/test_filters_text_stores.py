"""Random histories and random filters: Tantivy answers as the reference does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.filters import (
    FIELDS,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    epoch_ms,
    matches,
)
from cluster.model import Scope
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.protocols import TextIndex, TextRow
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.text_index import ACME, asked, matchable, row, scanned

TEXTS = st.one_of(
    st.sampled_from(["a", "A", "ab", "b", "中", 'a"', "a\\", "*", "😀", " a"]),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4
    ),
)
MOMENTS = st.integers(-3, 3).map(
    lambda ms: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(0, 0, ms * 500)
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "path": TEXTS,
    "tags": TEXTS,
    "owner": st.sampled_from(["ann", "bob"]),
    "authority": st.one_of(st.integers(-2, 2), st.sampled_from([0.5, -0.0, 1e-300])),
    "said_at": MOMENTS,
    "newest_edition": st.booleans(),
}
NAMES = st.sampled_from(sorted(VALUES))
ORDERED = st.sampled_from(["path", "authority", "said_at"])


@st.composite
def leaves(draw: st.DrawFn) -> Filter:
    name = draw(NAMES)
    match draw(st.sampled_from(["eq", "in", "range", "missing"])):
        case "eq":
            return Eq(name, draw(VALUES[name]))
        case "in":
            return In(name, tuple(draw(st.lists(VALUES[name], min_size=1, max_size=4))))
        case "range":
            ordered = draw(ORDERED)
            low, high = draw(VALUES[ordered]), draw(st.none() | VALUES[ordered])
            return Range(ordered, low, high) if draw(st.booleans()) else Range(ordered, lt=low)
        case _:
            return Missing(name)


def branches(below: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    parts = st.lists(below, min_size=1, max_size=3).map(tuple)
    return st.one_of(parts.map(AllOf), parts.map(AnyOf), below.map(Not))


FILTERS: st.SearchStrategy[Filter] = st.recursive(leaves(), branches, max_leaves=6)
TERMS = st.lists(st.sampled_from("abcde"), max_size=8)


@st.composite
def rows(draw: st.DrawFn) -> TextRow:
    fields: dict[str, Any] = {}
    for name, values in VALUES.items():
        value = draw(st.none() | values)
        if name == "tags":
            value = tuple(draw(st.lists(values, max_size=3)))
        fields[name] = epoch_ms(value) if isinstance(value, datetime) else value
    name = f"c{draw(st.integers(0, 6))}"
    return row(name, draw(TERMS), version=draw(st.integers(1, 99)), **fields)


STEPS = st.lists(
    st.one_of(
        st.lists(rows(), min_size=1, max_size=6).map(tuple),
        st.lists(st.integers(0, 6).map(lambda n: f"c{n}"), min_size=1, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
)
SLOW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


async def run(index: TextIndex, steps: list[tuple[Any, ...]]) -> None:
    for step in steps:
        if isinstance(step[0], str):
            await index.delete(step)
        else:
            await index.upsert(step)


@SLOW
@given(steps=STEPS, where=st.lists(FILTERS, min_size=1, max_size=8), limit=st.integers(1, 8))
def test_same_history_same_answers(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Any, ...]],
    where: list[Filter],
    limit: int,
) -> None:
    asyncio.run(compare(tmp_path_factory.mktemp("text"), steps, where, limit))


async def compare(
    folder: Path, steps: list[tuple[Any, ...]], where: list[Filter], limit: int
) -> None:
    reference, real = MemoryTextIndex(), TantivyTextIndex.open(folder, writer_heap_mb=16)
    await run(reference, steps)
    await run(real, steps)
    assert await scanned(real) == await scanned(reference)
    for wall in [None, *where]:
        for scope in (ACME, Scope(tenant="acme", owner="ann")):
            expected, found = [
                dict(await index.search(asked("a", "b"), scope=scope, where=wall, limit=100))
                for index in (reference, real)
            ]
            assert found.keys() == expected.keys()
            best = await real.search(asked("a", "b"), scope=scope, where=wall, limit=limit)
            assert best == sorted(found.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]
    await real.close()


@SLOW
@given(batch=st.lists(rows(), min_size=1, max_size=7, unique_by=lambda held: held.row.chunk_id))
def test_same_scores_while_nothing_was_replaced(
    tmp_path_factory: pytest.TempPathFactory, batch: list[TextRow]
) -> None:
    """Tantivy counts deleted rows in its statistics until their segment is merged, so scores
    agree exactly for rows that were written once."""

    async def scores(index: TextIndex) -> list[dict[str, float]]:
        await index.upsert(batch)
        found = [
            dict(await index.search(asked(*terms), scope=ACME, where=None, limit=100))
            for terms in ("a", "ab", "cde")
        ]
        await index.close()
        return found

    expected = asyncio.run(scores(MemoryTextIndex()))
    real = TantivyTextIndex.open(tmp_path_factory.mktemp("text"), writer_heap_mb=16)
    for found, wanted in zip(asyncio.run(scores(real)), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-4)


@given(held=rows(), where=FILTERS)
def test_reference_filters_as_matches_says(held: TextRow, where: Filter) -> None:
    shared = replace(held, row=replace(held.row, fields={**held.row.fields, "owner": None}))
    seen = matchable(shared)
    assert seen.keys() == FIELDS.keys()

    async def found() -> bool:
        index = MemoryTextIndex()
        await index.upsert([replace(shared, terms=("word",))])
        return bool(await index.search(asked("word"), scope=ACME, where=where, limit=1))

    assert asyncio.run(found()) == matches(where, seen)
