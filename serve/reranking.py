"""The second look under the clock: late or broken, the fused order answers and says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cluster.errors import DeadlineExceeded, ModelError, Overloaded, StoreError
from cluster.model import ChannelFailure, EncodedQuery
from cluster.models.token_vectors import stack
from cluster.stores.protocols import Ledger
from rerank.by_rules import NAME as BY_RULES
from rerank.cross_encoder import NAME as CROSS_ENCODER
from rerank.cross_encoder import after_first, best_first
from rerank.late_interaction import NAME, rank_by_tokens
from rerank.reranker import Asked, Pooled, Reranked, Reranker
from serve.channels.semantic import EncodeQuery
from serve.tasks import ended_with

STAGE = "rerank"
FIRST_SHARE = 0.5
"""Of the time, what late interaction may take at most before a cross-encoder reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLook:
    """`reranked` is None where the fused order stands; each failure is named `rerank`."""

    reranked: Reranked | None = None
    failures: tuple[ChannelFailure, ...] = ()


async def rerank(
    rerankers: Mapping[str, Reranker], asked: Asked, pool: Sequence[Pooled], *, within_s: float
) -> SecondLook:
    """The plan's reranker on the pool; nothing when the plan wants none, none is there at all,
    or there is nothing to order. A cross-encoder reads the best by late interaction; where it
    fails or is late, that order answers."""
    if asked.plan.name == "none" or not pool or not rerankers:
        return SecondLook()
    within_s = min(within_s, asked.plan.deadline_s)
    if asked.plan.name != CROSS_ENCODER:
        return _only(await _one(rerankers, asked.plan.name, asked, pool, within_s=within_s))
    started = time.perf_counter()
    first = await _one(rerankers, NAME, asked, pool, within_s=within_s * FIRST_SHARE)
    ordered = pool if isinstance(first, ChannelFailure) else best_first(pool, first)
    left_s = within_s - (time.perf_counter() - started)
    then = await _one(rerankers, CROSS_ENCODER, asked, ordered, within_s=max(left_s, 0.0))
    return _both(first, then)


async def _one(
    rerankers: Mapping[str, Reranker],
    name: str,
    asked: Asked,
    pool: Sequence[Pooled],
    *,
    within_s: float,
) -> Reranked | ChannelFailure:
    reranker = rerankers.get(name)
    if reranker is None and name == NAME:
        reranker = rerankers.get(BY_RULES)  # by the settings there are no token vectors
    if reranker is None:
        return _failed(f"{name} is not there")
    try:
        async with asyncio.timeout(within_s):
            return await reranker.score(replace(asked, within_s=within_s), pool)
    except TimeoutError:
        return _failed(f"{reranker.name}: no answer within {round(within_s * 1000)} ms")
    except (StoreError, ModelError, Overloaded, DeadlineExceeded) as error:
        return _failed(f"{reranker.name}: {error}")


def _only(one: Reranked | ChannelFailure) -> SecondLook:
    if isinstance(one, ChannelFailure):
        return SecondLook(failures=(one,))
    return SecondLook(reranked=one)


def _both(first: Reranked | ChannelFailure, then: Reranked | ChannelFailure) -> SecondLook:
    if isinstance(first, ChannelFailure):
        last = _only(then)
        return replace(last, failures=(first, *last.failures))
    if isinstance(then, ChannelFailure):
        return SecondLook(reranked=first, failures=(then,))
    return SecondLook(reranked=after_first(first, then))


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
