"""What words say of a date and a time of day, put together and placed on the calendar.

Both languages read into `Fields`; here is the only place that knows what follows from them.
"""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from serve.plan.calendars import chinese_day
from serve.plan.festivals import festival_in
from serve.plan.time_mention import Grain
from serve.plan.time_units import (
    Duration,
    Ground,
    Period,
    Unplaced,
    day_at,
    edge_of,
    floor,
    moved,
    nth_unit,
    shifted,
    unit_at,
    within,
    year_at,
)

YEARS_SEARCHED = 12
NOON = 12
LATEST_MORNING_HOUR = 6
"""An hour from 1 to 6 without more said is one of the afternoon."""

MORNING_PARTS = frozenset({"dawn", "early_morning", "morning", "forenoon"})
NIGHT_PARTS = frozenset({"night", "late_night", "evening"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """`pm` is `None` where the words leave it open; `exact` where they count to 24."""

    hour: int
    minute: int | None = None
    second: int | None = None
    pm: bool | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """`base` is a stretch counted from now ("last week") that the rest narrows; `edge` its early,
    middle or late part; `which` counts from this one (0: "this Friday", -1: "last Friday");
    `minutes_ahead` is the zone's, where the words name one."""

    base: Period | None = None
    year: int | None = None
    quarter: int | None = None
    half: int | None = None
    month: int | None = None
    week: int | None = None
    day: int | None = None
    weekday: int | None = None
    season: str | None = None
    festival: str | None = None
    lunar: bool | None = None
    which: int | None = None
    edge: str | None = None
    part: str | None = None
    clock: Clock | None = None
    minutes_ahead: int | None = None

    def joined(self, other: Fields) -> Fields | None:
        """Both said together; `None` where they contradict each other."""
        for each in _NAMES:
            mine, its = getattr(self, each), getattr(other, each)
            if mine is not None and its is not None and mine != its:
                return None
        both = replace(self, **dict(other.told()))
        return None if both.crowded else both

    def told(self) -> Iterator[tuple[str, Any]]:
        return ((each, value) for each in _NAMES if (value := getattr(self, each)) is not None)

    @property
    def crowded(self) -> bool:
        """Whether a stretch counted from now is named beside what it says already."""
        if self.base is None:
            return False
        grain = self.base.grain
        if grain in {"day", "hour", "minute", "second"}:
            return any(getattr(self, each) is not None for each in _DATE[1:])
        if grain == "week":
            return any((self.year, self.month, self.day, self.quarter, self.half, self.season))
        if grain == "month":
            return any((self.year, self.month, self.quarter, self.half, self.season))
        return self.year is not None or (self.day is not None and self.month is None)

    @property
    def dated(self) -> bool:
        return any(getattr(self, each) is not None for each in _DATE)

    @property
    def narrowed(self) -> bool:
        return any(getattr(self, each) is not None for each in _DATE[1:])

    @property
    def clock_only(self) -> bool:
        return not self.dated and (self.clock is not None or self.part is not None)


_NAMES = tuple(each.name for each in fields(Fields))
_DATE = (
    "base",
    "year",
    "quarter",
    "half",
    "month",
    "week",
    "day",
    "weekday",
    "season",
    "festival",
)


def placed(said: Fields, ground: Ground) -> Period:
    """Raises `Unplaced` where there is no such time."""
    if said.clock_only:
        return _time_alone(said, ground)
    return _timed(dated(said, ground), said, ground)


def dated(said: Fields, ground: Ground) -> Period:
    """Its date alone."""
    period = _date(said, ground)
    if said.edge is not None:
        period = edge_of(period, said.edge, says=ground.says)
    return period


def _timed(period: Period, said: Fields, ground: Ground) -> Period:
    if said.clock is not None:
        at = _at_clock(period.start, said)
        at = _in_zone(at, said, ground)
        grain = _clock_grain(said.clock, zoned=said.minutes_ahead is not None)
        return unit_at(at, grain) if grain != "second" else Period(at, moved(at, 1, grain), grain)
    if said.part is not None:
        start, end = ground.says.parts[said.part]
        return within(period, start, end, "hour")
    return period


def _clock_grain(clock: Clock, *, zoned: bool = False) -> Grain:
    if clock.second is not None:
        return "second"
    return "minute" if clock.minute is not None or zoned else "hour"


def _at_clock(day: datetime, said: Fields) -> datetime:
    clock = said.clock
    if clock is None:
        raise Unplaced
    hour, later = _hour_of(clock, said.part)
    at = day + timedelta(days=later, hours=hour)
    return at + timedelta(minutes=clock.minute or 0, seconds=clock.second or 0)


def _hour_of(clock: Clock, part: str | None) -> tuple[int, int]:
    """On a clock of 24 hours, and how many days later."""
    hour = clock.hour
    if clock.exact or hour > NOON or (hour == 0):
        return hour % 24, hour // 24
    pm = clock.pm
    if pm is None and part is not None:
        pm = part not in MORNING_PARTS
        if hour == NOON:
            return (0, 1) if part in NIGHT_PARTS else (NOON if pm else 0, 0)
        if part in {"noon", "lunch"}:
            pm = hour <= 3
        if part in {"night", "late_night"} and hour < 5:
            return hour, 1
    if pm is None:
        pm = hour == NOON or hour <= LATEST_MORNING_HOUR
    return hour % NOON + (NOON if pm else 0), 0


def _in_zone(at: datetime, said: Fields, ground: Ground) -> datetime:
    if said.minutes_ahead is None:
        return at
    here = ground.zone.utcoffset(at) or timedelta()
    return at - timedelta(minutes=said.minutes_ahead) + here


def _time_alone(said: Fields, ground: Ground) -> Period:
    """Of today; by preference of yesterday or tomorrow."""
    today = ground.today
    period = _timed(today, said, ground)
    if said.clock is None:
        return period
    if ground.says.prefer == "past" and period.start > ground.now:
        return _timed(unit_at(today.start, "day", -1), said, ground)
    if ground.says.prefer == "future" and period.start <= ground.now:
        clock = said.clock
        if clock.pm is None and not clock.exact and said.part is None and clock.hour < NOON:
            other = _timed(today, replace(said, clock=replace(clock, pm=True)), ground)
            if other.start > ground.now:
                return other
        return _timed(unit_at(today.start, "day", 1), said, ground)
    return period


def _date(said: Fields, ground: Ground) -> Period:
    base = said.base
    if base is not None and base.grain in {"second", "minute", "hour"}:
        return base
    if base is not None and base.grain == "day":
        return base
    if base is not None and base.grain == "week" and said.weekday is not None:
        return unit_at(moved(base.start, said.weekday, "day"), "day")
    year, month = _known(said)
    return _chosen(said, ground, _candidates(said, ground, year=year, month=month))


def _known(said: Fields) -> tuple[int | None, int | None]:
    """Year and month that are told, or lie in the base."""
    base = said.base
    year, month = said.year, said.month
    if base is not None and base.grain not in {"decade", "century"}:
        year = base.start.year if year is None else year
        if base.grain == "month":
            month = base.start.month
    return year, month


Candidates = Callable[[int], Iterable[Period | None]]
"""Those that begin in a year."""


def _candidates(
    said: Fields, ground: Ground, *, year: int | None, month: int | None
) -> list[Period]:
    """In order of time: of the year told, else of the years about now."""
    if said.base is not None and not said.narrowed:
        return [said.base]
    if said.week is not None and year is None:
        year = ground.now.year
    if month is None and said.day is not None and year is None:
        return _days_of_months(said, ground)
    if said.weekday is not None and month is None and said.festival is None and said.week is None:
        return _weekdays(said, ground)
    find = _finder(said, ground, month)
    if find is None:
        if said.base is not None:
            return [said.base]
        return [year_at(year)] if year is not None else []
    if year is not None:
        return [each for each in find(year) if each is not None]
    about = ground.now.year
    years = range(max(1, about - YEARS_SEARCHED), about + YEARS_SEARCHED + 1)
    found = [each for one in years for each in find(one) if each is not None]
    return _nearest_on_weekday(found, said, ground)


def _on_weekday(found: list[Period], said: Fields, ground: Ground) -> list[Period]:
    """Those on the weekday told; all, where none is (people err about weekdays)."""
    if said.weekday is None or said.day is None or said.which is not None:
        return found
    if ground.says.prefer == "current":
        return found
    return [each for each in found if each.start.weekday() == said.weekday] or found


def _nearest_on_weekday(found: list[Period], said: Fields, ground: Ground) -> list[Period]:
    """ "Sunday, 10 February": the nearest year in which it is one."""
    fitting = _on_weekday(found, said, ground)
    if fitting is found or len(fitting) == len(found):
        return fitting
    return [preferred_by_distance(ground, fitting)]


def _finder(said: Fields, ground: Ground, month: int | None) -> Candidates | None:
    if said.festival is not None:
        name = said.festival
        return lambda year: festival_in(name, year)
    if said.lunar:
        return lambda year: [_lunar(year, said, ground)]
    if month is not None:
        number, day = month, said.day
        if day is not None:
            return lambda year: [day_at(year, number, day)]
        return lambda year: [_month(year, number)]
    return _part_of_year(said, ground)


def _part_of_year(said: Fields, ground: Ground) -> Candidates | None:
    if said.quarter is not None:
        quarter = said.quarter
        return lambda year: [unit_at(moved(year_at(year).start, quarter - 1, "quarter"), "quarter")]
    if said.half is not None:
        half = said.half
        return lambda year: [unit_at(moved(year_at(year).start, half - 1, "half"), "half")]
    if said.week is not None:
        week = said.week
        return lambda year: [_week(year, week, said, ground)]
    if said.season is not None:
        season = ground.says.seasons[said.season]
        return lambda year: [_season(year, season)]
    return None


def _month(year: int, month: int) -> Period | None:
    day = day_at(year, month, 1)
    return unit_at(day.start, "month") if day is not None else None


def _season(year: int, days: tuple[tuple[int, int], tuple[int, int]]) -> Period | None:
    first, after = day_at(year, *days[0]), day_at(year + (days[1] < days[0]), *days[1])
    return Period(first.start, after.start, "quarter") if first and after else None


def _week(year: int, week: int, said: Fields, ground: Ground) -> Period:
    period = nth_unit(year_at(year), week, "week", says=ground.says)
    if said.weekday is None:
        return period
    return unit_at(moved(period.start, said.weekday, "day"), "day")


def _lunar(year: int, said: Fields, ground: Ground) -> Period | None:
    """`year` is that of the lunar calendar; its last months lie in the next one of ours."""
    if said.month is None:
        return None
    first = chinese_day(year, said.month, said.day or 1)
    if first is None:
        return None
    period = day_at(first.year, first.month, first.day)
    if said.day is not None or period is None:
        return period
    after = chinese_day(year, said.month + 1, 1) or chinese_day(year + 1, 1, 1)
    end = day_at(after.year, after.month, after.day) if after is not None else None
    return Period(period.start, end.start, "month") if end is not None else None


def _days_of_months(said: Fields, ground: Ground) -> list[Period]:
    """ "The 15th": of the months about now, "Thursday the 15th" of those where it is one."""
    months = (moved(floor(ground.now, "month"), count, "month") for count in range(-24, 25))
    days = (day_at(month.year, month.month, said.day or 1) for month in months)
    found = [each for each in days if each is not None]
    if said.weekday is not None and ground.says.prefer == "past":
        return _nearest_on_weekday(found, said, ground)
    return _on_weekday(found, said, ground)


def _weekdays(said: Fields, ground: Ground) -> list[Period]:
    monday = floor(ground.now, "week")
    days = (moved(monday, (said.weekday or 0) + 7 * week, "day") for week in (-2, -1, 0, 1, 2))
    return [unit_at(day, "day") for day in days]


def _chosen(said: Fields, ground: Ground, found: list[Period]) -> Period:
    if not found:
        raise Unplaced
    if len(found) == 1:
        return found[0]
    if said.which is not None:
        return _counted(said, ground, found)
    if _is_weekday(said):
        return _preferred_weekday(ground, found)
    return preferred(ground, found)


def _is_weekday(said: Fields) -> bool:
    return said.weekday is not None and said.day is None


def _preferred_weekday(ground: Ground, found: list[Period]) -> Period:
    """Never today: that would be called so."""
    others = [each for each in found if each != ground.today]
    if ground.says.prefer == "current":
        return found[len(found) // 2]
    return preferred(ground, others)


def preferred(ground: Ground, found: list[Period]) -> Period:
    if ground.says.prefer == "past":
        begun = [each for each in found if each.start <= ground.now]
        return begun[-1] if begun else found[0]
    if ground.says.prefer == "future":
        to_come = [each for each in found if each.end > ground.now]
        return to_come[0] if to_come else found[-1]
    return _current(ground, found)


def _current(ground: Ground, found: list[Period]) -> Period:
    """Of the present year, or month where the days of months are meant."""
    near = [each for each in found if each.start.year == ground.now.year]
    month = [each for each in near if each.start.month == ground.now.month]
    if len(near) > 2 and month:
        return month[0]
    if near:
        return near[-1] if len(near) <= 2 else near[0]
    return preferred_by_distance(ground, found)


def preferred_by_distance(ground: Ground, found: list[Period]) -> Period:
    return min(found, key=lambda each: abs(each.start - ground.now))


def _counted(said: Fields, ground: Ground, found: list[Period]) -> Period:
    which = said.which or 0
    if _is_weekday(said):
        return _counted_weekday(ground, found, which)
    today = ground.today.start
    if which > 0:
        after = [each for each in found if each.start > today]
        return _at(after, which - 1)
    if which < 0:
        before = [each for each in found if each.end <= today]
        return _at(before[::-1], -which - 1)
    holding = [each for each in found if each.start <= ground.now < each.end]
    near = [each for each in found if each.start.year == ground.now.year]
    return (holding or near or [preferred_by_distance(ground, found)])[0]


def _counted_weekday(ground: Ground, found: list[Period], which: int) -> Period:
    """`found` holds that day of the present week in its middle."""
    middle = len(found) // 2
    today = ground.today.start
    if which < 0 and ground.says.last_weekday == "nearest":
        before = [each for each in found if each.end <= today]
        return _at(before[::-1], -which - 1)
    if which > 0 and ground.says.next_weekday == "nearest":
        after = [each for each in found if each.start > today]
        return _at(after, which - 1)
    return _at(found, middle + which)


def _at(found: list[Period], place: int) -> Period:
    if not 0 <= place < len(found):
        raise Unplaced
    return found[place]


def ago(ground: Ground, duration: Duration, *, sign: int, at: datetime | None = None) -> Period:
    """ "3 weeks ago", "in 2 hours", or so long before or after `at`."""
    says = ground.says
    unit = duration[-1][1]
    start = ground.now if at is None else at
    moment = shifted(ground, start, duration, sign=sign)
    how = says.ago if sign < 0 else says.after_now or says.ago
    if how == "since" and at is None:
        return _since(ground, duration, sign)
    if how == "day":
        grain: Grain = unit if unit in {"second", "minute", "hour"} else "day"
        if grain != "day":
            return Period(moment, moment + timedelta(seconds=1), "second")
        return unit_at(moment, "day")
    if how == "below":
        below: Grain = _BELOW[unit]
        if below == "second" or (unit == "second"):
            return Period(moment, moment + timedelta(seconds=1), "second")
        return unit_at(moment, below)
    return unit_at(moment, unit)


def _since(ground: Ground, duration: Duration, sign: int) -> Period:
    count, unit = duration[-1]
    this = unit_at(ground.now, unit)
    if sign < 0:
        return Period(moved(this.start, -count, unit), this.start, unit)
    return Period(this.end, moved(this.end, count, unit), unit)


_BELOW: dict[Grain, Grain] = {
    "second": "second",
    "minute": "second",
    "hour": "minute",
    "day": "hour",
    "week": "day",
    "month": "day",
    "quarter": "month",
    "half": "month",
    "year": "month",
    "decade": "year",
    "century": "decade",
}


def rolling(ground: Ground, count: int, unit: Grain, *, sign: int, whole: bool = False) -> Period:
    """ "The last 3 months", "the next 2 hours"."""
    how = ground.says.rolling
    if unit in {"second", "minute", "hour"} and how != "whole":
        there = shifted(ground, ground.now, ((count, unit),), sign=sign)
        end = max(there, ground.now) + ground.says.now_holds
        return Period(min(there, ground.now), end, unit)
    if how == "whole" or whole or unit in {"quarter", "half", "decade", "century"}:
        return _since(ground, ((count, unit),), sign)
    today = ground.today
    if how == "exact":
        return _exactly(ground, count, unit, sign)
    if sign < 0:
        end = ground.now if how == "now" else today.start
        start = moved(today.start, -count, unit)
        return Period(start, end if end > start else today.end, unit)
    first = today.start if how == "now" else today.end
    return Period(first, moved(first, count, unit), unit)


def _exactly(ground: Ground, count: int, unit: Grain, sign: int) -> Period:
    there = moved(ground.now, sign * count, unit)
    if unit not in {"day", "week"}:
        there = floor(there, "day")
    first, last = min(there, ground.now), max(there, ground.now)
    return Period(first, last + ground.says.now_holds if sign < 0 else last, unit)


def for_long(ground: Ground, start: datetime, duration: Duration, grain: Grain) -> Period:
    end = shifted(ground, start, duration, sign=1)
    if end <= start:
        raise Unplaced
    return Period(start, end, grain)


def ends_of_clock(period: Period, ground: Ground) -> datetime:
    """Where a range of times of day ends that is told to end at `period`."""
    return period.start + ground.says.clock_end.get(period.grain, timedelta())
