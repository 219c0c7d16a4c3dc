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
    """At most `capacity` values, each read again after `ttl_s`; whoever asks for any key lets go
    of all that are older. Callers that ask for the same key at once share one read; an error is
    told to all of them and not kept."""

    def __init__(
        self,
        load: Callable[[Key], Awaitable[Value]],
        *,
        ttl_s: float,
        capacity: int = 1024,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load, self._ttl_s, self._capacity = load, ttl_s, capacity
        self._monotonic = monotonic
        self._held: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._reading: dict[Key, asyncio.Task[Value]] = {}
        self._cleared = 0

    def __len__(self) -> int:
        return len(self._held)

    async def get(self, key: Key) -> Value:
        self._expire()
        held = self._held.get(key)
        if held is not None:
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
        self._expire()
        self._held[key] = (self._monotonic() + self._ttl_s, value)
        self._held.move_to_end(key)
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)
        return value

    def _expire(self) -> None:
        """All live equally long, so that the oldest end first: each is looked at once."""
        now = self._monotonic()
        while self._held and next(iter(self._held.values()))[0] <= now:
            self._held.popitem(last=False)

    def _done(self, key: Key, task: asyncio.Task[Value]) -> None:
        if self._reading.get(key) is task:
            del self._reading[key]
        if not task.cancelled():
            task.exception()
