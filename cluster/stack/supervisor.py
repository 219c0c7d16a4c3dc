"""The detached process that keeps the parts running: `python -m cluster.stack.supervisor HOME`.

It reads the specs that the command left, takes over parts that still run, and from then on
starts, probes and restarts until it is asked to stop (SIGTERM) or its home is gone. SIGHUP
asks it to try failed parts again. There is one per home: it holds a lock.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType

from cluster.errors import StackError
from cluster.stack import logs, processes
from cluster.stack.home import Home
from cluster.stack.phases import Part, Phase, Seen, again, decide, fell
from cluster.stack.running import Running
from cluster.stack.spec import ServiceSpec, in_order, read_specs
from cluster.stack.state import (
    PartState,
    StackState,
    boot_id,
    locked,
    read_state,
    write_state,
)

TICK_S = 0.1
BOUND_LOGS_S = 10.0


class Supervisor:
    def __init__(self, home: Home, specs: Sequence[ServiceSpec]) -> None:
        self._home = home
        self._specs = in_order(specs)
        self._names = {spec.name for spec in specs}
        self._parts = {spec.name: Part() for spec in specs}
        self._running = {spec.name: Running(spec, home) for spec in specs}
        self._stop = False
        self._retry = False
        self._written = ""
        self._next_bound = 0.0

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_retry)
        self._adopt()
        while not self._stop and self._home.run.is_dir():
            self._tick(time.monotonic())
            time.sleep(TICK_S)
        self._end()

    def _on_stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stop = True

    def _on_retry(self, _signal: int, _frame: FrameType | None) -> None:
        self._retry = True

    def _adopt(self) -> None:
        """Parts of a dead supervisor: keep those that would be started the same way."""
        state = read_state(self._home.state_file)
        for old in state.parts if state else ():
            running = self._running.get(old.name)
            same = running is not None and running.spec.digest == old.digest
            if running is None or not same or old.identity is None:
                continue
            if processes.is_alive(old.identity):
                running.adopt(old.identity, old.started_at or time.time())
                self._parts[old.name] = Part(
                    phase="starting", since=time.monotonic(), restarts=old.restarts
                )
                _say(f"{old.name}: took over process {old.identity.pid}")

    def _tick(self, now: float) -> None:
        if self._retry:
            self._retry = False
            for name, part in self._parts.items():
                if part.phase == "failed":
                    self._parts[name] = again(part, now=now)
        for spec in self._specs:
            self._look_at(spec, now)
        if now >= self._next_bound:
            self._next_bound = now + BOUND_LOGS_S
            for path in self._home.logs.glob("*.log"):
                with suppress(OSError):
                    logs.bound(path)
        self._write()

    def _look_at(self, spec: ServiceSpec, now: float) -> None:
        part, running = self._parts[spec.name], self._running[spec.name]
        was_ready = part.phase == "ready"
        watched = part.phase in ("starting", "ready")
        alive = watched and running.alive
        seen = Seen(
            now=now,
            alive=alive,
            needs_met=all(self._parts[name].phase == "ready" for name in self._needs(spec)),
            probe=running.probe(was_ready=was_ready) if alive else None,
            exit_permanent=running.exit_permanent,
            last_words=running.last_words() if watched and not (alive and was_ready) else "",
        )
        after, action = decide(
            part,
            seen,
            ready_within_s=spec.probe.ready_within_s,
            allowed_misses=spec.probe.failures,
        )
        self._parts[spec.name] = after
        if action == "kill":
            running.kill()
        elif action == "start":
            self._start(spec, now)
        if after.phase != part.phase:
            why = after.error.splitlines()[-1:] if after.phase in ("backing_off", "failed") else []
            _say(" ".join([f"{spec.name}: {part.phase} -> {after.phase}", *why]))

    def _start(self, spec: ServiceSpec, now: float) -> None:
        try:
            self._running[spec.name].start()
        except (StackError, OSError) as error:
            self._parts[spec.name] = fell(self._parts[spec.name], now=now, error=str(error))
            _say(f"{spec.name}: {error}")
            return
        self._write()
        for other in self._specs:
            if spec.name in other.restart_with and self._running[other.name].alive:
                _say(f"{other.name}: starts again because {spec.name} did")
                # What it would put in order is gone with what it stood on.
                self._running[other.name].kill()
                self._parts[other.name] = replace(
                    again(self._parts[other.name], now=now),
                    restarts=self._parts[other.name].restarts + 1,
                )

    def _needs(self, spec: ServiceSpec) -> set[str]:
        return set(spec.after) & self._names

    def _end(self) -> None:
        for spec in reversed(self._specs):
            killed = self._running[spec.name].stop()
            self._parts[spec.name] = Part(phase="stopped")
            _say(f"{spec.name}: stopped" + (f", had to kill {', '.join(killed)}" if killed else ""))
            self._write()

    def _write(self) -> None:
        state = StackState(
            boot=boot_id(),
            supervisor=_self(),
            parts=tuple(self._state_of(spec) for spec in self._specs),
        )
        text = repr(state)
        if text != self._written and self._home.run.is_dir():
            with suppress(OSError):
                write_state(self._home.state_file, state)
                self._written = text

    def _state_of(self, spec: ServiceSpec) -> PartState:
        part, running = self._parts[spec.name], self._running[spec.name]
        runs: tuple[Phase, ...] = ("starting", "ready")
        return PartState(
            name=spec.name,
            phase=part.phase,
            identity=running.identity if part.phase in runs else None,
            started_at=running.started_at if part.phase in runs else None,
            restarts=part.restarts,
            error=part.error,
            endpoint=spec.endpoint,
            log=str(self._home.log_of(spec.name)),
            digest=spec.digest,
            permanent=part.permanent,
        )


def main(root: Path) -> None:
    """Detaches: the caller's child ends at once, the supervisor is nobody's child."""
    if os.fork():
        os._exit(0)
    home = Home(root)
    with locked(home.supervisor_lock, wait=False) as mine:
        if mine:
            Supervisor(home, read_specs(home.specs_file)).run()


def _self() -> processes.Identity:
    found = processes.identify(os.getpid())
    if found is None:
        raise StackError("this process does not find itself")
    return found


def _say(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
