# ruff: noqa: T201 - the table goes to the terminal
"""`python -m chaos`: kill our processes at every point, and the stores at five; print a table."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from chaos.harness import Kill, Outcome, Stage
from chaos.places import PLACES, victims
from cluster.kill_points import POINTS

STORE_POINTS = (
    "ingest.put",
    "indexer.taken",
    "indexer.vectors_upserted",
    "indexer.published",
    "delete.committed",
)
"""Where each store is killed."""

HEADS = ("point", "killed", "recovered", "took", "lost", "ghosts", "twice", "stale", "")


def main() -> int:
    asked = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends with us
    bad = [outcome for place in asked.on for outcome in _play(place, asked.only)]
    for outcome in bad:
        print(f"\n{_name(outcome)}: {outcome.error or outcome.difference}")
    return 1 if bad else 0


def _play(place: str, only: Sequence[str]) -> list[Outcome]:
    """What is not as it should be."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="palimpsest-chaos-") as folder,
        PLACES[place](Path(folder)) as servers,
    ):
        stage = Stage(Path(folder) / "stage", servers)
        undisturbed = stage.undisturbed()
        never = sorted(set(POINTS) - stage.seen)
        print(f"\n{place}: undisturbed {undisturbed.took_s:.0f} s", flush=True)
        if never:
            print(f"points that the scenario does not reach: {', '.join(never)}", flush=True)
        kills = [one for one in _kills(victims(servers)) if _wanted(one, only)]
        outcomes = list(_played(stage, kills, undisturbed))
    bad = [outcome for outcome in outcomes if not outcome.good]
    took_s = time.monotonic() - began
    print(f"{place}: {len(outcomes)} kills in {took_s:.0f} s, {len(bad)} not as they should be")
    return bad


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--on", nargs="*", choices=[*PLACES], default=[*PLACES], help="all")
    parser.add_argument("--only", nargs="*", default=(), help="points that begin so")
    return parser.parse_args()


def _kills(stores: Sequence[str]) -> Iterator[Kill]:
    yield from (Kill(point=point) for point in POINTS)
    yield from (Kill(point=point, victim=store) for store in stores for point in STORE_POINTS)


def _wanted(kill: Kill, only: Sequence[str]) -> bool:
    return not only or any(kill.point.startswith(start) for start in only)


def _played(stage: Stage, kills: Sequence[Kill], expected: Outcome) -> Iterator[Outcome]:
    print(_line(HEADS))
    for kill in kills:
        outcome = stage.play(kill, expected=expected.state or {})
        print(_row(outcome), flush=True)
        yield outcome


def _row(outcome: Outcome) -> str:
    difference = outcome.difference
    counts: tuple[str, ...] = ("–",) * 4
    if difference is not None:
        found = (difference.lost, difference.ghosts, difference.duplicates, difference.stale)
        counts = tuple(str(len(each)) for each in found)
    recovered = f"{outcome.recovered_s:.1f} s" if outcome.recovered_s is not None else "–"
    killed = "yes" if outcome.reached else "NEVER REACHED"
    verdict = "ok" if outcome.good else "FAILED"
    return _line((_name(outcome), killed, recovered, f"{outcome.took_s:.1f} s", *counts, verdict))


def _name(outcome: Outcome) -> str:
    if outcome.kill is None:
        return "undisturbed"
    victim = outcome.kill.victim
    return outcome.kill.point + (f" → {victim}" if victim else "")


def _line(cells: Sequence[str]) -> str:
    first, killed, *rest = cells
    return f"{first:<42}{killed:>14}" + "".join(f"{cell:>10}" for cell in rest)


if __name__ == "__main__":
    sys.exit(main())
