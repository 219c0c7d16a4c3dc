"""Passages that mean what the question means: nearest neighbours of its vector."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster.model import EncodedQuery
from cluster.stores.protocols import VectorIndex
from serve.channels.channel import Found
from serve.plan.plan import QueryPlan

EncodeQuery = Callable[[str, str], Awaitable[EncodedQuery]]
"""(question, language) -> its vectors; raises `ModelError` or `Overloaded`."""


@dataclass(frozen=True, slots=True)
class SemanticChannel:
    """Scores are cosines."""

    index: VectorIndex
    encode: EncodeQuery
    name: str = "semantic"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        encoded = await self.encode(plan.topic, plan.language)
        found = await self.index.search(
            encoded.vector, scope=plan.scope, where=plan.where, limit=limit
        )
        return Found(listed=found)
