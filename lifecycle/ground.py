"""Settings -> what forget jobs stand on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cluster.clock import SystemClock
from cluster.forget.key_files import receipt_key_file, tombstone_key_file
from cluster.settings import Settings
from cluster.stores.live_views import LiveViews
from cluster.stores.open import open_collections, open_ledger, open_text_index
from lifecycle.forget import Ground


@asynccontextmanager
async def open_ground(settings: Settings) -> AsyncIterator[Ground]:
    """Everything is opened for reading, but for the ledger."""
    ledger = await open_ledger(settings)
    try:
        collections = open_collections(settings)
        text_index = await open_text_index(settings, read_only=True)
        views = LiveViews(ledger, text_index, collections.open)
        try:
            yield Ground(
                ledger=ledger,
                views=views,
                clock=SystemClock(),
                tombstone_key=tombstone_key_file(settings),
                receipt_key=receipt_key_file(settings),
                collections=collections,
            )
        finally:
            await views.close()
    finally:
        await ledger.close()
