"""What should happen to a part now? Pure: the supervisor reports, these functions decide.

waiting -> starting -> ready
   ^          |          |    died, not ready in time, or probed in vain
   |          v          v
   +----- backing_off <--+--> failed (too often, or the part says that it is no use)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Phase = Literal["waiting", "starting", "ready", "backing_off", "failed", "stopped"]
Action = Literal["none", "start", "kill"]

STRIKES = 5
"""Ends in a row, each less than `STABLE_S` after the part was ready, that make it `failed`."""

STABLE_S = 30.0
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`since` is the moment the phase began, in seconds of a clock that never goes back.
    `permanent`: it failed in a way that another start would not mend."""

    phase: Phase = "waiting"
    since: float = 0.0
    strikes: int = 0
    missed_probes: int = 0
    restarts: int = 0
    error: str = ""
    permanent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """`probe`: the newest answer since the last look; `None` when there is none."""

    now: float
    alive: bool
    needs_met: bool
    probe: bool | None = None
    exit_permanent: bool = False
    last_words: str = ""


def decide(
    part: Part, seen: Seen, *, ready_within_s: float, allowed_misses: int
) -> tuple[Part, Action]:
    """The part as it is from now on, and what to do to its process first."""
    match part.phase:
        case "waiting":
            return _while_waiting(part, seen)
        case "backing_off":
            return _while_backing_off(part, seen)
        case "starting":
            return _while_starting(part, seen, ready_within_s)
        case "ready":
            return _while_ready(part, seen, allowed_misses)
        case "failed" | "stopped":
            return part, "none"


def pause_s(strikes: int) -> float:
    """How long to wait before the next start: 0.5, 1, 2, … at most 30 seconds."""
    return float(min(0.5 * 2 ** max(strikes - 1, 0), LONGEST_PAUSE_S))


def fell(part: Part, *, now: float, error: str, permanent: bool = False) -> Part:
    """The part after it ended, or could not be started."""
    stable = part.phase == "ready" and now - part.since >= STABLE_S
    strikes = 1 if stable else part.strikes + 1
    phase: Phase = "failed" if permanent or strikes >= STRIKES else "backing_off"
    return replace(
        part,
        phase=phase,
        since=now,
        strikes=strikes,
        missed_probes=0,
        error=error,
        permanent=permanent,
    )


def again(part: Part, *, now: float) -> Part:
    """Start anew without blame: someone asked for it, or what it stands on was restarted."""
    return Part(phase="waiting", since=now, restarts=part.restarts, error=part.error)


def _while_waiting(part: Part, seen: Seen) -> tuple[Part, Action]:
    if not seen.needs_met:
        return part, "none"
    return replace(part, phase="starting", since=seen.now, missed_probes=0), "start"


def _while_backing_off(part: Part, seen: Seen) -> tuple[Part, Action]:
    if seen.now - part.since < pause_s(part.strikes):
        return part, "none"
    return replace(part, phase="waiting", since=seen.now, restarts=part.restarts + 1), "none"


def _while_starting(part: Part, seen: Seen, ready_within_s: float) -> tuple[Part, Action]:
    if not seen.alive:
        return _ended(part, seen), "none"
    if seen.probe:
        return replace(part, phase="ready", since=seen.now, error=""), "none"
    if seen.now - part.since > ready_within_s:
        error = f"was not ready after {ready_within_s:.0f} s; {seen.last_words}"
        return fell(part, now=seen.now, error=error), "kill"
    return part, "none"


def _while_ready(part: Part, seen: Seen, allowed_misses: int) -> tuple[Part, Action]:
    if not seen.alive:
        return _ended(part, seen), "none"
    if seen.probe is None:
        return part, "none"
    missed = 0 if seen.probe else part.missed_probes + 1
    if missed < allowed_misses:
        return replace(part, missed_probes=missed), "none"
    error = f"hung: {missed} probes in a row without an answer"
    return fell(part, now=seen.now, error=error), "kill"


def _ended(part: Part, seen: Seen) -> Part:
    return fell(
        part,
        now=seen.now,
        error=seen.last_words or "ended without a word",
        permanent=seen.exit_permanent,
    )
