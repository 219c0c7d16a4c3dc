"""Which processes belong to a stack, are they the ones we started, and how are they ended?

A process id alone proves nothing: ids are used again. A process is known by its id and the
moment it started. What a part started itself is found by the marks in its environment, by
its session, and PostgreSQL's children, which wipe both, by their working directory.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

HOME_MARK = "_PALIMPSEST_STACK"
PART_MARK = "_PALIMPSEST_PART"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`started` counts clock ticks since the machine was booted where the system tells them,
    else hundredths of a second since 1970."""

    pid: int
    started: int


def identify(pid: int) -> Identity | None:
    """The process of that id at this moment. Dead, or dead and not yet reaped: `None`."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Identity(pid=pid, started=_started(process))
    except psutil.Error:
        return None


def is_alive(identity: Identity | None) -> bool:
    return identity is not None and identify(identity.pid) == identity


def marks(root: Path, part: str) -> dict[str, str]:
    """What the environment of a part carries, so that its descendants can be found."""
    return {HOME_MARK: str(root), PART_MARK: part}


def members(
    root: Path, *, part: str | None = None, sessions: Collection[Identity] = ()
) -> list[psutil.Process]:
    """The living processes of the stack in `root` (of one part of it), without this one.

    `sessions` are the processes that the parts were started as: each leads a session.
    """
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and _belongs(process, root, part, sessions):
                found.append(process)
        except psutil.Error:
            continue
    return found


def end(
    processes: Iterable[psutil.Process],
    *,
    within_s: float,
    first: signal.Signals = signal.SIGTERM,
) -> list[str]:
    """Ask with `first`, wait, then kill. Returns the names of those that had to be killed."""
    alive = list(processes)
    for process in alive:
        _send(process, first)
    alive = _wait(alive, within_s)
    killed = [_name(process) for process in alive]
    for process in alive:
        _send(process, signal.SIGKILL)
    _wait(alive, 5.0)
    return killed


def memory_bytes(processes: Iterable[psutil.Process]) -> int:
    """Memory in use; what several processes share is divided among them where the system
    tells that, else counted once for each."""
    return sum(_memory(process) for process in processes)


def _started(process: psutil.Process) -> int:
    try:
        line = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return round(process.create_time() * 100)
    # The name in parentheses may hold anything; the fields behind it may not.
    return int(line.rsplit(")", 1)[1].split()[19])


def _memory(process: psutil.Process) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _belongs(
    process: psutil.Process, root: Path, part: str | None, sessions: Collection[Identity]
) -> bool:
    if process.status() == psutil.STATUS_ZOMBIE:
        return False
    environment = _environment(process)
    if environment.get(HOME_MARK) == str(root):
        return part is None or environment.get(PART_MARK) == part
    return _in_session(process, sessions) or (
        part in (None, "postgres") and _is_postgres_of(process, root)
    )


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError, ValueError):
        return {}


def _in_session(process: psutil.Process, sessions: Collection[Identity]) -> bool:
    leaders = {identity.pid: identity for identity in sessions}
    try:
        leader = leaders.get(os.getsid(process.pid))
    except OSError:
        return False
    if leader is None:
        return False
    # While one member lives, the id of the session is not given to another process.
    now = identify(leader.pid)
    return (now is None or now == leader) and _started(process) >= leader.started


def _is_postgres_of(process: psutil.Process, root: Path) -> bool:
    try:
        return process.name() == "postgres" and Path(process.cwd()) == root / "postgres"
    except (psutil.Error, OSError):
        return False


def _send(process: psutil.Process, what: signal.Signals) -> None:
    try:
        process.send_signal(what)
        if what == signal.SIGTERM:
            # A stopped process cannot act on the request.
            process.send_signal(signal.SIGCONT)
    except psutil.Error:
        return


def _wait(processes: list[psutil.Process], within_s: float) -> list[psutil.Process]:
    deadline = time.monotonic() + within_s
    alive = [process for process in processes if _lives(process)]
    while alive and time.monotonic() < deadline:
        time.sleep(0.05)
        alive = [process for process in alive if _lives(process)]
    return alive


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.pid})"
    except psutil.Error:
        return str(process.pid)
