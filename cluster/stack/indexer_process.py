"""The indexer as a process of its own: of the local stack (`… BEAT_FILE`), or on a cluster.

Until the first ingest has chosen an encoder there is no index to write; it waits for that.
The beat comes from the event loop, so that a loop that hangs is noticed.

It drains as many shards as `indexer.drainers` says; more processes on more machines take the
shards that are left, or wait for one to become free. The embedded text index has one writer,
and therefore one shard and one process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from cluster.clock import SystemClock
from cluster.errors import InvalidSettings, PalimpsestError
from cluster.indexer import Indexer
from cluster.settings import Settings, load_settings
from cluster.stack.probes import BEAT_S
from cluster.stores.live_views import LiveViews
from cluster.stores.open import open_collections, open_ledger, open_text_index

LOOK_AGAIN_S = 0.5


async def serve(settings: Settings, beat: Path | None) -> None:
    """Until SIGTERM or SIGINT; what is at hand is finished first. `beat` is touched meanwhile.
    `InvalidSettings` where one text index cannot have several writers."""
    _check_writers(settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    beating = asyncio.create_task(_beat(beat)) if beat else None
    try:
        if await _encoder_chosen(settings, stop):
            await _index(settings, stop)
    finally:
        if beating:
            beating.cancel()


def _check_writers(settings: Settings) -> None:
    if settings.text_index.backend == "tantivy" and settings.indexer.shards > 1:
        raise InvalidSettings(
            f"indexer.shards is {settings.indexer.shards}, but the embedded text index has one "
            "writer; set it to 1, or text_index.backend to elasticsearch"
        )


async def _index(settings: Settings, stop: asyncio.Event) -> None:
    ledger = await open_ledger(settings)
    try:
        text_index = await open_text_index(settings, read_only=False)
        views = LiveViews(ledger, text_index, open_collections(settings).open)
        try:
            async with asyncio.TaskGroup() as drainers:
                for _ in range(settings.indexer.drainers or settings.indexer.shards):
                    indexer = Indexer(ledger, views, SystemClock(), settings.indexer)
                    drainers.create_task(indexer.run(stop))
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
