"""Start, stop and look at the local stack: what commands call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from cluster.errors import StackError
from cluster.settings import PREFIX, Settings
from cluster.stack import logs, processes, refusal
from cluster.stack.home import Home, home_of, prepare_home, room, was_used
from cluster.stack.ports import check_port
from cluster.stack.running import Running
from cluster.stack.services import Endpoints, endpoints
from cluster.stack.spec import ServiceSpec, in_order, read_specs, to_json
from cluster.stack.state import PartState, StackState, locked, read_state

Say = Callable[[str], None]

POLL_S = 0.1
SUPERVISOR = "supervisor"
SUPERVISOR_STARTS_WITHIN_S = 30.0
DOWN_WITHIN_S = 120.0
TAKES_UP_WITHIN_S = 3.0
TENANT_VARIABLE = f"{PREFIX}TENANT"


class FailedForGood(StackError):
    """A part says itself that another start would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """`state`: the phase, or `dead` when its process is gone and nobody looks after it."""

    name: str
    state: str
    pid: int | None
    uptime_s: float | None
    restarts: int
    memory_bytes: int
    endpoint: str
    log: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StackStatus:
    """`supervisor`: `running`, `dead` (parts may still run) or `none` (the stack is down)."""

    supervisor: str
    supervisor_pid: int | None
    home: str
    disk_used_bytes: int
    disk_free_bytes: int
    parts: tuple[PartStatus, ...]


def up(settings: Settings, specs: Sequence[ServiceSpec], *, say: Say = print) -> Endpoints:
    """Start what does not run and wait until all parts are ready.

    Raises `StackError` with the way out. Then nothing of this start is left running, unless
    the stack ran before.
    """
    home = home_of(settings)
    prepare_home(home)
    with locked(home.command_lock, wait=True):
        refusal.forget(home.refusal_file)
        try:
            _start(home, specs, say)
        except FailedForGood as error:
            refusal.remember(home.refusal_file, specs, str(error))
            raise
    return endpoints(settings)


def ensure_up(settings: Settings, specs: Sequence[ServiceSpec], *, say: Say = print) -> Endpoints:
    """For commands that need the stack: start it, and say so, unless it runs. What failed for
    good is not started again unasked: `StackError` with the reason of that time."""
    if is_up(settings, specs):
        return endpoints(settings)
    reason = refusal.remembered(home_of(settings).refusal_file, specs)
    if reason is not None:
        raise StackError(f"{reason}\nwhen that is mended, `palimpsest up` tries again")
    say("starting the local stack (the first time takes about a minute) …")
    return up(settings, specs, say=say)


def is_up(settings: Settings, specs: Sequence[ServiceSpec]) -> bool:
    """Whether a supervisor runs and calls each of these parts ready."""
    home = home_of(settings)
    state = read_state(home.state_file) if was_used(home) else None
    if state is None or not processes.is_alive(state.supervisor):
        return False
    ready = {part.name for part in state.parts if part.phase == "ready"}
    return {spec.name for spec in specs} <= ready


def tenant_of_stack(settings: Settings) -> str | None:
    """The tenant that the parts in this home were started for; `None` when none were."""
    specs_file = home_of(settings).specs_file
    if not specs_file.is_file():
        return None
    named = (spec.env.get(TENANT_VARIABLE) for spec in read_specs(specs_file))
    return next((tenant for tenant in named if tenant), None)


def down(settings: Settings, *, say: Say = print) -> bool:
    """Stop everything, also what a killed supervisor left. False when nothing ran."""
    home = home_of(settings)
    if not was_used(home):
        say("nothing was running")
        return False
    with locked(home.command_lock, wait=True):
        refusal.forget(home.refusal_file)
        stopped = _stop_all(home, say)
    if not stopped:
        say("nothing was running")
    return stopped


