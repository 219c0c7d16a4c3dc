"""A part's process: started, or found running; asked, stopped, swept up after."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping

import psutil

from cluster.errors import StackError
from cluster.stack import logs, probes, processes
from cluster.stack.exits import PERMANENT
from cluster.stack.home import Home, room
from cluster.stack.ports import check_port
from cluster.stack.processes import Identity
from cluster.stack.spec import ServiceSpec

FULL_BYTES = 4 * 2**20
NEIGHBOURS = "127.0.0.1,localhost"


class Running:
    """One part at the level of the system. No decisions are made here."""

    def __init__(self, spec: ServiceSpec, home: Home) -> None:
        self.spec = spec
        self.identity: Identity | None = None
        self.started_at: float | None = None
        self._home = home
        self._log = home.log_of(spec.name)
        self._log_start = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._asked_at: float | None = None
        self._next_ask = 0.0
        self._answer: bool | None = None

    def adopt(self, identity: Identity, started_at: float) -> None:
        """Take over a process that another supervisor started."""
        self.identity, self.started_at = identity, started_at
        self._log_start = logs.size(self._log)

    def start(self) -> None:
        """Raises `StackError` when a port is taken or the program cannot be run."""
        self.sweep()
        own = {process.pid for process in processes.members(self._home.root)}
        for port in self.spec.ports:
            check_port(port, own=own)
        logs.bound(self._log)
        self._log_start = logs.size(self._log)
        environ = {**_inherited(), **self.spec.env}
        environ |= processes.marks(self._home.root, self.spec.name)
        try:
            with self._log.open("ab") as log:
                self._child = subprocess.Popen(  # noqa: S603 - the command of the spec
                    self.spec.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environ,
                    cwd=self._home.run,
                    start_new_session=True,
                )
        except OSError as error:
            raise StackError(f"cannot run {self.spec.command[0]}: {error}") from error
        self.identity = processes.identify(self._child.pid)
        self.started_at = time.time()
        self._answer, self._asked_at, self._next_ask = None, None, 0.0

    @property
    def alive(self) -> bool:
        if self._child is not None:
            return self._child.poll() is None
        return processes.is_alive(self.identity)

    @property
    def exit_permanent(self) -> bool:
        return self._child is not None and self._child.returncode == PERMANENT

    def last_words(self) -> str:
        """Why it may have ended, for people."""
        words = logs.last_lines(self._log, since=self._log_start)
        if room(self._home.root) < FULL_BYTES:
            return f"the disk of {self._home.root} is full; make room there\n{words}".strip()
        status = self._child.returncode if self._child is not None else None
        if status is not None and status < 0:
            return f"was ended by {_signal_name(-status)}"
        return words or f"ended with status {status} and no message"

    def probe(self, *, was_ready: bool) -> bool | None:
        """The newest answer, once; asks again in the background when it is time."""
        now = time.monotonic()
        answer, self._answer = self._answer, None
        if self._asked_at is not None and now - self._asked_at > 2 * self.spec.probe.timeout_s:
            answer, self._asked_at = False, None
        if self._asked_at is None and now >= self._next_ask:
            self._asked_at = now
            self._next_ask = now + (self.spec.probe.interval_s if was_ready else 0.25)
            threading.Thread(target=self._ask, args=(now, was_ready), daemon=True).start()
        return answer

    def stop(self) -> list[str]:
        """End the part and all that it started. Returns what had to be killed."""
        asked = signal.SIGINT if self.spec.stop_signal == "INT" else signal.SIGTERM
        killed: list[str] = []
        if self.identity is not None and self.alive:
            main = [p for p in self._members() if p.pid == self.identity.pid]
            killed = processes.end(main, within_s=self.spec.stop_within_s, first=asked)
        killed += self.sweep()
        return killed

    def kill(self) -> None:
        """End it without asking: it does not answer."""
        processes.end(self._members(), within_s=0.0, first=signal.SIGKILL)
        self._reap()

    def sweep(self) -> list[str]:
        """End what is left of former runs of this part."""
        killed = processes.end(self._members(), within_s=3.0)
        self._reap()
        return killed

    def _members(self) -> list[psutil.Process]:
        sessions = [self.identity] if self.identity is not None else []
        return processes.members(self._home.root, part=self.spec.name, sessions=sessions)

    def _reap(self) -> None:
        if self._child is not None:
            self._child.poll()

    def _ask(self, asked_at: float, was_ready: bool) -> None:
        age_s = time.time() - (self.started_at or 0.0)
        answer = probes.ask(self.spec.probe, age_s=age_s, was_ready=was_ready)
        if self._asked_at == asked_at:
            self._answer, self._asked_at = answer, None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _inherited() -> dict[str, str]:
    """The environment of the command that started the stack, without what would lead a part
    to another Ray, to settings other than those of its spec, or through a proxy to its
    neighbours."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("RAY_ADDRESS", "PWD", "OLDPWD") and not name.startswith("PALIMPSEST_")
    }
    return {**kept, **_straight_to_neighbours(kept), "PYTHONUNBUFFERED": "1"}


def _straight_to_neighbours(environ: Mapping[str, str]) -> dict[str, str]:
    """In both spellings: programs differ in which one they read first."""
    lower, upper = environ.get("no_proxy"), environ.get("NO_PROXY")
    return {
        name: ",".join(filter(None, (excepted, NEIGHBOURS)))
        for name, excepted in (("no_proxy", lower or upper), ("NO_PROXY", upper or lower))
    }
