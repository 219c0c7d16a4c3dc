"""Passages that mean what the question means: nearest neighbours of its vector."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster.model import Vector
from cluster.stores.protocols import VectorIndex
from serve.channels.channel import Found
from serve.plan.plan import QueryPlan

EncodeQuery = Callable[[str, str], Awaitable[Vector]]
"""(question, language) -> its unit vector; raises `ModelError` or `Overloaded`."""


@dataclass(frozen=True, slots=True)
class SemanticChannel:
    """Scores are cosines."""

    index: VectorIndex
    encode: EncodeQuery
    name: str = "semantic"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        vector = await self.encode(plan.query, plan.language)
        found = await self.index.search(vector, scope=plan.scope, where=plan.where, limit=limit)
        return Found(listed=found)
