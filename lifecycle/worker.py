"""Finishes what was asked for: `python -m lifecycle.worker`, a part of the stack.

A forget job that was asked for over HTTP, or that another process left unfinished, is finished
here, also one that was begun before this process was started.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import aclosing

from cluster.errors import PalimpsestError, StoreUnavailable
from cluster.settings import Settings, load_settings
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Ledger
from lifecycle.forget import finish_all
from lifecycle.ground import open_ground

TRY_S = 30.0
"""To wait in one round, for all jobs together, so that one that is stuck keeps no other waiting for
long; what is not finished then is tried again at the next look."""

REST_S = 5.0
"""After a round that left something."""

_log = logging.getLogger(__name__)


async def serve(settings: Settings) -> None:
    """Until a signal asks to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    ledger = await open_ledger(settings)
    try:
        async with aclosing(ledger.wake_ups()) as waking:
            async for _ in waking:
                if stop.is_set():
                    return
                if await _look(ledger, settings):
                    await _rest(stop)
    finally:
        await ledger.close()


async def _look(ledger: Ledger, settings: Settings) -> bool:
    """Whether something is left to be finished."""
    try:
        async with ledger.transaction() as tx:
            jobs = await tx.forget_jobs.unfinished()
        if not jobs:
            return False
        async with open_ground(settings) as ground:
            left = await finish_all(ground, within_s=TRY_S / len(jobs))
    except StoreUnavailable as error:
        _log.warning("%s; tried again at the next look", error)
        return True
    except PalimpsestError:
        _log.exception("a forget job cannot be finished")
        return True
    for job in left:
        _log.warning("forget job %s waits for %s", job.job_id, job.waits_for)
    return bool(left)


async def _rest(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=REST_S)
    except TimeoutError:
        return


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(serve(load_settings()))


if __name__ == "__main__":
    main()
