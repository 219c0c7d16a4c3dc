"""Passages that have the question's words, identifiers and names."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.stores.protocols import TextIndex
from cluster.text.terms import content_terms
from serve.channels.channel import Found
from serve.plan.plan import QueryPlan


@dataclass(frozen=True, slots=True)
class KeywordChannel:
    """Scores are weighted BM25 of what the question is about: a passage that has nothing of it
    but function words is no hit, however few others there are. One with none has 0."""

    index: TextIndex
    name: str = "keyword"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        terms = content_terms(plan.terms)
        found = await self.index.search(terms, scope=plan.scope, where=plan.where, limit=limit)
        return Found(listed=found, floor=0.0)
