"""Which times does a text name, seen from a moment and a zone?

Deterministic rules of each language; what is open in the words is settled by
`serve.plan.time_units.Conventions`. Without a year, month or day of its own a time is the latest
that has begun before `now`: who asks a memory asks about the past.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex

from cluster.errors import InvalidRequest
from serve.plan.time_en import read_english
from serve.plan.time_mention import TimeMention
from serve.plan.time_spans import Found
from serve.plan.time_units import Conventions, Ground
from serve.plan.time_zh import read_chinese

FIRST_YEAR, LAST_YEAR = 2, 9998
DEFAULTS = Conventions()
SEEN = 60

_DEMANDS = regex.compile(
    r"(?:\b(?:only|just|exclusively|solely|strictly)\s+(?:(?:those|ones|posts|documents|from)\s+)?"
    r"(?:in|from|of|for|during|on|within)?\s*(?:the\s+)?|(?:仅限?|只限?|只看|只要|仅看|限于|只在|仅在)(?:于|在)?\s*)$",
    regex.IGNORECASE,
)
_DEMANDS_BEHIND = regex.compile(r"\s*(?:only\b|\(only\)|为限|而已)", regex.IGNORECASE)


def zone_named(name: str) -> ZoneInfo:
    """Raises `InvalidRequest` for what is no name of the tz database."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidRequest(
            f"timezone: {name!r} is unknown; name one of the tz database, such as Asia/Shanghai"
        ) from error


def find_times(
    text: str, *, now: datetime, zone: tzinfo = UTC, says: Conventions = DEFAULTS
) -> tuple[TimeMention, ...]:
    """In order of the text, none inside another, the first few dozens; a long text is not
    read to its end. `now` has a zone; never raises on a text."""
    try:
        local = now.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return ()
    ground = Ground(now=local, zone=zone, says=says)
    found = _read(text, ground)
    mentions = (_mention(text, each, zone) for each in found)
    return tuple(each for each in mentions if each is not None)


_HAN = regex.compile(r"\p{Han}")


def _read(text: str, ground: Ground) -> list[Found]:
    """Chinese where there are Chinese characters, English in what that leaves."""
    if not _HAN.search(text):
        return read_english(text, ground)
    found = read_chinese(text, ground)
    taken = [(each.start, each.end) for each in found]
    more = [
        each
        for each in read_english(text, ground)
        if all(each.end <= start or end <= each.start for start, end in taken)
    ]
    return sorted([*found, *more], key=lambda each: each.start)


def _mention(text: str, found: Found, zone: tzinfo) -> TimeMention | None:
    """`None` where the interval leaves the years that a calendar holds, or is empty."""
    moments = [each for each in (found.begins, found.ends) if each is not None]
    if not _sane(moments):
        return None
    begins = _in_utc(found.begins, zone)
    ends = _in_utc(found.ends, zone)
    if begins is not None and ends is not None and found.begins and found.ends:
        ends = ends if ends > begins else begins + (found.ends - found.begins)
        if ends <= begins:
            return None
    return TimeMention(
        raw=text[found.start : found.end],
        start=found.start,
        end=found.end,
        kind=found.kind,
        grain=found.grain,
        begins=begins,
        ends=ends,
        bound=found.bound,
        demanded=_demanded(text, found),
    )


def _sane(moments: Iterable[datetime]) -> bool:
    return all(FIRST_YEAR <= each.year <= LAST_YEAR for each in moments)


def _in_utc(moment: datetime | None, zone: tzinfo) -> datetime | None:
    """A time that the clocks skip is as long after the change as it was after midnight."""
    return None if moment is None else moment.replace(tzinfo=zone).astimezone(UTC)


def _demanded(text: str, found: Found) -> bool:
    return bool(
        _DEMANDS.search(text, max(0, found.start - SEEN), found.start)
        or _DEMANDS_BEHIND.match(text, found.end)
    )
