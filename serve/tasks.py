"""Tasks that do not outlive who waits for them, and whose end is not silent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

log = logging.getLogger(__name__)


@asynccontextmanager
async def ended_with(*tasks: asyncio.Future[Any]) -> AsyncIterator[None]:
    """However the block ends, none of `tasks` still runs after it."""
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def log_failure(task: asyncio.Task[Any]) -> None:
    """To be called when `task` is done: work that nobody waits for must not stop unheard."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s has stopped: %s", task.get_name(), error, exc_info=error)
