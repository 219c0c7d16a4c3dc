"""Random histories and random filters: Tantivy answers as the reference does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.filters import FIELDS, Filter, matches
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.protocols import TextIndex, TextRow
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.text_histories import FILTERS, STEPS, rows, run, same_answers
from contract.text_index import ACME, asked, matchable, scanned

SLOW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


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
    await same_answers(reference, real, where, limit=limit)
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
