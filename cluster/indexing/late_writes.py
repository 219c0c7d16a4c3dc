"""Which rows may an index hold in an older state than we know of, because a write came late?

The right to drain is a lock of one database session. While that session lives nobody else has
it, so what was written before a successful check of the lease was written alone. Two things can
still go wrong, and both end with the chunks being owed again:

- The lease is lost while rows are on their way, and the next holder has written newer ones:
  the rows are owed again at once, so that whoever holds the lease now writes them last.
- A write that was given up may still be on its way, in a proxy or in the server's queue, and
  arrive after the one that was tried next: the rows are owed once more after `LATE`.

What is left is a process that loses its lease *and* dies before it has said so, and a write that
comes later than `LATE`. Such a row is stale or a ghost: never shown, as the ledger decides about
every hit, and found by the reconciler.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

LATE = timedelta(seconds=60)
"""How long a write that was given up may still arrive: longer than any store's time limit."""


class LateWrites:
    """What one drainer has to owe again, and when."""

    def __init__(self) -> None:
        self._due: dict[str, datetime] = {}

    def may_arrive(self, chunk_ids: Iterable[str], *, until: datetime) -> None:
        """Owe these again at `until`, or when they were due anyway, if that is later."""
        for chunk_id in chunk_ids:
            self._due[chunk_id] = max(until, self._due.get(chunk_id, until))

    def due(self, now: datetime) -> list[str]:
        return sorted(chunk_id for chunk_id, at in self._due.items() if at <= now)

    def owed(self, chunk_ids: Iterable[str]) -> None:
        """They were owed again: nothing is left to remember."""
        for chunk_id in chunk_ids:
            self._due.pop(chunk_id, None)
