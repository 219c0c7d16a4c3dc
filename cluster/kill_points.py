"""The places where a process may die between two stores, by name; tests kill it there.

A line `reached("indexer.texts_upserted")` stands right after every store call and every commit
of the writing paths. It does nothing unless the environment names the point:

- `PALIMPSEST_TEST_KILL_AT`: the process kills itself, once for each marker folder
  `PALIMPSEST_TEST_KILL_ONCE`, so that what is started again goes on. `name:3` means the third
  time that the point is reached.
- `PALIMPSEST_TEST_PAUSE_AT`: the process stops in the middle of what it does until the file
  `go` lies in the folder `PALIMPSEST_TEST_PAUSE_IN`, where it says so by the file `paused`; once
  for each folder. Meanwhile the test ends a store.
- `PALIMPSEST_TEST_SEEN_IN`: every point that is reached leaves a file of its name there.
"""

from __future__ import annotations

import os
import signal
import time
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
    "indexer.owed_again",
)
INGEST = (
    "ingest.encoder_chosen",
    "ingest.run_started",
    "ingest.vectors_put",
    "ingest.put",
    "ingest.vectors_dropped",
    "ingest.saved",
    "ingest.interrupted",
    "ingest.retired",
    "ingest.run_ended",
)
WORKER = ("worker.updated", "worker.ended")
UPLOAD = ("upload.committed",)
DELETE = ("delete.committed",)
USAGE = ("usage.reported",)
FORGET = (
    "forget.committed",
    "forget.lifted",
    "forget.drained",
    "forget.scrubbed",
    "forget.scanned",
    "forget.finished",
    "forget.collections_dropped",
)
RECONCILE = ("reconcile.owed", "reconcile.recorded")
REBUILD = ("rebuild.begun", "rebuild.owed", "rebuild.finished")
REEMBED = (
    "reembed.begun",
    "reembed.owed",
    "reembed.vectors_put",
    "reembed.switched",
    "reembed.pointed",
    "reembed.retired",
    "reembed.dropped",
    "reembed.vectors_erased",
)
TOKENS = ("tokens.put",)

POINTS = (
    *INDEXER,
    *INGEST,
    *WORKER,
    *UPLOAD,
    *DELETE,
    *USAGE,
    *FORGET,
    *RECONCILE,
    *REBUILD,
    *REEMBED,
    *TOKENS,
)


class KillPoint:
    """What the environment asks for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        name, _, times = environ.get("PALIMPSEST_TEST_KILL_AT", "").partition(":")
        self._name = name or None
        self._left = int(times or 1)
        self._marker = Path(environ.get("PALIMPSEST_TEST_KILL_ONCE", os.devnull))
        self._pause_at = environ.get("PALIMPSEST_TEST_PAUSE_AT")
        self._pause_in = Path(environ.get("PALIMPSEST_TEST_PAUSE_IN", os.devnull))
        self._seen_in = Path(environ.get("PALIMPSEST_TEST_SEEN_IN", os.devnull))
        self.watched = bool(name or self._pause_at or self._seen_in.is_dir())

    def reached(self, point: str) -> None:
        if self._seen_in.is_dir():
            (self._seen_in / point).touch()
        if point == self._pause_at and _first(self._pause_in / "paused"):
            while not (self._pause_in / "go").exists():
                time.sleep(0.01)
        if point != self._name:
            return
        self._left -= 1
        if self._left > 0 or (self._marker.is_dir() and not _first(self._marker / point)):
            return
        os.kill(os.getpid(), signal.SIGKILL)


_wanted = KillPoint(os.environ)


def reached(point: str) -> None:
    """Goes on, unless a test asked this process to die or to wait here."""
    if _wanted.watched:
        _wanted.reached(point)


def _first(mark: Path) -> bool:
    """Whether nobody was here before."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
