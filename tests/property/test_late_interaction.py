"""Late interaction on any token vectors: bounds, order of the pool, windows never take away."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from passages import passages_of

from cluster.model import EncodedQuery, Metadata, Scope
from rerank.late_interaction import highest_cosines, means, rank_by_tokens, z_scores
from rerank.reranker import USUAL_RERANK, Asked, Pooled
from rerank.turns import Neighbours, in_windows

DIM = 4
ROWS = arrays(
    np.float32, st.tuples(st.integers(1, 6), st.just(DIM)), elements=st.floats(-1, 1, width=32)
)
COUNTS = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def unit(rows: np.ndarray) -> np.ndarray:
    rows = rows + np.eye(DIM, dtype=np.float32)[np.arange(len(rows)) % DIM] * np.float32(1e-2)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6))


def tokens(counts: list[int], seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(sum(counts), DIM)).astype(np.float32))


@given(ROWS, COUNTS, st.integers(0, 1000))
def test_each_cosine_is_the_highest_of_its_passage(
    question: np.ndarray, counts: list[int], seed: int
) -> None:
    question, rows = unit(question), tokens(counts, seed)
    found = highest_cosines(question, rows, counts)
    ends = np.cumsum(counts)
    for at, (count, end) in enumerate(zip(counts, ends, strict=True)):
        own = rows[end - count : end]
        if count:
            assert np.allclose(found[at], (own @ question.T).max(axis=0), atol=1e-5)
        else:
            assert np.isnan(found[at]).all()
    mean = means(found)
    assert np.isnan(mean[np.array(counts) == 0]).all()
    assert (np.abs(mean[np.array(counts) > 0]) <= 1.0001).all()


@given(ROWS, COUNTS, st.integers(0, 1000))
def test_a_neighbour_never_takes_away(question: np.ndarray, counts: list[int], seed: int) -> None:
    found = highest_cosines(unit(question), tokens(counts, seed), counts)
    places = np.arange(len(counts), dtype=np.int64)
    around = Neighbours(before_previous=places - 1, previous=places - 1, next=places - 1)
    windowed = in_windows(found, around)
    known = np.isfinite(found)
    assert (windowed[known] >= found[known]).all()


@given(COUNTS, st.integers(0, 1000), st.permutations(range(6)))
def test_the_order_of_the_pool_changes_no_score(
    counts: list[int], seed: int, shuffled: list[int]
) -> None:
    rows = tokens(counts, seed)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    pool = [
        Pooled(
            passage=passages_of("x", [(0, 1)], revision=f"r{at}", metadata=Metadata())[0],
            fused=0.0,
            keyword=float(at),
            cosine=None if at % 3 == 2 else at / 10,
        )
        for at in range(len(counts))
    ]
    question = EncodedQuery(
        vector=unit(np.ones((1, DIM), dtype=np.float32))[0],
        tokens=tokens([2], seed + 1),
        spans=((0, 4), (5, 10)),
    )
    asked = Asked(
        text="blue whale", language="en", terms=(), scope=Scope(tenant="t"), plan=USUAL_RERANK
    )

    def scores(order: list[int]) -> dict[str, float]:
        parts = [rows[bounds[at] : bounds[at + 1]] for at in order]
        ranked = rank_by_tokens(
            asked,
            [pool[at] for at in order],
            question=question,
            rows=np.concatenate(parts),
            lengths=np.array([counts[at] for at in order]),
        )
        return {key: round(score, 6) for key, score in ranked.scores.items()}

    straight = list(range(len(counts)))
    other = [at for at in shuffled if at < len(counts)]
    assert np.allclose(
        [scores(straight)[each.chunk_id] for each in pool],
        [scores(other)[each.chunk_id] for each in pool],
        atol=1e-4,
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_z_scores_have_mean_0_and_spread_1_or_are_all_0(values: list[float]) -> None:
    z = z_scores(np.array(values))
    assert abs(z.mean()) < 1e-6
    assert abs(z.std() - 1.0) < 1e-6 or not z.any()
