"""How do the rankings of several channels combine into one order?

Two ways. `reciprocal_rank`: weighted RRF (Cormack et al., SIGIR 2009), ranks from 1. `score`:
the weighted sum of z-scores, taken over the union of all rankings. Both are pure and do not
depend on the order in which the rankings are given; equal scores are ordered by chunk id.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cluster.errors import InvalidRequest
from cluster.model import Hit

FusionMethod = Literal["score", "reciprocal_rank"]
RANK_CONSTANT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What one channel gave, best first, and how far it is trusted.

    `floor` is the score of whatever the channel did not list, where that is known (terms: a
    list that is shorter than was asked for has every match, the rest scored 0). `tail_cut`
    takes the vote in RRF from hits below that share of the channel's top score.
    """

    channel: str
    hits: tuple[Hit, ...]
    weight: float = 1.0
    floor: float | None = None
    tail_cut: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk with its fused score, 0 (last) to 1 (first), and the hits that speak for it,
    by channel name."""

    chunk_id: str
    score: float
    hits: tuple[Hit, ...]


def fuse(
    rankings: Sequence[Ranking],
    *,
    method: FusionMethod = "score",
    other_language: frozenset[str] = frozenset(),
) -> list[Candidate]:
    """Every chunk that any ranking has, exactly once, best first.

    `other_language` are chunks in another language than the question: there the terms of the
    question cannot be expected, so that for them the channel `keyword` may speak in favour
    but never against.
    """
    filled = sorted((each for each in rankings if each.hits), key=lambda each: each.channel)
    if len({each.channel for each in filled}) != len(filled):
        raise InvalidRequest("fusion: two rankings of one channel; merge them first")
    hits = _hits_by_chunk(filled)
    if method == "reciprocal_rank":
        scores = reciprocal_rank(filled)
    else:
        scores = score_sum(filled, chunk_ids=sorted(hits), other_language=other_language)
    scaled = _scaled(scores)
    order = sorted(hits, key=lambda chunk_id: (-scores[chunk_id], _first(hits[chunk_id]), chunk_id))
    return [
        Candidate(chunk_id=chunk_id, score=scaled[chunk_id], hits=hits[chunk_id])
        for chunk_id in order
    ]


def reciprocal_rank(rankings: Sequence[Ranking]) -> dict[str, float]:
    """chunk id -> sum of weight / (60 + rank). A hit in a cut tail is kept, with 0."""
    guarded = len(rankings) > 1
    votes: dict[str, list[float]] = {}
    for ranking in rankings:
        for hit in ranking.hits:
            counts = not guarded or _above_cut(hit, ranking)
            vote = ranking.weight / (RANK_CONSTANT + hit.rank) if counts else 0.0
            votes.setdefault(hit.chunk_id, []).append(vote)
    return {chunk_id: math.fsum(each) for chunk_id, each in votes.items()}


def score_sum(
    rankings: Sequence[Ranking],
    *,
    chunk_ids: Sequence[str],
    other_language: frozenset[str] = frozenset(),
) -> dict[str, float]:
    """chunk id -> sum of weight x z-score over `chunk_ids`, the union of all rankings.

    A chunk that a channel did not list gets the channel's floor; where that is unknown, one
    average step below the last one listed.
    """
    parts: dict[str, list[float]] = {chunk_id: [] for chunk_id in chunk_ids}
    mixed = any(chunk_id not in other_language for chunk_id in chunk_ids)
    for ranking in rankings:
        lenient = other_language if mixed and ranking.channel == "keyword" else frozenset()
        for chunk_id, z in _z_scores(ranking, chunk_ids).items():
            parts[chunk_id].append(ranking.weight * (max(z, 0.0) if chunk_id in lenient else z))
    return {chunk_id: math.fsum(each) for chunk_id, each in parts.items()}


def _z_scores(ranking: Ranking, chunk_ids: Sequence[str]) -> dict[str, float]:
    listed = {hit.chunk_id: hit.score for hit in ranking.hits}
    floor = floor_of(ranking)
    values = [listed.get(chunk_id, floor) for chunk_id in chunk_ids]
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return dict.fromkeys(chunk_ids, 0.0)
    return {
        chunk_id: (value - mean) / spread for chunk_id, value in zip(chunk_ids, values, strict=True)
    }


def floor_of(ranking: Ranking) -> float:
    """Below everything listed, so that being listed always counts for something."""
    scores = [hit.score for hit in ranking.hits]
    lowest, highest = min(scores), max(scores)
    if ranking.floor is not None and ranking.floor < lowest:
        return ranking.floor
    step = (highest - lowest) / len(scores)
    return lowest - (step if step > 0 else max(abs(lowest), 1.0))


def _above_cut(hit: Hit, ranking: Ranking) -> bool:
    top = max(each.score for each in ranking.hits)
    return ranking.tail_cut is None or top <= 0 or hit.score >= ranking.tail_cut * top


def _hits_by_chunk(rankings: Sequence[Ranking]) -> dict[str, tuple[Hit, ...]]:
    found: dict[str, list[Hit]] = {}
    for ranking in rankings:
        for hit in ranking.hits:
            found.setdefault(hit.chunk_id, []).append(hit)
    return {chunk_id: tuple(hits) for chunk_id, hits in found.items()}


def _first(hits: tuple[Hit, ...]) -> int:
    return min(hit.rank for hit in hits)


def _scaled(scores: dict[str, float]) -> dict[str, float]:
    if not scores:
        return {}
    lowest, highest = min(scores.values()), max(scores.values())
    if highest == lowest:
        return dict.fromkeys(scores, 1.0)
    return {key: (value - lowest) / (highest - lowest) for key, value in scores.items()}
