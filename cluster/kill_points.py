"""The places where a process may die between two stores, by name; tests kill it there.

A line `reached("indexer.texts_upserted")` stands right after every store call and every commit
of the writing paths. It does nothing unless `PALIMPSEST_TEST_KILL_AT` names the point: then the
process kills itself, once for each marker folder `PALIMPSEST_TEST_KILL_ONCE`, so that what is
started again goes on. `name:3` means the third time that the point is reached.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

INDEXER = (
    "indexer.taken",
    "indexer.vectors_deleted",
    "indexer.texts_deleted",
    "indexer.vectors_upserted",
    "indexer.texts_upserted",
    "indexer.done",
    "indexer.probed",
    "indexer.published",
    "indexer.flushed",
)
INGEST = (
    "ingest.run_started",
    "ingest.vectors_put",
    "ingest.put",
    "ingest.problems_added",
    "ingest.retired",
    "ingest.run_ended",
)
DELETE = ("delete.committed",)

POINTS = (*INDEXER, *INGEST, *DELETE)


class KillPoint:
    """What the environment asks for; `None` for nothing."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        name, _, times = environ.get("PALIMPSEST_TEST_KILL_AT", "").partition(":")
        self.name = name or None
        self._left = int(times or 1)
        self._marker = Path(environ.get("PALIMPSEST_TEST_KILL_ONCE", os.devnull))

    def reached(self) -> None:
        self._left -= 1
        if self._left > 0:
            return
        if self._marker.is_dir():
            try:
                (self._marker / str(self.name)).touch(exist_ok=False)
            except FileExistsError:
                return
        os.kill(os.getpid(), signal.SIGKILL)


_wanted = KillPoint(os.environ)


def reached(point: str) -> None:
    """Goes on, unless a test asked this process to die here."""
    if _wanted.name == point:
        _wanted.reached()
