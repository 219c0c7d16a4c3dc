"""From rankings to the passages that are shown: fuse, add priors, collapse editions, merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.model import StoredPassage
from rerank.dedup import Block, best_blocks
from rerank.fusion import Candidate, FusionMethod, Ranking, fuse
from rerank.priors import bonuses

UNKNOWN_LANGUAGES = ("und", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """`order` has every candidate before neighbours merge, best first; `blocks` what is shown."""

    order: tuple[str, ...]
    blocks: tuple[Block, ...]


def rank(
    rankings: Sequence[Ranking],
    *,
    passages: Mapping[str, StoredPassage],
    method: FusionMethod,
    language: str,
    now: datetime,
    limit: int,
) -> Ranked:
    """Only chunks in `passages` (those that may be shown) take part; ranks and scores of the
    channels stay as the channels gave them."""
    shown = [_only(ranking, passages) for ranking in rankings]
    fused = fuse(shown, method=method, other_language=_foreign(passages, language))
    blocks = sorted(
        (_block(each, passages[each.chunk_id], now=now) for each in fused),
        key=lambda block: -block.score,  # equal ones stay in the order of the fusion
    )
    return Ranked(
        order=tuple(block.chunk_ids[0] for block in blocks),
        blocks=tuple(best_blocks(blocks, limit=limit)),
    )


def _only(ranking: Ranking, passages: Mapping[str, StoredPassage]) -> Ranking:
    return Ranking(
        channel=ranking.channel,
        hits=tuple(hit for hit in ranking.hits if hit.chunk_id in passages),
        weight=ranking.weight,
        floor=ranking.floor,
        tail_cut=ranking.tail_cut,
    )


def _foreign(passages: Mapping[str, StoredPassage], language: str) -> frozenset[str]:
    if language in UNKNOWN_LANGUAGES:
        return frozenset()
    return frozenset(
        chunk_id
        for chunk_id, passage in passages.items()
        if passage.metadata.language not in (language, *UNKNOWN_LANGUAGES)
    )


def _block(candidate: Candidate, passage: StoredPassage, *, now: datetime) -> Block:
    added = bonuses(passage, now=now)
    return Block(
        passages=(passage,),
        score=candidate.score + sum(added.values()),
        hits=candidate.hits,
        bonuses=added,
    )
