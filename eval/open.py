"""The product's own retrieval over the stores of the running stack, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from cluster.clock import SystemClock
from cluster.model import EncodedQuery, Generation
from cluster.models.open import describe, open_generation
from cluster.settings import Settings
from cluster.stores.open import open_ledger, open_stores
from serve.metrics import Metrics
from serve.service import Service, build_service

PATIENCE_S = 60.0


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncIterator[Service]:
    """Without deadlines: a late channel would be measured as a bad one."""
    generation = await _active(settings)
    embedder = open_generation(generation, settings)
    one_at_a_time = asyncio.Lock()

    async def encode(text: str, language: str) -> EncodedQuery:
        async with one_at_a_time:
            (query,) = await asyncio.to_thread(
                embedder.encode_queries, [text], languages=[language]
            )
        return query

    stores = await open_stores(settings, generation, read_only_text=True)
    service = build_service(
        settings=settings,
        stores=stores,
        encode=encode,
        fingerprint=generation.fingerprint,
        clock=SystemClock(),
        metrics=Metrics(),
    )
    try:
        yield replace(service, sources=replace(service.sources, channel_deadline_s=PATIENCE_S))
    finally:
        await stores.close()


async def _active(settings: Settings) -> Generation:
    """The ledger's generation; the one of the settings while there is none."""
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            return await tx.generations.active() or describe(settings)
    finally:
        await ledger.close()
