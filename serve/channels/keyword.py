"""Passages that have the question's words, identifiers and names."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.stores.protocols import TextIndex
from serve.channels.channel import Found
from serve.plan.plan import QueryPlan


@dataclass(frozen=True, slots=True)
class KeywordChannel:
    """Scores are weighted BM25; a passage with none of the terms has 0."""

    index: TextIndex
    name: str = "keyword"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        found = await self.index.search(plan.terms, scope=plan.scope, where=plan.where, limit=limit)
        return Found(listed=found, floor=0.0)
