"""Nearest neighbours in batches are those of one whole search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reembedding import House, document, hashing

from cluster.model import Scope
from cluster.models.hashing import HashingEmbedder
from cluster.stores.memory.collections import MemoryCollections
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.protocols import VectorIndex
from lifecycle.recall import TOP, Nearest, Stored, reached_share, recall_at_10

WORDS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=4).map(" ".join)
OWNERS = st.sampled_from([None, "ann", "bob"])
TENANTS = st.sampled_from(["acme", "globex"])


@given(
    st.lists(st.tuples(TENANTS, OWNERS, WORDS), min_size=1, max_size=40),
    st.lists(st.tuples(TENANTS, OWNERS, WORDS), min_size=1, max_size=3),
    st.integers(1, 7),
)
def test_batches_change_nothing(
    rows: list[tuple[str, str | None, str]],
    asked: list[tuple[str, str | None, str]],
    size: int,
) -> None:
    embed = HashingEmbedder(16).embed_queries
    questions = embed([text for _, _, text in asked], languages=["en"] * len(asked))
    scopes = [Scope(tenant=tenant, owner=owner) for tenant, owner, _ in asked]
    nearest = Nearest(list(questions), scopes=scopes)
    vectors = embed([text for _, _, text in rows], languages=["en"] * len(rows))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        nearest.see(
            Stored(
                tenants=[tenant for tenant, _, _ in part],
                owners=[owner for _, owner, _ in part],
                vectors=vectors[start : start + size],
            )
        )
    for at, scope in enumerate(scopes):
        cosines = [
            float(questions[at] @ vectors[row])
            for row, (tenant, owner, _) in enumerate(rows)
            if tenant == scope.tenant and owner in (None, scope.owner)
        ]
        expected = sorted(cosines, reverse=True)[:TOP]
        assert nearest.scores(at) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("found", "exact", "share"),
    [
        ([], [], 1.0),
        ([0.9, 0.8], [0.9, 0.8], 1.0),
        ([0.9, 0.8, 0.8], [0.9, 0.8], 1.0),
        ([0.9, 0.79996], [0.9, 0.8], 1.0),
        ([0.9, 0.7], [0.9, 0.8], 0.5),
        ([0.9], [0.9, 0.8, 0.7, 0.6], 0.25),
        ([], [0.5], 0.0),
    ],
)
def test_what_was_reached(found: list[float], exact: list[float], share: float) -> None:
    assert reached_share(found, exact=exact) == share


class Forgetful(MemoryVectorIndex):
    """Finds the nearest one only."""

    async def search(self, *asked: object, **how: object) -> list[tuple[str, float]]:
        return (await super().search(*asked, **how))[:1]  # type: ignore[arg-type]


async def test_an_index_that_finds_less_has_less_recall() -> None:
    generation = hashing(32)
    house = House(MemoryLedger(), MemoryCollections())
    await house.activate(generation)
    assert await _recall(house, generation.fingerprint, MemoryVectorIndex(32)) == 1.0
    async with house.indexing():
        batch = [document(number, fingerprint=generation.fingerprint) for number in range(20)]
        await house.put(*batch)
        await house.shown(*batch)
    index = await house.collections.open(generation)
    assert await _recall(house, generation.fingerprint, index) == 1.0
    poor = Forgetful(32)
    poor.__dict__.update(index.__dict__)
    assert await _recall(house, generation.fingerprint, poor) == pytest.approx(0.1)


async def _recall(house: House, fingerprint: str, index: VectorIndex) -> float:
    return await recall_at_10(house.ledger, index, fingerprint=fingerprint, samples=15)


def test_the_best_stay_when_nothing_is_in_scope() -> None:
    nearest = Nearest([np.full(4, 0.5, dtype=np.float32)], scopes=[Scope(tenant="acme")])
    vectors = np.eye(4, dtype=np.float32)
    nearest.see(Stored(tenants=["globex"] * 4, owners=[None] * 4, vectors=vectors))
    assert nearest.scores(0) == []
