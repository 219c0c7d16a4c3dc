"""What the commands of repair say, and how they read a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
import typer
from serving import NOW

from cli.repair import _remarks, read_age
from cluster.stores.drift import KINDS, DriftReport, StoreDrift

NONE = dict.fromkeys(KINDS, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("90", 90), ("30s", 30), ("10m", 600), ("1.5h", 5400), ("2d", 172_800)],
)
def test_a_time(text: str, seconds: float) -> None:
    assert read_age(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-5m", "5 weeks", "10mm"])
def test_no_time(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="30s"):
        read_age(text)


def report(**of: object) -> DriftReport:
    store = StoreDrift(**{"store": "text", "rows": 3, "drift": NONE, "in_flight": NONE, **of})  # type: ignore[arg-type]  # by name
    return DriftReport(started_at=NOW, finished_at=NOW, wanted=3, stores=(store,))


def test_the_way_out_is_named() -> None:
    assert _remarks(report(), repair=False) == ["the ledger's 3 rows and the indexes agree"]
    lost = report(drift=NONE | {"missing": 1}, examples={"missing": ("chk_a",)})
    assert _remarks(lost, repair=False) == [
        "text: missing: chk_a",
        "mend it with `palimpsest reconcile --repair`",
    ]
    assert _remarks(lost, repair=True) == ["text: missing: chk_a"]
    under_way = report(in_flight=NONE | {"stale": 2})
    (told,) = _remarks(under_way, repair=False)
    assert told.startswith("no drift; 2 differences")
    broken = _remarks(report(error="text index: no index yet"), repair=False)
    assert "`palimpsest rebuild`" in broken[1]
