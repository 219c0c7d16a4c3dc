"""The indexer as a part of the stack: `… BEAT_FILE`. The one process that writes the text index.

Until the first ingest has chosen an encoder there is no index to write; it waits for that.
The beat comes from the event loop, so that a loop that hangs is noticed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from cluster.clock import SystemClock
from cluster.errors import PalimpsestError
from cluster.indexer import Indexer
from cluster.model import Generation
from cluster.settings import Settings, load_settings
from cluster.stack.probes import BEAT_S
from cluster.stores.open import open_ledger, open_stores
from cluster.stores.views import FixedViews

LOOK_AGAIN_S = 0.5


async def serve(settings: Settings, beat: Path) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    beating = asyncio.create_task(_beat(beat))
    try:
        generation = await _generation(settings, stop)
        if generation is not None:
            await _index(settings, generation, stop)
    finally:
        beating.cancel()


async def _index(settings: Settings, generation: Generation, stop: asyncio.Event) -> None:
    stores = await open_stores(settings, generation, read_only_text=False)
    try:
        views = FixedViews(
            by_fingerprint={generation.fingerprint: stores.vector_index},
            text_index=stores.text_index,
        )
        indexer = Indexer(stores.ledger, views, SystemClock(), settings.indexer)
        await indexer.run(stop)
    finally:
        await stores.close()


async def _generation(settings: Settings, stop: asyncio.Event) -> Generation | None:
    """The active generation as soon as there is one; `None` when asked to stop before."""
    ledger = await open_ledger(settings)
    try:
        while not stop.is_set():
            async with ledger.transaction() as tx:
                active = await tx.generations.active()
            if active is not None:
                return active
            await _pause(stop)
        return None
    finally:
        await ledger.close()


async def _pause(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=LOOK_AGAIN_S)
    except TimeoutError:
        return


async def _beat(path: Path) -> None:
    while True:
        await asyncio.to_thread(path.touch)
        await asyncio.sleep(BEAT_S / 2)


def main(beat: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        asyncio.run(serve(load_settings(), Path(beat)))
    except PalimpsestError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
