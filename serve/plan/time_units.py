"""Stretches of the calendar in local time, and how sources of questions disagree about them."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import Literal

from serve.plan.time_mention import Grain

Preference = Literal["past", "future", "current"]

MONTHS = MappingProxyType({"month": 1, "quarter": 3, "half": 6, "year": 12})
YEARS = MappingProxyType({"decade": 10, "century": 100})
LENGTHS = MappingProxyType(
    {
        "second": timedelta(seconds=1),
        "minute": timedelta(minutes=1),
        "hour": timedelta(hours=1),
        "day": timedelta(days=1),
        "week": timedelta(days=7),
    }
)
SHORT = ("second", "minute", "hour")
DAY = timedelta(days=1)

Duration = tuple[tuple[int, Grain], ...]


class Unplaced(Exception):
    """What the words say is no time, or none that a calendar can hold."""


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` up to, not including, `end`, local and without a zone."""

    start: datetime
    end: datetime
    grain: Grain


PARTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "dawn": (0, 6),
        "early_morning": (4, 9),
        "morning": (6, 12),
        "forenoon": (8, 12),
        "lunch": (11, 14),
        "noon": (11, 13),
        "after_lunch": (12, 17),
        "early_afternoon": (12, 15),
        "late_afternoon": (15, 18),
        "afternoon": (12, 18),
        "early_evening": (17, 20),
        "evening": (17, 24),
        "dinner": (17, 21),
        "night": (18, 29),
        "late_night": (21, 29),
        "daytime": (6, 19),
        "whole": (0, 24),
    }
)

SEASONS: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = MappingProxyType(
    {
        "spring": ((3, 1), (6, 1)),
        "summer": ((6, 1), (9, 1)),
        "autumn": ((9, 1), (12, 1)),
        "winter": ((12, 1), (3, 1)),
    }
)
"""As meteorologists count them: first day, day after the last."""

EDGES: Mapping[tuple[str, str], tuple[Grain, int | None, int | None]] = MappingProxyType(
    {
        ("day", "early"): ("hour", 0, 12),
        ("day", "late"): ("hour", 12, None),
        ("week", "early"): ("day", 0, 3),
        ("week", "mid"): ("day", 1, 4),
        ("week", "late"): ("day", 4, None),
        ("month", "early"): ("day", 0, 10),
        ("month", "mid"): ("day", 10, 20),
        ("month", "late"): ("day", 20, None),
        ("quarter", "early"): ("month", 0, 1),
        ("quarter", "mid"): ("month", 1, 2),
        ("quarter", "late"): ("month", 2, None),
        ("half", "early"): ("month", 0, 2),
        ("half", "mid"): ("month", 2, 4),
        ("half", "late"): ("month", 4, None),
        ("year", "early"): ("month", 0, 3),
        ("year", "mid"): ("month", 4, 8),
        ("year", "late"): ("month", 9, None),
        ("month", "first_third"): ("day", 0, 10),
        ("month", "second_third"): ("day", 10, 20),
        ("month", "last_third"): ("day", 20, None),
        ("decade", "early"): ("year", 0, 3),
        ("decade", "mid"): ("year", 3, 7),
        ("decade", "late"): ("year", 7, None),
        ("century", "early"): ("year", 0, 30),
        ("century", "mid"): ("year", 30, 70),
        ("century", "late"): ("year", 70, None),
    }
)
"""Of which stretch the early, middle and late part is what: unit, from, to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """What the same words mean differs between people; the defaults suit questions about what
    is remembered.

    `prefer`: which year, month or day is meant when none is told ("in May"): the latest that
    has begun, the next to come, or that of the present year, month or week. `first_week`: the
    first week of a month or year is the one that holds its first Thursday (ISO 8601), or
    begins with its first Monday. `whole_end`: "5 to 7 May" holds the 7th. `clock_end`: what
    the end of "3 to 5" adds, by how exactly it is told, or by the finer side's where
    `clock_end_shared`. `after`: "after 2010" begins with its end, its start, or its end where
    it is longer than a day. `until_holds`: "until Friday" holds Friday. `from_now`: the bounds
    whose open side is now, not the beginning of time. `rolling`: "the last 3 months" end now,
    end with today's first moment, are whole months, or begin at this time of day. `now_holds`:
    what now as an end adds. `ago`: "3 weeks ago" is the unit told, the day, the next smaller
    unit, or all the time since. `open_offsets`: 两天之前 is any time before then.
    `unit_count_is_nth`: "upcoming 2 weeks" is the second. `last_weekday`: "last Friday" is the
    latest before today, or that of the last week. `weekend`: days and hours after Monday's
    first moment. `lunar`: which days are of the Chinese calendar: none, those called so (农历,
    正月, 初八), or also those in numerals alone (八月十五). `parts` are hours of the day, past 24
    in the next one; `edges` as `EDGES`.
    """

    prefer: Preference = "past"
    first_week: Literal["thursday", "monday"] = "thursday"
    whole_end: bool = True
    clock_end: Mapping[str, timedelta] = field(default_factory=dict)
    after: Literal["end", "start", "long"] = "end"
    until_holds: bool = True
    from_now: frozenset[str] = frozenset()
    rolling: Literal["now", "days", "whole", "exact"] = "now"
    now_holds: timedelta = timedelta()
    clock_end_shared: bool = False
    ago: Literal["unit", "day", "below", "since"] = "unit"
    after_now: Literal["unit", "day", "below", "since"] | None = None
    unit_count_is_nth: bool = False
    open_offsets: bool = False
    last_weekday: Literal["nearest", "week"] = "nearest"
    next_weekday: Literal["nearest", "week"] = "week"
    weekend: tuple[int, int] = (5, 0)
    day_first: bool = False
    lunar: Literal["never", "marked", "numerals"] = "numerals"
    orthodox_lent: bool = False
    seasons: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = field(
        default_factory=lambda: SEASONS
    )
    parts: Mapping[str, tuple[float, float]] = field(default_factory=lambda: PARTS)
    edges: Mapping[tuple[str, str], tuple[Grain, int | None, int | None]] = field(
        default_factory=lambda: EDGES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """From where words are read: `now` in local time, the zone it is local in, and how."""

    now: datetime
    zone: tzinfo
    says: Conventions

    @property
    def today(self) -> Period:
        return unit_at(self.now, "day")


def floor(moment: datetime, grain: Grain) -> datetime:
    """The first moment of the unit that holds it; weeks begin on Monday."""
    if grain == "second":
        return moment.replace(microsecond=0)
    if grain == "minute":
        return moment.replace(second=0, microsecond=0)
    if grain == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if grain == "day":
        return day
    if grain == "week":
        return moved(day, -day.weekday(), "day")
    if grain in MONTHS:
        size = MONTHS[grain]
        return day.replace(month=(day.month - 1) // size * size + 1, day=1)
    year = day.year // YEARS[grain] * YEARS[grain]
    return _made(max(year, 1), 1, 1)


def moved(moment: datetime, count: int, grain: Grain) -> datetime:
    """`count` units later; the day is the month's last where the month is too short."""
    try:
        if grain in LENGTHS:
            return moment + count * LENGTHS[grain]
        months = count * (12 * YEARS[grain] if grain in YEARS else MONTHS[grain])
        year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    except (ValueError, OverflowError, calendar.IllegalMonthError) as error:
        raise Unplaced from error


