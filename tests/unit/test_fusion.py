"""Fusion by hand-made numbers: the formulas, the floors, the guard."""

from __future__ import annotations

import math

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Hit
from rerank.fusion import Ranking, fuse, reciprocal_rank, score_sum


def listed(channel: str, *scored: tuple[str, float]) -> tuple[Hit, ...]:
    return tuple(
        Hit(chunk_id=chunk_id, channel=channel, rank=rank, score=score)
        for rank, (chunk_id, score) in enumerate(scored, start=1)
    )


SEMANTIC = Ranking(channel="semantic", hits=listed("semantic", ("a", 0.9), ("b", 0.5)))
KEYWORD = Ranking(
    channel="keyword",
    hits=listed("keyword", ("b", 10.0), ("c", 8.0), ("d", 1.0)),
    weight=0.5,
    floor=0.0,
    tail_cut=0.7,
)


def test_ranks_count_from_one() -> None:
    assert reciprocal_rank([SEMANTIC]) == {"a": 1 / 61, "b": 1 / 62}


def test_rrf_adds_weighted_votes_and_cuts_the_tail() -> None:
    assert reciprocal_rank([SEMANTIC, KEYWORD]) == {
        "a": 1 / 61,
        "b": math.fsum([1 / 62, 0.5 / 61]),
        "c": 0.5 / 62,
        "d": 0.0,
    }


def test_a_cut_tail_is_still_listed_last() -> None:
    fused = fuse([SEMANTIC, KEYWORD], method="reciprocal_rank")
    assert [each.chunk_id for each in fused] == ["b", "a", "c", "d"]


def test_a_list_of_its_own_is_not_cut() -> None:
    assert reciprocal_rank([KEYWORD])["d"] == 0.5 / 63


def test_scores_are_standardised_over_the_union() -> None:
    scores = score_sum([KEYWORD], chunk_ids=["a", "b", "c", "d"])
    values = [0.0, 10.0, 8.0, 1.0]
    mean = sum(values) / 4
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / 4)
    assert scores["a"] == pytest.approx(0.5 * (0.0 - mean) / spread)
    assert scores["b"] == pytest.approx(0.5 * (10.0 - mean) / spread)


def test_a_single_hit_counts() -> None:
    """Also one whose score is 0 or below: listed is more than not listed."""
    for score in (3.0, 0.0, -0.2):
        single = Ranking(channel="keyword", hits=listed("keyword", ("b", score)), floor=None)
        scores = score_sum([single], chunk_ids=["a", "b"])
        assert scores["b"] > 0 > scores["a"]


def test_equal_scores_everywhere_are_ordered_by_id() -> None:
    flat = Ranking(channel="semantic", hits=listed("semantic", ("b", 0.5), ("a", 0.5)))
    again = Ranking(channel="keyword", hits=listed("keyword", ("a", 1.0), ("b", 1.0)))
    fused = fuse([flat, again])
    assert [each.chunk_id for each in fused] == ["a", "b"]
    assert [each.score for each in fused] == [1.0, 1.0]


def test_words_never_speak_against_another_language() -> None:
    """`a` is in another language than the question and has none of its words."""
    ids = ["a", "b", "c", "d"]
    strict = score_sum([KEYWORD], chunk_ids=ids)
    lenient = score_sum([KEYWORD], chunk_ids=ids, other_language=frozenset("ab"))
    assert strict["a"] < 0 == lenient["a"]
    assert lenient["b"] == strict["b"] > 0
    assert lenient["c"] == strict["c"]


def test_where_all_passages_are_foreign_their_words_count_as_ever() -> None:
    ids = ["a", "b", "c", "d"]
    assert score_sum([KEYWORD], chunk_ids=ids, other_language=frozenset(ids)) == score_sum(
        [KEYWORD], chunk_ids=ids
    )


def test_no_hits_no_candidates() -> None:
    assert fuse([]) == []
    assert fuse([Ranking(channel="keyword", hits=())]) == []


def test_two_rankings_of_one_channel_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="two rankings of one channel"):
        fuse([SEMANTIC, SEMANTIC])
