"""What lies in the time that a question names stands a little higher."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest

from rerank.time_bonus import OF_THE_SAME_DAY, WITHIN, time_bonuses

MAY_5 = datetime(2025, 5, 5, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Between:
    begins: datetime
    ends: datetime

    def holds(self, moment: datetime) -> bool:
        return self.begins <= moment < self.ends


THAT_DAY = Between(datetime(2025, 5, 5, tzinfo=UTC), datetime(2025, 5, 6, tzinfo=UTC))


def test_inside_and_on_the_same_day() -> None:
    moments = {
        "in": MAY_5,
        "also in": MAY_5 + timedelta(hours=3),
        "out": MAY_5 - timedelta(days=2),
        "undated": None,
    }
    scores = {"in": 1.0, "also in": -1.0, "out": 0.5, "undated": 3.0}
    added = time_bonuses(scores, moments=moments, times=[THAT_DAY, THAT_DAY], zone=UTC)
    same_day = OF_THE_SAME_DAY * (1.0 + WITHIN)
    assert added == {
        "in": {"time": WITHIN, "same_day": pytest.approx(same_day)},
        "also in": {"time": WITHIN, "same_day": pytest.approx(same_day)},
        "out": {"same_day": pytest.approx(OF_THE_SAME_DAY * 0.5)},
    }


def test_a_day_with_nothing_good_gives_nothing() -> None:
    moments = {"in": MAY_5, "out": MAY_5 - timedelta(days=2)}
    added = time_bonuses({"in": -9.0, "out": -1.0}, moments=moments, times=[THAT_DAY], zone=UTC)
    assert added == {"in": {"time": WITHIN}}


def test_nothing_is_added_where_nothing_lies_in_the_time() -> None:
    moments = {"a": MAY_5 - timedelta(days=30), "b": MAY_5 - timedelta(days=30)}
    assert time_bonuses({"a": 2.0, "b": 1.0}, moments=moments, times=[THAT_DAY], zone=UTC) == {}
    assert time_bonuses({"a": 2.0, "b": 1.0}, moments=moments, times=[], zone=UTC) == {}


def test_the_zone_says_which_day_it_is() -> None:
    late, early = datetime(2025, 5, 5, 20, tzinfo=UTC), datetime(2025, 5, 6, 2, tzinfo=UTC)
    scores, moments = {"late": 1.0, "early": -1.0}, {"late": late, "early": early}
    in_utc = time_bonuses(scores, moments=moments, times=[THAT_DAY], zone=UTC)
    assert "early" not in in_utc
    there = timezone(timedelta(hours=8))
    in_shanghai = time_bonuses(scores, moments=moments, times=[THAT_DAY], zone=there)
    assert in_shanghai["early"] == {"same_day": pytest.approx(OF_THE_SAME_DAY * (1 + WITHIN))}
