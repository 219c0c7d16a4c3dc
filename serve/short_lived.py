"""Answers that may be a few seconds old, so that not every request asks the ledger again."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ShortLived(Generic[Key, Value]):
    """At most `capacity` values, each read again after `ttl_s`. Callers that ask for the same
    key at once share one read; an error is told to all of them and not kept."""

    def __init__(
        self, load: Callable[[Key], Awaitable[Value]], *, ttl_s: float, capacity: int = 1024
    ) -> None:
        self._load, self._ttl_s, self._capacity = load, ttl_s, capacity
        self._held: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._reading: dict[Key, asyncio.Task[Value]] = {}
        self._cleared = 0

    async def get(self, key: Key) -> Value:
        held = self._held.get(key)
        if held is not None and time.monotonic() < held[0]:
            return held[1]
        task = self._reading.get(key)
        if task is None:
            task = asyncio.create_task(self._read(key))
            self._reading[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    def clear(self) -> None:
        """The next question for any key reads again; a read that is under way is not kept."""
        self._held.clear()
        self._reading.clear()
        self._cleared += 1

    async def _read(self, key: Key) -> Value:
        cleared = self._cleared
        value = await self._load(key)
        if cleared != self._cleared:
            return value
        self._held[key] = (time.monotonic() + self._ttl_s, value)
        self._held.move_to_end(key)
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)
        return value

    def _done(self, key: Key, task: asyncio.Task[Value]) -> None:
        if self._reading.get(key) is task:
            del self._reading[key]
        if not task.cancelled():
            task.exception()
