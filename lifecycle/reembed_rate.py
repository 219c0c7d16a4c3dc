"""How fast does it go, when will it be done, and does it still move?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from cluster.errors import StoreUnavailable
from cluster.stores.protocols import Progress
from lifecycle.shrinking import Shrinking

LONGEST_POLL_S = 1.0
"""Counting what is missing reads the whole ledger."""


class Rate:
    """Counts texts of one pass; `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_at = self._told_at = clock()
        self._done = self._missing = self._of = 0

    def begin(self, *, missing: int, of: int) -> None:
        self._began_at = self._clock()
        self._done, self._missing, self._of = 0, missing, of

    def advanced(self, texts: int) -> Progress:
        """What the ledger keeps: `texts`, `encoded`, `per_s`, `eta_s`."""
        self._done += texts
        left = max(0, self._missing - self._done)
        per_s = self._done / max(self._clock() - self._began_at, 1e-6)
        return {
            "texts": self._of,
            "encoded": self._of - left,
            "per_s": round(per_s, 2),
            "eta_s": round(left / per_s, 1),
        }

    def due(self, every_s: float) -> str | None:
        """A line for people, at most so often."""
        now = self._clock()
        if now - self._told_at < every_s:
            return None
        self._told_at = now
        left = max(0, self._missing - self._done)
        per_s = self._done / max(now - self._began_at, 1e-6)
        return (
            f"{self._of - left:,} of {self._of:,} texts encoded, {per_s:,.0f} a second, "
            f"about {left / max(per_s, 1e-6):,.0f} s to go"
        )


class Patience:
    """Waits for the indexer as long as what it owes shrinks; from `poll_s` on ever longer."""

    def __init__(self, stalled_s: float, *, poll_s: float = 0.1) -> None:
        self._stalled_s, self._poll_s = stalled_s, poll_s
        self._shrinking = Shrinking(stalled_s)

    async def wait(self, owed: int) -> None:
        """A moment; `StoreUnavailable` when it has not shrunk for `stalled_s`."""
        if self._shrinking.stalled(owed, time.monotonic()):
            raise StoreUnavailable(
                "indexer",
                f"{owed:,} rows are owed to the indexes, and it has not been fewer for "
                f"{self._stalled_s:g} s; see `palimpsest status` and `palimpsest outbox list`, "
                "then run `palimpsest reembed` again",
            )
        await asyncio.sleep(self._poll_s)
        self._poll_s = min(LONGEST_POLL_S, self._poll_s * 1.5)
