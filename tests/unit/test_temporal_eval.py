"""The measure of time expressions: its floors on the frozen rows, and how it counts."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval.temporal import (
    CONVENTIONS,
    Row,
    Score,
    exact,
    groups,
    load_rows,
    out_of_scope,
    read,
    score,
    soft,
)
from serve.plan.times import DEFAULTS, find_times

NOW = datetime(2026, 4, 15, tzinfo=UTC)
FLOORS = {
    ("recognizers", "en"): 0.92,
    ("recognizers", "zh"): 0.95,
    ("duckling", "en"): 0.95,
    ("duckling", "zh"): 0.98,
    ("jionlp", "zh"): 0.84,
}


def row(text: str, start: datetime | None, end: datetime | None, **more: str) -> Row:
    return Row(
        id="r",
        text=text,
        span=more.get("span"),
        now=NOW,
        source=more.get("source", "duckling"),
        language="en",
        kind=more.get("kind", "interval"),
        accepted=((start, end),),
        future=False,
    )


@pytest.mark.data
def test_floors_on_the_frozen_rows(data_dir: Path) -> None:
    rows = load_rows(data_dir / "temporal_expressions")
    scores: dict[tuple[str, str], Score] = {
        group: score(members, CONVENTIONS[group])
        for group, members in groups(rows).items()
        if group in FLOORS
    }
    assert {group: each.exact >= FLOORS[group] for group, each in scores.items()} == dict.fromkeys(
        FLOORS, True
    )


@pytest.mark.data
def test_a_tenth_at_most_is_out_of_scope(data_dir: Path) -> None:
    rows = load_rows(data_dir / "temporal_expressions")
    asked = Counter(row.source for row in rows)
    left = Counter(row.source for row in rows if out_of_scope(row) is not None)
    assert left["recognizers"] == 0
    assert left["duckling"] + left["jionlp"] <= 0.1 * (asked["duckling"] + asked["jionlp"])


def test_exact_is_both_ends() -> None:
    may = (datetime(2020, 5, 1, tzinfo=UTC), datetime(2020, 6, 1, tzinfo=UTC))
    asked = row("in May 2020", *may)
    assert exact(asked, read(asked, DEFAULTS))
    assert not exact(row("in May 2020", may[0], may[0]), read(asked, DEFAULTS))
    assert not exact(asked, None)


def test_instants_compare_their_beginning_only() -> None:
    start = datetime(2020, 5, 1, 0, 0, 30, tzinfo=UTC)
    asked = row("in May 2020", start, None, source="dateparser")
    assert exact(asked, read(asked, DEFAULTS))
    late = row("in May 2020", start.replace(minute=2), None, source="dateparser")
    assert not exact(late, read(late, DEFAULTS))


def test_soft_is_half_of_the_union() -> None:
    start = datetime(2020, 5, 1, tzinfo=UTC)
    near = row("in May 2020", start, datetime(2020, 6, 20, tzinfo=UTC))
    far = row("in May 2020", start, datetime(2020, 8, 1, tzinfo=UTC))
    assert soft(near, read(near, DEFAULTS))
    assert not soft(far, read(far, DEFAULTS))


def test_the_mention_at_the_span_is_scored() -> None:
    text = "not in 2019 but in 2021"
    asked = row(
        text, datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC), span="2021"
    )
    assert len(find_times(text, now=NOW)) == 2
    assert exact(asked, read(asked, DEFAULTS))
