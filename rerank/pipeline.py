"""From rankings to the passages that are shown: pure steps, in the order in which they are taken.

    fuse_rankings   what the channels gave -> candidates, best first
    pool_of         the best of them, for a reranker's second look (`rerank.reranker`)
    standing        fused or reranked scores, times and bonuses -> blocks, best first

Which of the blocks are shown decides `rerank.selection`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from cluster.model import StoredPassage
from rerank.dedup import Block
from rerank.fusion import Candidate, FusionMethod, Ranking, floor_of, fuse
from rerank.late_interaction import UNKNOWN_LANGUAGES
from rerank.priors import bonuses
from rerank.reranker import Pooled, Reranked, RerankPlan
from rerank.verbatim import ExactTerm


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
) -> list[Pooled]:
    """The best `plan.pool` candidates; where turns of conversations are among these, the best
    `plan.conversation_pool`."""
    best = candidates[: plan.pool]
    if any(passages[each.chunk_id].turn is not None for each in best):
        best = candidates[: max(plan.pool, plan.conversation_pool)]
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
) -> list[Block]:
    """Every candidate as a block, best first. Scores are 0 to 1 over what was scored, bonuses
    are added to that; candidates that the reranker did not score have 0 and stay behind, in
    the order of the fusion."""
    scores, order = _scores(candidates, reranked)
    blocks = [
        _block(each, passages[each.chunk_id], score=scores[each.chunk_id], now=now, exact=exact)
        for each in order
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


def _scores(
    candidates: Sequence[Candidate], reranked: Reranked | None
) -> tuple[dict[str, float], list[Candidate]]:
    fused = {each.chunk_id: each.score for each in candidates}
    if reranked is None or not reranked.scores:
        return fused, list(candidates)
    scored = [each for each in candidates if each.chunk_id in reranked.scores]
    rest = [each for each in candidates if each.chunk_id not in reranked.scores]
    low, high = min(reranked.scores.values()), max(reranked.scores.values())
    span = high - low
    scores = {
        each.chunk_id: (reranked.scores[each.chunk_id] - low) / span if span else 1.0
        for each in scored
    }
    scored.sort(key=lambda each: -scores[each.chunk_id])  # equal ones in the order of the fusion
    return scores | dict.fromkeys((each.chunk_id for each in rest), 0.0), scored + rest


def _block(
    candidate: Candidate,
    passage: StoredPassage,
    *,
    score: float,
    now: datetime,
    exact: Sequence[ExactTerm],
) -> Block:
    added = bonuses(passage, now=now, exact=exact)
    return Block(
        passages=(passage,),
        score=score + sum(added.values()),
        hits=candidate.hits,
        bonuses=added,
    )
