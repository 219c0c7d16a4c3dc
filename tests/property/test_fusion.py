"""Fusion on any rankings: nothing lost or invented, order of channels irrelevant, guarded."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from cluster.model import Hit
from rerank.fusion import FusionMethod, Ranking, fuse

IDS = st.text("abcdef", min_size=1, max_size=3)
SCORES = st.floats(-1e6, 1e6, allow_nan=False)
METHODS: st.SearchStrategy[FusionMethod] = st.sampled_from(("score", "reciprocal_rank"))


def ranking(channel: str, scores: dict[str, float], weight: float = 1.0) -> Ranking:
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    hits = tuple(
        Hit(chunk_id=each, channel=channel, rank=rank, score=scores[each])
        for rank, each in enumerate(order, start=1)
    )
    return Ranking(channel=channel, hits=hits, weight=weight, tail_cut=0.7)


@st.composite
def rankings(draw: st.DrawFn) -> list[Ranking]:
    channels = draw(st.lists(st.sampled_from("wxyz"), unique=True, max_size=4))
    return [
        ranking(channel, draw(st.dictionaries(IDS, SCORES, max_size=12)), draw(st.floats(0.1, 2)))
        for channel in channels
    ]


@given(rankings(), METHODS, st.frozensets(IDS), st.randoms(use_true_random=False))
def test_the_order_of_channels_changes_nothing(
    given_rankings: list[Ranking],
    method: FusionMethod,
    foreign: frozenset[str],
    shuffle: random.Random,
) -> None:
    expected = fuse(given_rankings, method=method, other_language=foreign)
    shuffle.shuffle(given_rankings)
    assert fuse(given_rankings, method=method, other_language=foreign) == expected


@given(rankings(), METHODS)
def test_nothing_is_invented_or_lost(given_rankings: list[Ranking], method: FusionMethod) -> None:
    fused = fuse(given_rankings, method=method)
    listed = [hit for each in given_rankings for hit in each.hits]
    assert sorted(each.chunk_id for each in fused) == sorted({hit.chunk_id for hit in listed})
    assert sorted(map(repr, (hit for each in fused for hit in each.hits))) == sorted(
        map(repr, listed)
    )
    assert all(0.0 <= each.score <= 1.0 for each in fused)
    assert [each.score for each in fused] == sorted((each.score for each in fused), reverse=True)


@given(st.dictionaries(IDS, SCORES, min_size=1, max_size=12), METHODS)
def test_one_channel_alone_keeps_its_order(scores: dict[str, float], method: FusionMethod) -> None:
    only = ranking("semantic", scores)
    fused = [each.chunk_id for each in fuse([only], method=method)]
    if method == "reciprocal_rank":
        assert fused == [hit.chunk_id for hit in only.hits]
    placed = [scores[chunk_id] for chunk_id in fused]
    assert all(left >= right - 1e-3 for left, right in itertools.pairwise(placed))


@given(rankings(), METHODS, st.floats(0.1, 2))
def test_a_channel_that_agrees_keeps_the_top(
    given_rankings: list[Ranking], method: FusionMethod, weight: float
) -> None:
    before = fuse(given_rankings, method=method)
    if not before:
        return
    agreeing = ranking("agreeing", {before[0].chunk_id: 1.0}, weight)
    after = fuse([*given_rankings, agreeing], method=method)
    assert after[0].chunk_id == before[0].chunk_id or after[0].score == after[1].score


@given(
    st.integers(30, 100),
    st.lists(st.floats(0.5, 1.0), min_size=10, max_size=100),
    st.lists(st.floats(0.2, 0.5), min_size=29, max_size=60),
    METHODS,
)
def test_a_weak_channel_cannot_push_the_best_ones_top_out(
    strength: int, noise: list[float], others: list[float], method: FusionMethod
) -> None:
    """Terms match here and there, on passages that nothing else speaks for; the meaning's top
    stands out. Plain RRF would put a noise hit second, and so on down the list."""
    semantic = {"top": 0.9} | {f"s{place:03}": score for place, score in enumerate(others)}
    keyword = {f"k{place:03}": strength * score for place, score in enumerate(noise)}
    given_rankings = [
        Ranking(channel="semantic", hits=ranking("semantic", semantic).hits, weight=1.0),
        Ranking(
            channel="keyword",
            hits=ranking("keyword", keyword).hits,
            weight=0.5 if method == "score" else 0.85,
            floor=0.0,
            tail_cut=0.7,
        ),
    ]
    fused = [each.chunk_id for each in fuse(given_rankings, method=method)]
    assert fused[0] == "top"
