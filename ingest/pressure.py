"""How far may the ledger run ahead of the indexes? The writer waits, and whoever waits is told.

What is not indexed yet is not lost, only invisible; but a backlog without a bound would fill the
disk, and make the documents of everybody else late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from cluster.errors import IndexesBehind, StoreError
from cluster.settings import IndexerSettings
from ingest.link import LedgerLink

LOOK_EVERY_S = 0.5
TELL_EVERY_S = 5.0

Say = Callable[[str], None]


class Room:
    """Called before every write: returns when the outbox has room for it."""

    def __init__(
        self,
        link: LedgerLink,
        settings: IndexerSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._most = settings.max_open_entries
        self._patience_s = settings.patience_s
        self._sleep = sleep
        self._monotonic = monotonic

    def __call__(self) -> None:
        """`IndexesBehind` when for `indexer.patience_s` the entries owed never became fewer than
        ever before; what was written until then is kept."""
        fewest: int | None = None
        moved_at = self._monotonic()
        while (owed := owed_entries(self._link)) > self._most:
            if fewest is None or owed < fewest:
                fewest, moved_at = owed, self._monotonic()
            elif self._monotonic() - moved_at > self._patience_s:
                raise IndexesBehind(
                    f"the indexes are {owed:,} entries behind (indexer.max_open_entries is "
                    f"{self._most:,}) and have not come nearer for {self._patience_s:g} s; "
                    "`palimpsest status` tells why. What was ingested is kept: once the indexer "
                    "goes on, run the same command again"
                )
            self._sleep(LOOK_EVERY_S)


class Teller:
    """While it is entered, says now and then that the writer waits, as the writer may be another
    process. Uses `link` from a thread of its own, and closes it."""

    def __init__(
        self,
        link: LedgerLink,
        settings: IndexerSettings,
        say: Say,
        *,
        every_s: float = TELL_EVERY_S,
    ) -> None:
        self._link = link
        self._most = settings.max_open_entries
        self._say = say
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="backlog", daemon=True)

    def __enter__(self) -> Teller:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _tell(self) -> None:
        waiting = False
        with self._link:
            while not self._stop.wait(self._every_s):
                try:
                    owed = owed_entries(self._link)
                except StoreError:
                    continue  # the run meets the same, and tells it
                if owed > self._most:
                    self._say(f"waiting for the indexes: {owed:,} owed")
                elif waiting:
                    self._say("ingesting")
                waiting = owed > self._most


def owed_entries(link: LedgerLink) -> int:
    count, _ = link.call(lambda tx: tx.outbox.lag())
    return count
