"""The same random history on the reference, Milvus Lite and a Milvus server: the same answers."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from cluster.filters import Filter
from cluster.model import FieldValue, Generation, Scope
from cluster.settings import MilvusSettings
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.protocols import VectorIndex
from contract.filter_strategies import filters, stored_rows
from contract.milvus_lite import milvus_lite
from contract.vector_index import DIM, row, row_with, vector

pytestmark = pytest.mark.stores

NAMES = [f"c{n}" for n in range(12)]
Answer = TypeVar("Answer")


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module", params=["lite", "server"])
def milvus(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    runner: asyncio.Runner,
) -> Iterator[MilvusVectorIndex]:
    with ExitStack() as running:
        if request.param == "lite":
            folder: Path = tmp_path_factory.mktemp("milvus")
            uri = running.enter_context(milvus_lite(folder)).uri
        else:
            uri = request.getfixturevalue("milvus_uri")
        of = Generation(fingerprint=f"congruence-{uuid.uuid4().hex}", dim=DIM, recipe={})
        opening = MilvusVectorIndex.open(uri, token=None, generation=of, settings=MilvusSettings())
        index = runner.run(opening)
        yield index
        runner.run(index.close())


async def settled(index: VectorIndex, reference: VectorIndex, names: Sequence[str]) -> None:
    """Returns when searches of `index` read what the reference holds; a server needs a moment."""
    wanted = await reference.versions(names)
    until = time.monotonic() + 10
    while await index.versions(names) != wanted:
        assert time.monotonic() < until, "the index does not become what the reference is"
        await asyncio.sleep(0.02)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_filters_find_the_same_rows(
    milvus: MilvusVectorIndex, runner: asyncio.Runner, data: st.DataObject
) -> None:
    tenant = uuid.uuid4().hex
    where = data.draw(filters)
    fields = data.draw(st.lists(stored_rows(near=where), min_size=1, max_size=6))
    rows = [row_with(f"{tenant}-{n}", tenant, held, seed=n) for n, held in enumerate(fields)]

    reference = MemoryVectorIndex(DIM)

    async def found(index: VectorIndex) -> set[str]:
        await index.upsert(rows)
        await settled(index, reference, [one.row.chunk_id for one in rows])
        hits = await index.search(vector(0), scope=Scope(tenant=tenant), where=where, limit=50)
        return {name for name, _ in hits}

    expected = runner.run(found(reference))
    assert runner.run(found(milvus)) == expected


class Histories(RuleBasedStateMachine):
    """The test below names the index and what runs it."""

    milvus: ClassVar[MilvusVectorIndex]
    runner: ClassVar[asyncio.Runner]

    def __init__(self) -> None:
        super().__init__()
        self.tenant = uuid.uuid4().hex
        self.reference = MemoryVectorIndex(DIM)

    def both(self, call: Callable[[VectorIndex], Awaitable[Answer]]) -> tuple[Answer, Answer]:
        async def one_after_the_other() -> tuple[Answer, Answer]:
            return await call(self.milvus), await call(self.reference)

        return self.runner.run(one_after_the_other())

    def write(self, call: Callable[[VectorIndex], Awaitable[None]]) -> None:
        self.both(call)
        names = [self.name(short) for short in NAMES]
        self.runner.run(settled(self.milvus, self.reference, names))

    def name(self, short: str) -> str:
        return f"{self.tenant}-{short}"

    @rule(
        names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=6),
        seed=st.integers(0, 30),
        version=st.integers(0, 2**62),
        owner=st.sampled_from([None, "ada", "bob"]),
        product=st.sampled_from([None, "x", 'y"\\']),
    )
    def upsert(
        self, names: list[str], seed: int, version: int, owner: FieldValue, product: FieldValue
    ) -> None:
        rows = [
            row(
                self.name(short),
                self.tenant,
                seed=seed + n,
                version=version,
                owner=owner,
                product=product,
            )
            for n, short in enumerate(names)
        ]
        self.write(lambda index: index.upsert(rows))

    @rule(names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
    def delete(self, names: list[str]) -> None:
        self.write(lambda index: index.delete([self.name(short) for short in names]))

    @rule()
    def flush(self) -> None:
        self.both(lambda index: index.flush())

    @rule(
        seed=st.integers(0, 40),
        owner=st.sampled_from([None, "ada"]),
        where=st.none() | filters,
    )
    def search(self, seed: int, owner: str | None, where: Filter | None) -> None:
        scope = Scope(tenant=self.tenant, owner=owner)
        one, other = self.both(
            lambda index: index.search(vector(seed), scope=scope, where=where, limit=20)
        )
        assert {name for name, _ in one} == {name for name, _ in other}
        assert dict(one) == pytest.approx(dict(other), abs=1e-4)
        ranks = {name: n for n, (name, _) in enumerate(other)}
        scores = dict(other)
        for (first, _), (second, _) in itertools.pairwise(one):
            assert ranks[first] < ranks[second] or scores[second] - scores[first] < 1e-4

    @invariant()
    def same_versions(self) -> None:
        names = [self.name(short) for short in NAMES]
        one, other = self.both(lambda index: index.versions(names))
        assert one == other


def test_random_histories_end_alike(
    milvus: MilvusVectorIndex, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> None:
    on_server = "server" in request.node.callspec.id
    Histories.milvus, Histories.runner = milvus, runner
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=5 if on_server else 12,  # there each write takes a while to be seen
            stateful_step_count=14,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
