"""The product's own retrieval over the stores of the running stack, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from cluster.clock import SystemClock
from cluster.model import EncodedQuery, Generation
from cluster.models.open import describe, open_generation
from cluster.models.protocols import Embedder
from cluster.settings import Settings
from cluster.stores.open import open_ledger, open_stores
from serve.cross_encoding import HereCrossEncoder
from serve.metrics import Metrics
from serve.query_cache import QueryCache
from serve.service import Service, build_service

PATIENCE_S = 60.0


class HereEncoder:
    """Encodes and counts in this process, one call at a time."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, text: str, language: str) -> EncodedQuery:
        async with self._one_at_a_time:
            (query,) = await asyncio.to_thread(
                self._embedder.encode_queries, [text], languages=[language]
            )
        return query

    async def count(self, texts: Sequence[str]) -> list[int]:
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._embedder.count_tokens, texts)


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncIterator[Service]:
    """Without deadlines, as a late channel would be measured as a bad one, and without kept
    answers, which take no time."""
    generation = await _active(settings)
    embedder = open_generation(generation, settings)
    stores = await open_stores(settings, generation, read_only_text=True)
    service = build_service(
        settings=settings,
        stores=stores,
        encode=HereEncoder(embedder),
        fingerprint=generation.fingerprint,
        clock=SystemClock(),
        metrics=Metrics(),
        cross_encoder=_cross_encoder(settings),
    )
    try:
        yield replace(
            service,
            sources=replace(service.sources, channel_deadline_s=PATIENCE_S),
            cache=QueryCache(entries=0),
        )
    finally:
        await stores.close()


def _cross_encoder(settings: Settings) -> HereCrossEncoder | None:
    if settings.cross_encoder.model is None:
        return None
    here = HereCrossEncoder(settings)
    here.load()
    return here


async def _active(settings: Settings) -> Generation:
    """The ledger's generation; the one of the settings while there is none."""
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            return await tx.generations.active() or describe(settings)
    finally:
        await ledger.close()
