"""What stands beside what other channels found: an answer follows its question in a conversation,
and an exception the rule that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.model import Hit
from cluster.stores.protocols import Ledger
from serve.channels.channel import Found
from serve.plan.plan import QueryPlan

SEEDS = 15
"""The best so many of each channel are looked around."""

BEFORE, AFTER = 1, 2
FALL = 0.5
"""What one step away from a hit costs of its score."""


@dataclass(frozen=True, slots=True)
class NeighboursChannel:
    """Follows the others. A hit of rank r counts 1 / r, a neighbour half of that for each step
    away from it; the best hit near it decides. Hits themselves are not listed again."""

    ledger: Ledger
    name: str = "neighbours"

    async def follow(self, plan: QueryPlan, hits: Sequence[Hit], *, limit: int) -> Found:
        seeds = seeds_of(hits)
        if not seeds:
            return Found(listed=())
        async with self.ledger.transaction() as tx:
            beside = await tx.lookups.around(
                plan.scope, list(seeds), where=plan.where, before=BEFORE, after=AFTER
            )
        known = {hit.chunk_id for hit in hits}
        scores: dict[str, float] = {}
        for one in beside:
            if one.chunk_id not in known:
                score = seeds[one.seed] * FALL ** abs(one.distance)
                scores[one.chunk_id] = max(scores.get(one.chunk_id, 0.0), score)
        listed = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return Found(listed=listed[:limit], exhausted=True)


def seeds_of(hits: Sequence[Hit]) -> Mapping[str, float]:
    """Chunk id -> 1 / its best rank, of the best `SEEDS` of each channel."""
    seeds: dict[str, float] = {}
    for hit in hits:
        if hit.rank <= SEEDS:
            seeds[hit.chunk_id] = max(seeds.get(hit.chunk_id, 0.0), 1.0 / hit.rank)
    return seeds
