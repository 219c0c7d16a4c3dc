"""Calendars, changes of the clocks, and what is taken from the zone and from now."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from cluster.errors import InvalidRequest
from serve.plan import calendars
from serve.plan.festivals import festival_in
from serve.plan.time_units import Conventions
from serve.plan.times import find_times, zone_named

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("year", "month", "day", "expected"),
    [
        (2024, 1, 1, date(2024, 2, 10)),
        (2025, 5, 5, date(2025, 5, 31)),
        (2025, 8, 15, date(2025, 10, 6)),
        (2023, 8, 15, date(2023, 9, 29)),
        (2026, 1, 1, date(2026, 2, 17)),
        (1900, 1, 1, None),
        (2024, 1, 31, None),
    ],
)
def test_days_of_the_chinese_calendar(
    year: int, month: int, day: int, expected: date | None
) -> None:
    assert calendars.chinese_day(year, month, day) == expected


def test_the_chinese_months_of_every_year_fill_it() -> None:
    for year in range(1901, 2099):
        begins, following = (calendars.chinese_day(each, 1, 1) for each in (year, year + 1))
        assert begins is not None
        assert following is not None
        assert (following - begins).days in {353, 354, 355, 383, 384, 385}
        eve = calendars.chinese_eve(year)
        assert eve == following - timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "year", "expected"),
    [
        ("easter", 2024, date(2024, 3, 31)),
        ("orthodox_easter", 2024, date(2024, 5, 5)),
        ("passover", 2024, date(2024, 4, 22)),
        ("rosh_hashanah", 2024, date(2024, 10, 2)),
        ("hanukkah", 2024, date(2024, 12, 25)),
        ("eid_al_fitr", 2024, date(2024, 4, 10)),
        ("ramadan", 2025, date(2025, 3, 1)),
        ("thanksgiving", 2025, date(2025, 11, 27)),
        ("mothers", 2025, date(2025, 5, 11)),
        ("清明", 2024, date(2024, 4, 4)),
        ("冬至", 2025, date(2025, 12, 21)),
        ("chinese_eve", 2025, date(2025, 1, 28)),
        ("mid_autumn", 2024, date(2024, 9, 17)),
    ],
)
def test_days_of_festivals(name: str, year: int, expected: date) -> None:
    assert [each.start.date() for each in festival_in(name, year)][:1] == [expected]


def test_a_festival_is_unknown_where_its_calendar_ends() -> None:
    assert festival_in("spring", 2150) == []
    assert festival_in("easter", 10_000) == []


def test_solar_terms_of_a_year_come_in_order_a_fortnight_apart() -> None:
    for year in range(1950, 2060, 7):
        days = [calendars.solar_term(year, longitude) for longitude in (*range(285, 360, 15),)]
        days += [calendars.solar_term(year, longitude) for longitude in range(0, 285, 15)]
        gaps = [(after - before).days for before, after in pairwise(days)]
        assert set(gaps) <= {14, 15, 16}
        assert days[0].year == days[-1].year == year


def test_a_day_is_as_long_as_its_clocks_say() -> None:
    now = datetime(2026, 3, 9, 12, tzinfo=UTC)
    (short,) = find_times("what broke yesterday", now=now, zone=NEW_YORK)
    assert short.begins is not None
    assert short.ends is not None
    assert short.ends - short.begins == timedelta(hours=23)
    (long,) = find_times("what broke on 1 November 2026", now=now, zone=NEW_YORK)
    assert long.begins is not None
    assert long.ends is not None
    assert long.ends - long.begins == timedelta(hours=25)


def test_hours_pass_as_a_clock_counts_them() -> None:
    now = datetime(2026, 3, 8, 8, 30, tzinfo=UTC)
    (mention,) = find_times("3 hours ago", now=now, zone=NEW_YORK)
    assert mention.holds(now - timedelta(hours=3))
    assert not mention.holds(now - timedelta(hours=2))


def test_a_time_that_the_clocks_skip_is_still_one() -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    (mention,) = find_times("at 2:30 am on 8 March 2026", now=now, zone=NEW_YORK)
    assert mention.begins == datetime(2026, 3, 8, 7, 30, tzinfo=UTC)
    assert mention.ends == datetime(2026, 3, 8, 7, 31, tzinfo=UTC)


def test_the_zone_moves_the_day() -> None:
    now = datetime(2026, 1, 1, 1, tzinfo=UTC)
    (here,) = find_times("news of today", now=now, zone=UTC)
    (there,) = find_times("news of today", now=now, zone=NEW_YORK)
    assert here.begins == datetime(2026, 1, 1, tzinfo=UTC)
    assert there.begins == datetime(2025, 12, 31, 5, tzinfo=UTC)


def test_unknown_zones_are_refused_by_name() -> None:
    assert zone_named("Asia/Shanghai").key == "Asia/Shanghai"
    for name in ("Mars/Olympus", "", "../etc/passwd", "a\0b", "/etc/localtime"):
        with pytest.raises(InvalidRequest, match="timezone: "):
            zone_named(name)


@pytest.mark.parametrize(
    ("prefer", "expected"),
    [("past", date(2025, 10, 1)), ("future", date(2026, 10, 1)), ("current", date(2026, 10, 1))],
)
def test_which_year_is_meant_is_a_convention(prefer: str, expected: date) -> None:
    now = datetime(2026, 4, 15, tzinfo=UTC)
    says = Conventions(prefer=prefer)  # type: ignore[arg-type]
    for text in ("what about October?", "十月有什么安排"):
        (mention,) = find_times(text, now=now, says=says)
        assert mention.begins is not None
        assert mention.begins.date() == expected