def shifted(ground: Ground, moment: datetime, duration: Duration, *, sign: int) -> datetime:
    """Days and longer keep the time of day; hours and shorter are as long as a clock counts them,
    also over a change of the clocks."""
    for count, grain in duration:
        if grain in SHORT:
            moment = _elapsed(ground, moment, sign * count * LENGTHS[grain])
        else:
            moment = moved(moment, sign * count, grain)
    return moment


def _elapsed(ground: Ground, moment: datetime, passed: timedelta) -> datetime:
    try:
        at = moment.replace(tzinfo=ground.zone).astimezone(UTC) + passed
        return at.astimezone(ground.zone).replace(tzinfo=None)
    except (OverflowError, ValueError) as error:
        raise Unplaced from error


def unit_at(moment: datetime, grain: Grain, count: int = 0) -> Period:
    """The unit that holds `moment`, or the one `count` after it."""
    start = moved(floor(moment, grain), count, grain)
    return Period(start, moved(start, 1, grain), grain)


def day_at(year: int, month: int, day: int) -> Period | None:
    """`None` where there is no such day."""
    try:
        start = datetime(year, month, day)  # noqa: DTZ001  local time
    except (ValueError, OverflowError):
        return None
    return Period(start, moved(start, 1, "day"), "day")


def year_at(year: int) -> Period:
    return unit_at(_made(year, 1, 1), "year")


def _made(year: int, month: int, day: int) -> datetime:
    made = day_at(year, month, day)
    if made is None:
        raise Unplaced
    return made.start


def within(period: Period, start: float, end: float, grain: Grain) -> Period:
    """Hours of a period's first day."""
    first = period.start + timedelta(hours=start)
    return Period(first, period.start + timedelta(hours=end), grain)


def edge_of(period: Period, edge: str, *, says: Conventions) -> Period:
    """Its early, middle or late part; all of it where that is not told apart."""
    table = says.edges.get((period.grain, edge))
    if table is None and edge == "end":
        table = says.edges.get((period.grain, "late"))
    if table is None:
        return period
    unit, first, last = table
    start = period.start if first is None else moved(period.start, first, unit)
    end = period.end if last is None else moved(period.start, last, unit)
    if first is not None and first < 0:
        start = moved(period.end, first, unit)
    return Period(start, end, period.grain)


def weeks_of(period: Period, *, says: Conventions) -> tuple[datetime, datetime]:
    """The Monday of its first week, and the Monday after its last."""
    return _first_monday(period.start, says), _first_monday(period.end, says)


def _first_monday(start: datetime, says: Conventions) -> datetime:
    if says.first_week == "monday":
        return moved(start, -start.weekday() % 7, "day")
    thursday = moved(start, (3 - start.weekday()) % 7, "day")
    return moved(thursday, -3, "day")


def nth_unit(period: Period, nth: int, unit: Grain, count: int = 1, *, says: Conventions) -> Period:
    """The `nth` (from 1; from -1 backwards) unit in it, with `count` - 1 that follow in that
    direction."""
    if unit == "week":
        first, after = weeks_of(period, says=says)
    else:
        first, after = floor(period.start, unit), period.end
    if nth > 0:
        start = moved(first, nth - 1, unit)
        return Period(start, moved(start, count, unit), unit)
    end = moved(after, nth + 1, unit)
    return Period(moved(end, -count, unit), end, unit)


def nth_weekday(period: Period, nth: int, weekday: int) -> Period:
    if nth > 0:
        first = moved(period.start, (weekday - period.start.weekday()) % 7, "day")
        return unit_at(moved(first, nth - 1, "week"), "day")
    last = moved(period.end, -1, "day")
    last = moved(last, -((last.weekday() - weekday) % 7), "day")
    return unit_at(moved(last, nth + 1, "week"), "day")
