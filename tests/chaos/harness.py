"""One scenario from an empty house to its end, with one kill on the way.

Two processes of ours do the work: the driver (a user's commands, one after the other) and the
indexer. Whichever ends before the scenario does is started again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.house import DIM
from chaos.servers import Server
from chaos.snapshot import Difference, State, compare

ROOT = Path(__file__).parents[2]
WITHIN_S = 300.0
LOOK_EVERY_S = 0.02
MOST_STARTS = 8
AWAY_S = 1.0
"""How long a killed store stays away after our process goes on."""

INDEXER = "indexer"
"""Killed as a store: the one process that writes the embedded text index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """`victim` is killed when one of our processes reaches `point`: that process itself
    (`None`), or a store, by name."""

    point: str
    victim: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`recovered_s`: from the kill until the step that it hit was complete. `error`: why the
    scenario did not come to its end."""

    kill: Kill | None
    reached: bool
    took_s: float
    starts: int
    recovered_s: float | None = None
    difference: Difference | None = None
    error: str | None = None
    state: State | None = None

    @property
    def good(self) -> bool:
        return self.reached and self.difference is not None and self.difference.none


class Stage:
    """A folder, and the stores that all scenarios share; the folder's path stays the same, as
    it is part of what is ingested."""

    def __init__(self, folder: Path, servers: Sequence[Server]) -> None:
        self._folder = folder
        self._servers = {server.name: server for server in servers}

    def undisturbed(self) -> Outcome:
        """Its state is what the others are compared with; `seen` afterwards are the points."""
        outcome = self._play(None)
        if outcome.state is None:
            raise RuntimeError(f"the scenario does not even pass undisturbed: {outcome.error}")
        return outcome

    @property
    def seen(self) -> set[str]:
        """Points that the last scenario reached."""
        return {path.name for path in (self._folder / "seen").iterdir()}

    def play(self, kill: Kill, *, expected: State) -> Outcome:
        outcome = self._play(kill)
        if outcome.state is None:
            return outcome
        return replace(outcome, difference=compare(outcome.state, expected), state=None)

    def _play(self, kill: Kill | None) -> Outcome:
        self._make_empty()
        began = time.monotonic()
        with _Run(self._folder, self._environment(kill)) as run:
            error = self._watch(run, kill, until=began + WITHIN_S)
        end = self._folder / "end.json"
        return Outcome(
            kill=kill,
            reached=kill is None or _mark(self._folder, kill).exists(),
            took_s=time.monotonic() - began,
            starts=run.starts,
            recovered_s=_recovered_s(self._folder, kill) if kill and not error else None,
            error=error,
            state=json.loads(end.read_text(encoding="utf-8")) if not error else None,
        )

    def _watch(self, run: _Run, kill: Kill | None, *, until: float) -> str | None:
        waiting = kill is not None and kill.victim is not None
        while not run.over:
            if run.starts > MOST_STARTS or time.monotonic() > until:
                return f"not at its end after {run.starts} starts: {run.last_words()}"
            if waiting and kill is not None and _mark(self._folder, kill).exists():
                self._kill_store(str(kill.victim), run)
                waiting = False
            run.start_again()
            time.sleep(LOOK_EVERY_S)
        return None

    def _kill_store(self, name: str, run: _Run) -> None:
        go = self._folder / "pause" / "go"
        if name == INDEXER:
            run.kill_indexer()
            go.touch()
            return
        server = self._servers[name]
        server.kill()
        go.touch()
        time.sleep(AWAY_S)
        server.start()

    def _make_empty(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        for name in ("home", "once", "pause", "seen"):
            (self._folder / name).mkdir(parents=True)
        for server in self._servers.values():
            server.empty()

    def _environment(self, kill: Kill | None) -> dict[str, str]:
        told = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PALIMPSEST_") or name.startswith("PALIMPSEST_TEST_DATA")
        }
        told |= {
            "PALIMPSEST_CONFIG": os.devnull,
            "PALIMPSEST_HOME": str(self._folder / "home"),
            "PALIMPSEST_ENCODER__BACKEND": "hashing",
            "PALIMPSEST_ENCODER__HASHING_DIM": str(DIM),
            "PALIMPSEST_TEST_SEEN_IN": str(self._folder / "seen"),
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
            "PALIMPSEST_CHUNK__MAX_TOKENS": "64",
            "PALIMPSEST_CHUNK__TARGET_TOKENS": "48",
            "OMP_NUM_THREADS": "1",
        }
        for server in self._servers.values():
            told |= server.environ
        return told | _wish(self._folder, kill)


class _Run:
    """The two processes."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.starts = 0
        self._folder, self._environ = folder, environ
        self._said = (folder / "said.log").open("ab")
        self._driver = self._start("chaos.driver", str(folder))
        self._indexer = self._start("chaos.indexing", str(folder / "beat"))

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in (self._driver, self._indexer):
            process.kill()
            process.wait()
        self._said.close()

    @property
    def over(self) -> bool:
        return self._driver.poll() == 0

    def start_again(self) -> None:
        """Whoever has ended."""
        if self._driver.poll() not in (None, 0):
            self._driver = self._start("chaos.driver", str(self._folder))
        if self._indexer.poll() is not None:
            self._indexer = self._start("chaos.indexing", str(self._folder / "beat"))

    def kill_indexer(self) -> None:
        self._indexer.kill()
        self._indexer.wait()

    def last_words(self) -> str:
        said = (self._folder / "said.log").read_text(encoding="utf-8", errors="replace")
        return said[-3000:]

    def _start(self, module: str, argument: str) -> subprocess.Popen[bytes]:
        self.starts += 1
        return subprocess.Popen(
            [sys.executable, "-m", module, argument],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            env=dict(self._environ),
            cwd=self._folder,
        )


def _wish(folder: Path, kill: Kill | None) -> dict[str, str]:
    if kill is None:
        return {}
    if kill.victim is None:
        return {
            "PALIMPSEST_TEST_KILL_AT": kill.point,
            "PALIMPSEST_TEST_KILL_ONCE": str(folder / "once"),
        }
    return {
        "PALIMPSEST_TEST_PAUSE_AT": kill.point,
        "PALIMPSEST_TEST_PAUSE_IN": str(folder / "pause"),
    }


def _mark(folder: Path, kill: Kill) -> Path:
    """What is there once the point was reached."""
    if kill.victim is None:
        return folder / "once" / kill.point.partition(":")[0]
    return folder / "pause" / "paused"


def _recovered_s(folder: Path, kill: Kill) -> float | None:
    mark = _mark(folder, kill)
    if not mark.exists():
        return None
    killed_at = mark.stat().st_mtime
    later = [step.stat().st_mtime - killed_at for step in (folder / "done").iterdir()]
    later = [passed for passed in later if passed >= 0]
    return min(later, default=None)
