"""Stretches between two times, and those open at one side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from serve.plan.time_fields import Fields, dated, ends_of_clock, placed
from serve.plan.time_mention import Bound, Grain, TimeKind
from serve.plan.time_units import DAY, Ground, Period, Unplaced, floor, unit_at

SHORT = frozenset({"second", "minute", "hour"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the words from `start` to `end` mean, in local time; `None` is open."""

    start: int
    end: int
    kind: TimeKind
    grain: Grain
    begins: datetime | None = None
    ends: datetime | None = None
    bound: Bound = "in"


Reader = TypeVar("Reader")


def longest_reading(
    rules: Iterable[Callable[[Reader, int], Found | None]], reader: Reader, place: int
) -> Found | None:
    """The earlier rule's where two are as long. A rule that finds no place for it reads nothing."""
    found: list[Found] = []
    for rule in rules:
        with suppress(Unplaced):
            if (each := rule(reader, place)) is not None:
                found.append(each)
    return max(found, key=lambda each: each.end) if found else None


def found_at(place: int, end: int, kind: TimeKind, period: Period, bound: Bound = "in") -> Found:
    return Found(
        start=place,
        end=end,
        kind=kind,
        grain=period.grain,
        begins=period.start,
        ends=period.end,
        bound=bound,
    )


def between(first: Fields, last: Fields, ground: Ground) -> Period:
    """From `first` to `last`; what one side leaves out is taken from the other."""
    first, last = _shared(first, last)
    if first.clock is not None or last.clock is not None:
        return _between_clocks(first, last, ground)
    running = _running(first, last, ground)
    if running is not None:
        return running
    start = placed(first, ground)
    if start.grain == "second" and ground.says.rolling == "days":
        start = unit_at(start.start, "day")
    end = placed(last, ground) if last.base is not None else _following(last, start, ground)
    if start.start >= end.end and first.year is None and first.base is None:
        start = _before(first, end, ground)
    return _whole(start, end, ground)


def _running(first: Fields, last: Fields, ground: Ground) -> Period | None:
    """The stretch that holds now is meant before one to come."""
    told = first.year is not None or first.base is not None or first.which is not None
    if told or ground.says.prefer != "future":
        return None
    past = between(first, last, replace(ground, says=replace(ground.says, prefer="past")))
    return past if past.start <= ground.now < past.end else None


def _whole(start: Period, end: Period, ground: Ground) -> Period:
    last = end.end if ground.says.whole_end or _is_part(end) else end.start
    if end.grain == "second":
        last = floor(end.start, "day") if ground.says.rolling == "days" else end.start
        last += ground.says.now_holds
    if last <= start.start:
        last = end.end
    if last <= start.start:
        raise Unplaced
    return Period(start.start, last, end.grain)


def _is_part(period: Period) -> bool:
    """Its early, middle or late part: that ends where it ends."""
    unit = unit_at(period.start, period.grain)
    return (period.start, period.end) != (unit.start, unit.end)


def _shared(first: Fields, last: Fields) -> tuple[Fields, Fields]:
    inside = last.base if last.base is not None and last.base.grain == "month" else None
    if inside is not None and first == Fields(day=first.day):
        first = replace(first, base=inside)
    if first.month is None and first.day is not None and last.month is not None:
        first = replace(first, month=last.month, lunar=last.lunar)
    whole = first.base is not None or first.which is not None
    if first.year is None and not whole and last.year is not None:
        first = replace(first, year=None if _later(first, last) else last.year)
        if first.year is None:
            first = replace(first, year=(last.year or 0) - 1)
    if last.month is None and last.day is not None and first.month is not None:
        wraps = first.day is not None and last.day < first.day
        last = replace(last, month=first.month % 12 + 1 if wraps else first.month)
    return first, last


def _later(first: Fields, last: Fields) -> bool:
    if not first.dated or first.month is None or last.month is None:
        return False
    return (first.month, first.day or 0) > (last.month, last.day or 31)


def _following(said: Fields, start: Period, ground: Ground) -> Period:
    """The first such time that does not end before `start` begins."""
    if said.year is not None or not said.dated or (said.which is not None and said.weekday is None):
        return placed(said, ground)
    from_there = replace(
        ground, now=start.start, says=replace(ground.says, prefer="future", last_weekday="nearest")
    )
    if said.weekday is not None and said.day is None:
        return placed(replace(said, which=None), from_there)
    return placed(said, from_there)


def _before(said: Fields, end: Period, ground: Ground) -> Period:
    return placed(said, replace(ground, now=end.start, says=replace(ground.says, prefer="past")))


def _between_clocks(first: Fields, last: Fields, ground: Ground) -> Period:
    day = _day_of(first, last, ground)
    first, last = _same_half(first, last, shared=ground.says.clock_end_shared)
    start = placed(_on(first, day), ground)
    end_day = dated(last, ground) if last.dated else day
    end = placed(_on(last, end_day), ground)
    if end.start < start.start and not last.dated:
        noon = replace(last.clock, pm=True) if last.clock and last.clock.pm is None else None
        later = placed(_on(replace(last, clock=noon), end_day), ground) if noon else end
        end = later if later.start > start.start else placed(_on(last, _next(end_day)), ground)
    close = ends_of_clock(end, ground) if last.clock is not None else end.end
    if close <= start.start:
        raise Unplaced
    return Period(start.start, close, end.grain)


def _next(day: Period) -> Period:
    return Period(day.start + DAY, day.end + DAY, "day")


def _on(said: Fields, day: Period) -> Fields:
    return Fields(
        base=replace(day, grain="day"),
        clock=said.clock,
        part=said.part,
        minutes_ahead=said.minutes_ahead,
    )


def _day_of(first: Fields, last: Fields, ground: Ground) -> Period:
    if first.dated:
        return dated(first, ground)
    if last.dated:
        return dated(last, ground)
    start = placed(first, ground).start if first.clock else ground.now
    return unit_at(start, "day")


def _same_half(first: Fields, last: Fields, *, shared: bool) -> tuple[Fields, Fields]:
    """ "3 to 5 pm" begins in the afternoon, "11 to 1 pm" before noon."""
    a, b = first.clock, last.clock
    if shared and a is not None and b is not None and a.minute is not None and b.minute is None:
        b = replace(b, minute=0)
        last = replace(last, clock=b)
    part = first.part or last.part
    if first.part is None and not first.dated:
        first = replace(first, part=part)
    if last.part is None and not last.dated:
        last = replace(last, part=part)
    if a is None or b is None or a.pm is not None or a.exact or b.pm is None:
        return first, last
    if first.part is not None:
        return first, last
    late = b.pm and (a.hour % 12, a.minute or 0) < (b.hour % 12, b.minute or 0)
    return replace(first, clock=replace(a, pm=late)), last


def sides(
    period: Period, bound: Bound, ground: Ground, *, timed: bool = False
) -> tuple[datetime | None, datetime | None]:
    """Beginning and end of what lies before, until, after or since the period."""
    says = ground.says
    now = ground.now if bound in says.from_now else None
    if bound == "since":
        return period.start, None
    if bound == "after":
        long = period.grain not in {*SHORT, "day"}
        whole = says.after == "end" or (says.after == "long" and long)
        return (period.end if whole and not timed else period.start), None
    if bound == "until":
        return now, period.start if timed or not says.until_holds else period.end
    return (now if now is not None and period.start > now else None), period.start
