"""The ledger, from code that is not async: stages run in loops, actors and threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar

from cluster.errors import StoreUnavailable
from cluster.stores.protocols import Ledger, Transaction

T = TypeVar("T")
OpenLedger = Callable[[], Awaitable[Ledger]]

_WAITS_S = (0.2, 1.0, 3.0, 8.0, 20.0)


class LedgerLink:
    """One connection pool on an event loop of its own; opened at the first call.

    What is called must be safe to repeat: a call that finds the ledger unavailable is made
    again after 0.2, 1, 3, 8 and 20 seconds before the error is let through.
    """

    def __init__(self, open_ledger: OpenLedger) -> None:
        self._open = open_ledger
        self._runner = asyncio.Runner()
        self._ledger: Ledger | None = None

    def call(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """`work` in a transaction of its own."""
        for wait_s in _WAITS_S:
            try:
                return self._runner.run(self._once(work))
            except StoreUnavailable:
                time.sleep(wait_s)
        return self._runner.run(self._once(work))

    async def _once(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        if self._ledger is None:
            self._ledger = await self._open()
        async with self._ledger.transaction() as tx:
            return await work(tx)

    def close(self) -> None:
        if self._ledger is not None:
            self._runner.run(self._ledger.close())
            self._ledger = None
        self._runner.close()

    def __enter__(self) -> LedgerLink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