def status(settings: Settings) -> StackStatus:
    """Looks at the processes themselves, so that it is right when the supervisor is dead."""
    home = home_of(settings)
    state = read_state(home.state_file) if was_used(home) else None
    alive = state is not None and processes.is_alive(state.supervisor)
    supervisor = "running" if alive else "dead" if state and _left(home, state) else "none"
    parts = state.parts if state and supervisor != "none" else ()
    return StackStatus(
        supervisor=supervisor,
        supervisor_pid=state.supervisor.pid if state and alive else None,
        home=str(home.root),
        disk_used_bytes=_disk_used(home.root),
        disk_free_bytes=room(_existing(home.root)),
        parts=tuple(_part_status(home, part, supervised=alive) for part in parts),
    )


def _start(home: Home, specs: Sequence[ServiceSpec], say: Say) -> None:
    state = read_state(home.state_file)
    if state and processes.is_alive(state.supervisor):
        _check_same(state, specs)
        if all(part.phase == "ready" for part in state.parts):
            say("already running")
            return
        _ask_again(home, state)
        _wait_ready(home, state.supervisor, say)
        return
    if state and _left(home, state):
        say("the supervisor is gone; taking over what it left running")
    _check_ports(home, specs, state)
    supervisor = _launch(home, specs, state)
    try:
        _wait_ready(home, supervisor, say)
    except StackError:
        _stop_all(home, lambda _line: None)
        raise


def _check_same(state: StackState, specs: Sequence[ServiceSpec]) -> None:
    running = {part.name: part.digest for part in state.parts}
    wanted = {spec.name: spec.digest for spec in specs}
    if running != wanted:
        names = sorted(name for name in running | wanted if running.get(name) != wanted.get(name))
        raise StackError(
            f"the stack runs with other settings than these ({', '.join(names)} would differ); "
            "run `palimpsest down` first, then `palimpsest up`"
        )


def _ask_again(home: Home, state: StackState) -> None:
    """Have failed parts tried again; returns when the supervisor has taken that up."""
    failed = _failed(state)
    _signal(state.supervisor, signal.SIGHUP)
    deadline = time.monotonic() + TAKES_UP_WITHIN_S
    while failed and _failed(read_state(home.state_file)) & failed:
        if time.monotonic() > deadline:
            return
        time.sleep(POLL_S)


def _signal(supervisor: processes.Identity, what: signal.Signals) -> None:
    """It may have ended since it was seen alive; who waits for it sees that next."""
    with suppress(ProcessLookupError):
        os.kill(supervisor.pid, what)


def _failed(state: StackState | None) -> set[str]:
    return {part.name for part in state.parts if part.phase == "failed"} if state else set()


def _check_ports(home: Home, specs: Sequence[ServiceSpec], state: StackState | None) -> None:
    own = {process.pid for process in _left(home, state)}
    for spec in specs:
        for port in spec.ports:
            check_port(port, own=own)


def _launch(
    home: Home, specs: Sequence[ServiceSpec], state: StackState | None
) -> processes.Identity:
    """Start the detached supervisor; returns when it has written its first state."""
    specs_file = home.specs_file
    specs_file.touch(mode=0o600)
    specs_file.write_text(to_json(in_order(specs)), encoding="utf-8")
    with home.log_of(SUPERVISOR).open("ab") as log:
        subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "cluster.stack.supervisor", str(home.root)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home.run,
            env={**os.environ, **processes.marks(home.root, SUPERVISOR)},
            start_new_session=True,
        )
    before = state.supervisor if state else None
    deadline = time.monotonic() + SUPERVISOR_STARTS_WITHIN_S
    while time.monotonic() < deadline:
        now = read_state(home.state_file)
        if now and now.supervisor != before and processes.is_alive(now.supervisor):
            return now.supervisor
        time.sleep(POLL_S)
    raise StackError(f"the supervisor did not start:\n{logs.last_lines(home.log_of(SUPERVISOR))}")


