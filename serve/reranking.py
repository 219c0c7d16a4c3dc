"""The second look under the clock: late or broken, the fused order answers and says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.errors import DeadlineExceeded, ModelError, Overloaded, StoreError
from cluster.model import ChannelFailure, EncodedQuery
from cluster.models.token_vectors import stack
from cluster.stores.protocols import Ledger
from rerank.by_rules import NAME as BY_RULES
from rerank.late_interaction import NAME, rank_by_tokens
from rerank.reranker import Asked, Pooled, Reranked, Reranker
from serve.channels.semantic import EncodeQuery
from serve.tasks import ended_with

STAGE = "rerank"


async def rerank(
    rerankers: Mapping[str, Reranker], asked: Asked, pool: Sequence[Pooled], *, within_s: float
) -> Reranked | ChannelFailure | None:
    """The plan's reranker on the pool; None when the plan wants none, none is there at all, or
    there is nothing to order. A failure is named `rerank`."""
    if asked.plan.name == "none" or not pool or not rerankers:
        return None
    reranker = rerankers.get(asked.plan.name)
    if reranker is None and asked.plan.name == NAME:
        reranker = rerankers.get(BY_RULES)  # by the settings there are no token vectors
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LateInteraction:
    """Scores by the token vectors that the ledger holds beside the chunks (`fingerprint`: of
    the encoder whose index is searched). `ModelError` when it holds none for this pool."""

    ledger: Ledger
    encode: EncodeQuery
    fingerprint: str
    name: str = NAME

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked:
        chunk_ids = [each.chunk_id for each in pool]
        reading = asyncio.create_task(self._stored(asked, chunk_ids))
        encoding = asyncio.ensure_future(self.encode(asked.text, asked.language))
        async with ended_with(reading, encoding):
            packed, question = await asyncio.gather(reading, encoding)
        if not packed:
            raise ModelError("no token vectors are stored for these passages")
        # In a thread: a pool of hundreds takes as long as several other questions' awaits.
        return await asyncio.to_thread(_ranked, asked, pool, packed, question)

    async def _stored(self, asked: Asked, chunk_ids: Sequence[str]) -> dict[str, bytes]:
        async with self.ledger.transaction() as tx:
            return await tx.vectors.tokens_of(asked.scope, chunk_ids, fingerprint=self.fingerprint)


def _ranked(
    asked: Asked, pool: Sequence[Pooled], packed: Mapping[str, bytes], question: EncodedQuery
) -> Reranked:
    stacked = stack(
        [packed.get(each.chunk_id) for each in pool],
        dim=question.tokens.shape[1],
        recipe=question.recipe,
    )
    if not stacked.lengths.any():
        raise ModelError("the stored token vectors were made in another way; run reembed")
    return rank_by_tokens(
        asked, pool, question=question, rows=stacked.rows, lengths=stacked.lengths
    )


def _failed(reason: str) -> ChannelFailure:
    return ChannelFailure(channel=STAGE, reason=reason)
