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
from cluster.settings import Settings, load_settings
from cluster.stack.probes import BEAT_S
from cluster.stores.live_views import LiveViews
from cluster.stores.open import open_collections, open_ledger, open_text_index

LOOK_AGAIN_S = 0.5


async def serve(settings: Settings, beat: Path) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    beating = asyncio.create_task(_beat(beat))
    try:
        if await _encoder_chosen(settings, stop):
            await _index(settings, stop)
    finally:
        beating.cancel()


async def _index(settings: Settings, stop: asyncio.Event) -> None:
    ledger = await open_ledger(settings)
    try:
        text_index = await open_text_index(settings, read_only=False)
        views = LiveViews(ledger, text_index, open_collections(settings).open)
        try:
            await Indexer(ledger, views, SystemClock(), settings.indexer).run(stop)
        finally:
            await views.close()
    finally:
        await ledger.close()


async def _encoder_chosen(settings: Settings, stop: asyncio.Event) -> bool:
    """As soon as there is an active generation; false when asked to stop before."""
    ledger = await open_ledger(settings)
    try:
        while not stop.is_set():
            async with ledger.transaction() as tx:
                active = await tx.generations.active()
            if active is not None:
                return True
            await _pause(stop)
        return False
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
