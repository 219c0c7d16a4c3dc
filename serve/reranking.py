"""The second look under the clock: late or broken, the fused order answers and says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from cluster.errors import DeadlineExceeded, ModelError, Overloaded, StoreError
from cluster.model import ChannelFailure
from rerank.reranker import Asked, Pooled, Reranked, Reranker

STAGE = "rerank"


async def rerank(
    rerankers: Mapping[str, Reranker], asked: Asked, pool: Sequence[Pooled], *, within_s: float
) -> Reranked | ChannelFailure | None:
    """The plan's reranker on the pool; None when the plan wants none, none is there at all, or
    there is nothing to order. A failure is named `rerank`."""
    if asked.plan.name == "none" or not pool or not rerankers:
        return None
    reranker = rerankers.get(asked.plan.name)
    if reranker is None:
        return _failed(f"{asked.plan.name} is not there; the order is that of the fusion")
    within_s = min(within_s, asked.plan.deadline_s)
    try:
        async with asyncio.timeout(within_s):
            return await reranker.score(asked, pool)
    except TimeoutError:
        return _failed(f"{reranker.name}: no answer within {round(within_s * 1000)} ms")
    except (StoreError, ModelError, Overloaded, DeadlineExceeded) as error:
        return _failed(f"{reranker.name}: {error}")


def _failed(reason: str) -> ChannelFailure:
    return ChannelFailure(channel=STAGE, reason=reason)
