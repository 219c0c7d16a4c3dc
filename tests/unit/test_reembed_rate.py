"""Progress that is told, and patience that ends."""

from __future__ import annotations

import pytest

from cluster.errors import StoreUnavailable
from lifecycle.reembed_rate import Patience, Rate


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_counts_what_was_there_before() -> None:
    seconds = Seconds()
    rate = Rate(seconds)
    rate.begin(missing=80, of=100)
    seconds.now += 4.0
    assert rate.advanced(20) == {"texts": 100, "encoded": 40, "per_s": 5.0, "eta_s": 12.0}
    seconds.now += 4.0
    assert rate.advanced(60) == {"texts": 100, "encoded": 100, "per_s": 10.0, "eta_s": 0.0}
    assert rate.advanced(9)["encoded"] == 100  # more came than was counted


def test_a_line_comes_at_most_so_often() -> None:
    seconds = Seconds()
    rate = Rate(seconds)
    rate.begin(missing=2000, of=3000)
    seconds.now += 4.0
    rate.advanced(1000)
    assert rate.due(5.0) is None
    seconds.now += 1.0
    told = "2,000 of 3,000 texts encoded, 200 a second, about 5 s to go"
    assert rate.due(5.0) == told
    assert rate.due(5.0) is None


async def test_patience_lasts_while_it_shrinks() -> None:
    patience = Patience(0.05, poll_s=0.02)
    for owed in (9, 8, 7, 6, 5, 4):
        await patience.wait(owed)
    with pytest.raises(StoreUnavailable, match=r"4 rows are owed.*palimpsest outbox list"):
        await _wait_often(patience)


async def _wait_often(patience: Patience) -> None:
    for _ in range(9):
        await patience.wait(4)
