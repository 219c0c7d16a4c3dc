"""Which difference is drift, and of what kind?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cluster.stores.drift import KINDS, DriftReport, LedgerRow, StoreDrift, read_report
from lifecycle.reconcile import in_flight, kind_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)
GRACE = timedelta(minutes=10)


@pytest.mark.parametrize(
    ("wanted", "found", "stored", "kind"),
    [
        (5, 5, 1, None),
        (5, None, 0, "missing"),
        (5, None, 1, "missing"),
        (5, 4, 1, "stale"),
        (5, 6, 1, "stale"),
        (5, 5, 2, "duplicate"),
        (5, 4, 2, "duplicate"),
        (None, None, 0, None),
        (None, 5, 1, "ghost"),
        (None, None, 1, "ghost"),
        (None, 5, 0, "ghost"),
    ],
)
def test_kinds(wanted: int | None, found: int | None, stored: int, kind: str | None) -> None:
    assert kind_of(wanted, found=found, stored=stored) == kind


def row(
    wanted: int | None = 5, *, owed: bool = False, age: timedelta | None = timedelta(days=1)
) -> LedgerRow:
    return LedgerRow(wanted=wanted, owed=owed, changed_at=None if age is None else NOW - age)


@pytest.mark.parametrize(
    ("before", "after", "flying"),
    [
        (row(), row(), False),
        (row(age=None), row(age=None), False),
        (row(age=GRACE), row(age=GRACE), False),
        (row(age=timedelta(minutes=9)), row(age=timedelta(minutes=9)), True),
        (row(owed=True), row(owed=True), True),
        (row(owed=True), row(), True),
        (row(5), row(6), True),
        (row(5), row(None), True),
    ],
)
def test_a_write_under_way_is_no_drift(before: LedgerRow, after: LedgerRow, flying: bool) -> None:
    assert in_flight(before, after, now=NOW, grace=GRACE) is flying


def test_a_report_outlives_json() -> None:
    counts = dict.fromkeys(KINDS, 0)
    store = StoreDrift(
        store="text", rows=1, drift=counts, in_flight=counts, examples={"ghost": ("a",)}
    )
    report = DriftReport(started_at=NOW, finished_at=NOW, wanted=1, stores=(store,), repaired=3)
    assert report.sound
    assert read_report(report.to_json()) == report
    assert report.to_json()["sound"] is True


def test_what_cannot_be_read_or_is_still_owed_is_not_sound() -> None:
    counts = dict.fromkeys(KINDS, 0)
    broken = StoreDrift(store="text", rows=0, drift=counts, in_flight=counts, error="damaged")
    report = DriftReport(started_at=NOW, finished_at=NOW, wanted=1, stores=(broken,))
    assert not report.sound
    late = DriftReport(started_at=NOW, finished_at=NOW, wanted=1, stores=(), unrepaired=1)
    assert not late.sound