def _wait_ready(home: Home, supervisor: processes.Identity, say: Say) -> None:
    began = time.monotonic()
    known: dict[str, str] = {}
    while True:
        state = read_state(home.state_file)
        if not processes.is_alive(supervisor):
            words = logs.last_lines(home.log_of(SUPERVISOR))
            raise StackError(f"the supervisor ended while parts were starting:\n{words}")
        for part in state.parts if state else ():
            if known.get(part.name) != part.phase:
                known[part.name] = part.phase
                _report(part, time.monotonic() - began, say)
        if known and set(known.values()) == {"ready"}:
            return
        time.sleep(POLL_S)


def _report(part: PartState, after_s: float, say: Say) -> None:
    if part.phase == "failed":
        kind = FailedForGood if part.permanent else StackError
        raise kind(f"{part.name} does not start: {part.error}\nits log is {part.log}")
    if part.phase == "ready":
        say(f"  {part.name:<9} ready after {after_s:4.1f} s  {part.endpoint}".rstrip())
    elif part.phase == "backing_off":
        say(f"  {part.name:<9} ended, is tried again: {_last_line(part.error)}")


def _stop_all(home: Home, say: Say) -> bool:
    state = read_state(home.state_file)
    left = _left(home, state)
    if state and processes.is_alive(state.supervisor):
        _stop_supervisor(home, state, say)
    elif state and home.specs_file.is_file():
        _stop_orphans(home, state, say)
    killed = processes.end(_left(home, state), within_s=10.0)
    if killed:
        say(f"  had to kill {', '.join(killed)}")
    elif left and not (state and state.parts):
        say(f"  stopped {len(left)} processes that were left over")
    for path in (home.state_file, home.specs_file):
        path.unlink(missing_ok=True)
    return bool(left)


def _stop_supervisor(home: Home, state: StackState, say: Say) -> None:
    _signal(state.supervisor, signal.SIGTERM)
    deadline = time.monotonic() + DOWN_WITHIN_S
    told: set[str] = set()
    while time.monotonic() < deadline:
        gone = not processes.is_alive(state.supervisor)
        now = read_state(home.state_file)
        for part in now.parts if now else ():
            if part.phase == "stopped" and part.name not in told:
                told.add(part.name)
                say(f"  {part.name:<9} stopped")
        if gone:
            return
        time.sleep(POLL_S)


def _stop_orphans(home: Home, state: StackState, say: Say) -> None:
    """What a killed supervisor left, in the order and by the signals that it would have used."""
    parts = {part.name: part for part in state.parts}
    for spec in reversed(in_order(read_specs(home.specs_file))):
        part = parts.get(spec.name)
        if part and part.identity and processes.is_alive(part.identity):
            running = Running(spec, home)
            running.adopt(part.identity, part.started_at or 0.0)
            running.stop()
            say(f"  {spec.name:<9} stopped")


def _left(home: Home, state: StackState | None) -> list[psutil.Process]:
    """Every living process of this home, the supervisor included."""
    return processes.members(home.root, sessions=state.identities if state else ())


def _part_status(home: Home, part: PartState, *, supervised: bool) -> PartStatus:
    alive = processes.is_alive(part.identity)
    sessions = [part.identity] if part.identity else []
    found = processes.members(home.root, part=part.name, sessions=sessions) if alive else []
    return PartStatus(
        name=part.name,
        state=part.phase if supervised else ("unwatched" if alive else "dead"),
        pid=part.identity.pid if part.identity and alive else None,
        uptime_s=time.time() - part.started_at if part.started_at and alive else None,
        restarts=part.restarts,
        memory_bytes=processes.memory_bytes(found),
        endpoint=part.endpoint,
        log=part.log,
        error=part.error,
    )


def _disk_used(root: Path) -> int:
    total = 0
    for folder, _folders, files in os.walk(root):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except OSError:
                continue
    return total


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _last_line(text: str) -> str:
    lines = text.splitlines()
    return lines[-1] if lines else ""
