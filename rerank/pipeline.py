"""From rankings to the passages that are shown: pure steps, in the order in which they are taken.

    fuse_rankings   what the channels gave -> candidates, best first
    pool_of         the best of them, for a reranker's second look (`rerank.reranker`)
    standing        fused or reranked scores, times and bonuses -> blocks, best first

Which of the blocks are shown decides `rerank.selection`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo

import numpy as np

from cluster.model import StoredPassage
from rerank.dedup import Block
from rerank.fusion import Candidate, FusionMethod, Ranking, floor_of, fuse
from rerank.late_interaction import UNKNOWN_LANGUAGES, z_scores
from rerank.priors import bonuses, moment_of
from rerank.reranker import Pooled, Reranked, RerankPlan
from rerank.time_bonus import Interval, time_bonuses
from rerank.verbatim import ExactTerm

USUAL_SPREAD = 2.0


def fuse_rankings(
    rankings: Sequence[Ranking],
    *,
    passages: Mapping[str, StoredPassage],
    method: FusionMethod,
    language: str,
) -> list[Candidate]:
    """Only chunks in `passages` (those that may be shown) take part; ranks and scores of the
    channels stay as the channels gave them."""
    shown = [_only(ranking, passages) for ranking in rankings]
    return fuse(shown, method=method, other_language=foreign(passages, language))


def pool_of(
    candidates: Sequence[Candidate],
    rankings: Sequence[Ranking],
    *,
    passages: Mapping[str, StoredPassage],
    plan: RerankPlan,
    wide: bool = False,
) -> list[Pooled]:
    """The best `plan.pool` candidates; where it is to be `wide`, or turns of conversations are
    among these, the best `plan.wide_pool`."""
    best = candidates[: plan.pool]
    if wide or any(passages[each.chunk_id].turn is not None for each in best):
        best = candidates[: max(plan.pool, plan.wide_pool)]
    by_channel = {ranking.channel: ranking for ranking in rankings}
    keyword, semantic = by_channel.get("keyword"), by_channel.get("semantic")
    words = {hit.chunk_id: hit.score for hit in keyword.hits} if keyword else {}
    cosines = {hit.chunk_id: hit.score for hit in semantic.hits} if semantic else {}
    unlisted = floor_of(keyword) if keyword and keyword.hits else 0.0
    return [
        Pooled(
            passage=passages[each.chunk_id],
            fused=each.score,
            keyword=words.get(each.chunk_id, unlisted),
            cosine=cosines.get(each.chunk_id),
        )
        for each in best
    ]


def standing(
    candidates: Sequence[Candidate],
    *,
    passages: Mapping[str, StoredPassage],
    reranked: Reranked | None,
    now: datetime,
    exact: Sequence[ExactTerm] = (),
    times: Sequence[Interval] = (),
    zone: tzinfo = UTC,
) -> list[Block]:
    """Every candidate as a block, best first. Scores are 0 to 1 over what was scored, the times
    of the question included (`rerank.time_bonus`); bonuses are added to that. Candidates that
    the reranker did not score have 0 and stay behind, those of its `behind` first, the others in
    the order of the fusion."""
    scored = reranked.scores if reranked else {each.chunk_id: each.score for each in candidates}
    parts = _parts(scored, reranked, passages=passages, times=times, zone=zone)
    behind = {key: at for at, key in enumerate(reranked.behind)} if reranked else {}
    scores = _scaled({key: math.fsum(each.values()) for key, each in parts.items()})
    blocks = [
        Block(
            passages=(passages[each.chunk_id],),
            score=scores.get(each.chunk_id, 0.0) + sum(added.values()),
            hits=each.hits,
            bonuses=added,
            parts=parts.get(each.chunk_id, {}),
        )
        for each in sorted(
            candidates,
            key=lambda each: (
                each.chunk_id not in scored,
                behind.get(each.chunk_id, len(behind)),
            ),
        )
        for added in [bonuses(passages[each.chunk_id], now=now, exact=exact)]
    ]
    return sorted(blocks, key=lambda block: -block.score)  # equal ones stay in their order


def foreign(passages: Mapping[str, StoredPassage], language: str) -> frozenset[str]:
    """Chunks that are known to be in another language than the question."""
    if language in UNKNOWN_LANGUAGES:
        return frozenset()
    return frozenset(
        chunk_id
        for chunk_id, passage in passages.items()
        if passage.metadata.language not in (language, *UNKNOWN_LANGUAGES)
    )


def _only(ranking: Ranking, passages: Mapping[str, StoredPassage]) -> Ranking:
    return Ranking(
        channel=ranking.channel,
        hits=tuple(hit for hit in ranking.hits if hit.chunk_id in passages),
        weight=ranking.weight,
        floor=ranking.floor,
        tail_cut=ranking.tail_cut,
    )


def _parts(
    scored: Mapping[str, float],
    reranked: Reranked | None,
    *,
    passages: Mapping[str, StoredPassage],
    times: Sequence[Interval],
    zone: tzinfo,
) -> dict[str, dict[str, float]]:
    """What each score is made of: what the reranker (or the fusion) gave, then the times. These
    are told in standard deviations, so that a score of another scale becomes such before."""
    moments = {key: moment_of(passages[key]) for key in scored}
    standard = scored if reranked and reranked.scale == "z" else _standard(scored)
    added = time_bonuses(standard, moments=moments, times=times, zone=zone)
    if not added:
        standard = scored
    named = reranked.parts if reranked and standard is scored else {}
    whole = reranked.reranker if reranked else "fused"
    return {
        key: {**(named.get(key) or {whole: standard[key]}), **added.get(key, {})} for key in scored
    }


def _standard(scores: Mapping[str, float]) -> Mapping[str, float]:
    """As wide as late interaction's scores are."""
    z = z_scores(np.fromiter(scores.values(), dtype=np.float64))
    return dict(zip(scores, (float(value) for value in USUAL_SPREAD * z), strict=True))


def _scaled(scores: Mapping[str, float]) -> Mapping[str, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}
