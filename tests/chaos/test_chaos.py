"""The short form of `python -m chaos`: whoever dies, nothing is lost, left over or twice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.harness import Kill, Outcome, Stage
from chaos.places import embedded_stores
from cluster.kill_points import POINTS

pytestmark = [pytest.mark.stores, pytest.mark.slow]

SPREAD = (
    Kill(point="ingest.put"),
    Kill(point="indexer.taken:2"),
    Kill(point="indexer.vectors_upserted"),
    Kill(point="delete.committed:2"),
    Kill(point="forget.committed"),
    Kill(point="rebuild.owed"),
    Kill(point="reembed.switched"),
    Kill(point="ingest.put", victim="postgres"),
    Kill(point="indexer.vectors_upserted", victim="milvus"),
)
"""A few of all: `make chaos` has the rest."""


@pytest.fixture(scope="module")
def played() -> Iterator[tuple[Stage, Outcome, set[str]]]:
    # A short path that only its owner enters, as the stack's own folder.
    with (
        tempfile.TemporaryDirectory(prefix="palimpsest-chaos-") as folder,
        embedded_stores(Path(folder)) as servers,
    ):
        stage = Stage(Path(folder) / "stage", servers)
        undisturbed = stage.undisturbed()
        yield stage, undisturbed, stage.seen


def test_the_scenario_reaches_every_point(played: tuple[Stage, Outcome, set[str]]) -> None:
    assert sorted(set(POINTS) - played[2]) == []


@pytest.mark.parametrize("kill", SPREAD, ids=lambda kill: f"{kill.point}-{kill.victim or 'self'}")
def test_nothing_is_lost_left_over_or_twice(
    played: tuple[Stage, Outcome, set[str]], kill: Kill
) -> None:
    stage, undisturbed, _ = played
    outcome = stage.play(kill, expected=undisturbed.state or {})
    assert outcome.error is None
    assert outcome.reached
    assert outcome.difference is not None
    assert outcome.difference.none, outcome.difference
