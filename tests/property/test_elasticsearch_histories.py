"""Random histories and random filters: Elasticsearch answers as the reference does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.filters import Filter
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.memory.text_index import MemoryTextIndex
from contract.text_histories import FILTERS, STEPS, run, same_answers
from contract.text_index import scanned
from servers.elasticsearch_index import new_settings, removed

pytestmark = pytest.mark.stores

VERSIONS = itertools.count(1)
Index = tuple[asyncio.Runner, ElasticsearchTextIndex]


@pytest.fixture(scope="module")
def index(elasticsearch_url: str) -> Iterator[Index]:
    """One for all examples, each of which takes away the rows of the one before."""
    chosen = new_settings(elasticsearch_url)
    with asyncio.Runner() as runner:
        index = runner.run(ElasticsearchTextIndex.open(chosen))
        yield runner, index
        runner.run(index.close())
        runner.run(removed(chosen))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS, where=st.lists(FILTERS, min_size=1, max_size=8), limit=st.integers(1, 8))
def test_same_history_same_answers(
    index: Index, steps: list[tuple[Any, ...]], where: list[Filter], limit: int
) -> None:
    runner, real = index
    runner.run(compare(real, [growing(step) for step in steps], where, limit))


async def compare(
    real: ElasticsearchTextIndex, steps: list[tuple[Any, ...]], where: list[Filter], limit: int
) -> None:
    reference = MemoryTextIndex()
    if left_over := list(await scanned(real)):
        await real.delete(left_over)
    await run(reference, steps)
    await run(real, steps)
    assert await scanned(real) == await scanned(reference)
    await same_answers(reference, real, where, limit=limit)


def growing(step: tuple[Any, ...]) -> tuple[Any, ...]:
    """With versions as the ledger gives them: each higher than all before."""
    if isinstance(step[0], str):
        return step
    return tuple(replace(held, row=replace(held.row, version=next(VERSIONS))) for held in step)
