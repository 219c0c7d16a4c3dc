"""Lengths of time, and what they are counted from, as English tells them."""

from __future__ import annotations

from dataclasses import replace

import regex

from serve.plan import time_en_words as words
from serve.plan.time_en_reader import EnglishReader
from serve.plan.time_fields import Fields, ago, for_long, placed, rolling
from serve.plan.time_mention import Grain
from serve.plan.time_pieces import FLAGS, Piece
from serve.plan.time_spans import Found, found_at
from serve.plan.time_units import Duration, Ground, Period, Unplaced, moved, shifted, unit_at

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

W = words
MAX_PARTS = 8
_COMMA = regex.compile(r"\s*,?\s*")
_IN_WORD = regex.compile(r"(?P<w>in|within|after)\s+(?:about\s+|the\s+next\s+)?", FLAGS)
_TIME_WORD = regex.compile(r"\s*['’]?s?\s*time\b", FLAGS)
_SINCE_WORD = regex.compile(r"\s+since\s+", FLAGS)
_OF_WORD = regex.compile(r"\s+of\b", FLAGS)
_AND_WORD = regex.compile(r"\s+(?:and\s+)?", FLAGS)
_FOR_LEAD = regex.compile(r"for\s+", FLAGS)
_FROM_OR_ON = regex.compile(r"(?P<from>from\s+)|(?:on|at|in)\s+(?:the\s+)?", FLAGS)
_AT_OR_ON = regex.compile(r"\s*,?\s*(?:at|on)\s+", FLAGS)

# Lengths of time


_HALVES = regex.compile(
    rf"(?P<frac>half\s+an?|an?\s+half|half|(?:a\s+)?quarter\s+of\s+an?|three[\s-]quarters\s+of\s+an?"
    rf"|1/2|1/4|3/4)\s*(?P<u>{W.ANY_UNIT})",
    FLAGS,
)
_AMOUNT = regex.compile(
    rf"(?:(?P<n>\d+(?:\.\d+)?|{W.COUNT})(?P<half>\s+and\s+(?:a|an)\s+half)?[\s-]*"
    rf"(?:more\s+)?(?:(?P<u>{W.ANY_UNIT})|(?P<fort>fortnights?)|(?P<sec>[\"”]))|(?P<bare>fortnight)"
    rf"|(?P<day>(?<=next\s)day))(?![\p{{L}}\d])(?P<tail>\s+and\s+a\s+half)?",
    FLAGS,
)
_AND = regex.compile(r"(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*)", FLAGS)
_FRACTIONS = {"half": 0.5, "a half": 0.5, "an half": 0.5, "1/2": 0.5, "1/4": 0.25, "3/4": 0.75}


def duration_at(text: str, place: int) -> tuple[Duration, int] | None:
    """ "2 years, 1 month and 21 days", "half an hour", "2.5 hours"."""
    parts: list[tuple[int, Grain]] = []
    end = at = place
    while len(parts) < MAX_PARTS and (read := _amount_at(text, at)) is not None:
        amount, end = read
        parts.extend(amount)
        at = end
        link = _AND.match(text, end)
        at = link.end() if link is not None else end
    return (tuple(parts), end) if parts else None


def _amount_at(text: str, place: int) -> tuple[list[tuple[int, Grain]], int] | None:
    half = _HALVES.match(text, place)
    if half is not None:
        words_of = W.plain(half["frac"])
        share = 0.25 if words_of.endswith(("quarter of a", "quarter of an")) else 0.5
        if words_of.startswith("three"):
            share = 0.75
        share = _FRACTIONS.get(words_of, share)
        return amount_of(share, W.UNITS[W.plain(half["u"])]), half.end()
    match = _AMOUNT.match(text, place)
    if match is None:
        return None
    if match["bare"] or match["fort"]:
        count = W.count_of(match["n"]) if match["n"] else 1
        return [(14 * count, "day")], match.end()
    if match["day"]:
        return [(1, "day")], match.end()
    number = match["n"]
    count_f = (
        float(number) if regex.fullmatch(r"\d+(?:\.\d+)?", number) else float(W.count_of(number))
    )
    count_f += 0.5 if match["half"] or match["tail"] else 0.0
    unit: Grain = "second" if match["sec"] else W.UNITS[W.plain(match["u"])]
    return amount_of(count_f, unit), match.end()


_SMALLER: dict[Grain, tuple[int, Grain]] = {
    "minute": (60, "second"),
    "hour": (60, "minute"),
    "day": (24, "hour"),
    "week": (7, "day"),
    "month": (30, "day"),
    "quarter": (3, "month"),
    "half": (6, "month"),
    "year": (12, "month"),
    "decade": (10, "year"),
    "century": (100, "year"),
}


def amount_of(count: float, unit: Grain) -> list[tuple[int, Grain]]:
    """A fraction is told in the next smaller unit."""
    if count > 10_000_000:
        raise Unplaced
    whole = int(count)
    parts: list[tuple[int, Grain]] = [(whole, unit)] if whole else []
    if count > whole and unit in _SMALLER:
        size, smaller = _SMALLER[unit]
        parts.append((round((count - whole) * size), smaller))
    return parts or [(0, unit)]


_AGO = regex.compile(
    r"\s*(?P<ago>ago|back(?!\s+to)|earlier|previously|prior|before\s+now|before\s*$)"
    r"|\s*(?P<hence>from\s+(?:right\s+)?now|hence|later|['’]s?\s+time|from\s+this\s+moment)",
    FLAGS,
)
_MORE = regex.compile(r"(?:about|around|approximately|roughly|nearly|almost|over|some)\s+", FLAGS)


def offset(reader: EnglishReader, place: int) -> Found | None:
    """ "2 weeks ago", "3 days from now"."""
    more = _MORE.match(reader.text, place)
    length = duration_at(reader.text, more.end() if more else place)
    if length is None:
        return None
    duration, end = length
    tail = _AGO.match(reader.text, end)
    if tail is None:
        return None
    sign = -1 if tail["ago"] else 1
    period = ago(reader.ground, duration, sign=sign)
    return _offset_found(reader, place, tail.end(), period, duration)


def _offset_found(
    reader: EnglishReader, place: int, end: int, period: Period, duration: Duration
) -> Found:
    """With the weekday or time of day that the words add."""
    for glue in (_AT_OR_ON,):
        joint = glue.match(reader.text, end)
        piece = reader.fields_at(joint.end()) if joint else None
        if piece is not None and piece.said.clock is not None and not piece.said.dated:
            said = replace(piece.said, base=unit_at(period.start, "day"))
            return found_at(place, piece.end, "relative", placed(said, reader.ground))
        if piece is not None and piece.said == Fields(weekday=piece.said.weekday):
            return found_at(place, piece.end, "relative", _weekday_near(period, piece.said))
    return found_at(place, end, "relative", period)


def _weekday_near(period: Period, said: Fields) -> Period:
    """The first such day from there on."""
    day = unit_at(period.start, "day")
    return unit_at(moved(day.start, ((said.weekday or 0) - day.start.weekday()) % 7, "day"), "day")


def weekday_offset(reader: EnglishReader, place: int) -> Found | None:
    """ "Sunday 3 weeks after ...", "Thursday, two years from now"."""
    piece = reader.fields_at(place, date_only=True)
    if piece is None or piece.said != Fields(weekday=piece.said.weekday):
        return None
    joint = _COMMA.match(reader.text, piece.end)
    at = joint.end() if joint else piece.end
    found = offset(reader, at) or offset_from(reader, at)
    if found is None or found.begins is None or found.ends is None:
        return None
    near = _weekday_near(Period(found.begins, found.ends, "day"), piece.said)
    return found_at(place, found.end, "relative", near)


def in_duration(reader: EnglishReader, place: int) -> Found | None:
    """ "In 2 hours", "within the next 3 days", "after 5 days"."""
    lead = _IN_WORD.match(reader.text, place)
    if lead is None:
        return None
    length = duration_at(reader.text, lead.end())
    if length is None:
        return None
    duration, end = length
    time = _TIME_WORD.match(reader.text, end)
    since = _SINCE_WORD.match(reader.text, end)
    if since is not None and (of := reader.fields_at(since.end())) is not None:
        start = placed(of.said, reader.ground).start
        return found_at(place, of.end, "point", ago(reader.ground, duration, sign=1, at=start))
    word = lead["w"].casefold()
    if word == "within":
        return found_at(
            place,
            end,
            "range",
            for_long(reader.ground, reader.ground.now, duration, duration[-1][1]),
        )
    period = ago(reader.ground, duration, sign=1)
    if _in_is_past(reader, end):
        return None
    if word == "after":
        return Found(
            start=place,
            end=end,
            kind="range",
            grain=period.grain,
            begins=period.start,
            bound="after",
        )
    return _offset_found(reader, place, time.end() if time else end, period, duration)


def _in_is_past(reader: EnglishReader, end: int) -> bool:
    """ "In 3 years of work" is a length."""
    return bool(_OF_WORD.match(reader.text, end))


_FROM = regex.compile(r"\s+(?P<w>before|after|from|since|prior\s+to|following)\s+", FLAGS)
_BY_MORE = regex.compile(r"(?P<w>more|less|over)\s+than\s+", FLAGS)


def offset_from(reader: EnglishReader, place: int) -> Found | None:
    """ "3 weeks from tomorrow", "more than 2 days before yesterday"."""
    by = _BY_MORE.match(reader.text, place)
    length = duration_at(reader.text, by.end() if by else place)
    if length is None:
        return None
    duration, end = length
    link = _FROM.match(reader.text, end)
    of = reader.fields_at(link.end()) if link is not None else None
    if link is None or of is None or not reader.cued(of, link.end()):
        return None
    sign = -1 if link["w"].casefold() in {"before"} or "prior" in link["w"].casefold() else 1
    start = placed(
        of.said, _ahead(reader.ground) if "from" in link["w"].casefold() else reader.ground
    )
    if sign > 0 and duration[-1][1] in {"second", "minute", "hour"} and of.said.clock is None:
        return None
    there = _offset_period(reader.ground, duration, sign, start)
    if by is None:
        return _offset_found(reader, place, of.end, there, duration)
    return _by_more(place, of.end, there, start, sign, more=by["w"].casefold() != "less")


def _ahead(ground: Ground) -> Ground:
    """ "From Tuesday" means one to come."""
    return replace(ground, says=replace(ground.says, prefer="future"))


def _offset_period(ground: Ground, duration: Duration, sign: int, start: Period) -> Period:
    there = shifted(ground, start.start, duration, sign=sign)
    return unit_at(
        there, start.grain if start.grain in {"second", "minute", "hour", "day"} else "day"
    )


def _by_more(place: int, end: int, there: Period, start: Period, sign: int, *, more: bool) -> Found:
    if more and sign < 0:
        return Found(
            start=place, end=end, kind="range", grain="day", ends=there.start, bound="before"
        )
    if more:
        return Found(
            start=place, end=end, kind="range", grain="day", begins=there.end, bound="after"
        )
    low, high = sorted((there.start, start.start))
    return found_at(place, end, "range", Period(low, high, "day"))


_COUNTED_WEEKDAYS = regex.compile(
    rf"(?P<n>\d+|{W.COUNT})\s+(?P<w>{W.WEEKDAY})\s+(?:(?P<ago>ago|back)|from\s+now|hence)", FLAGS
)


def counted_weekdays(reader: EnglishReader, place: int) -> Found | None:
    """ "3 Fridays from now", "2 Thursdays ago"."""
    match = _COUNTED_WEEKDAYS.match(reader.text, place)
    if match is None:
        return None
    count, weekday = W.count_of(match["n"]), W.WEEKDAYS[W.plain(match["w"])]
    today = reader.ground.today.start
    if match["ago"]:
        first = moved(today, -((today.weekday() - weekday - 1) % 7 + 1), "day")
        day = moved(first, 1 - count, "week")
    else:
        first = moved(today, (weekday - today.weekday() - 1) % 7 + 1, "day")
        day = moved(first, count - 1, "week")
    return found_at(place, match.end(), "relative", unit_at(day, "day"))


_ROLLING = regex.compile(
    rf"(?:in\s+|over\s+|during\s+|for\s+|within\s+)?(?:the\s+)?"
    rf"(?:(?P<rel>{W.any_of(W.WHICH)}|trailing)\s+(?P<n>\d+|{W.COUNT})"
    rf"|(?P<n2>\d+|{W.COUNT})\s+(?P<rel2>{W.any_of(W.WHICH)}))\s+"
    rf"(?:of\s+)?(?:(?P<u>{W.UNIT})|(?P<wend>week[\s-]?ends?))",
    FLAGS,
)


def rolling_units(reader: EnglishReader, place: int) -> Found | None:
    """ "The last 3 months", "5 upcoming years"."""
    match = _ROLLING.match(reader.text, place)
    if match is None or match["wend"]:
        return None
    rel = W.plain(match["rel"] or match["rel2"])
    if match["rel2"] and not match["u"].casefold().endswith("s") and "upcoming" not in rel:
        return None
    count = W.count_of(match["n"] or match["n2"])
    unit = W.UNITS[W.plain(match["u"])]
    which = -1 if rel == "trailing" else W.WHICH[rel]
    place = match.start("rel") if match["rel"] else match.start("n2")
    if which == 0 or count == 0:
        return None
    if reader.ground.says.unit_count_is_nth and "upcoming" in rel:
        return found_at(place, match.end(), "relative", unit_at(reader.ground.now, unit, count))
    more = _AND_WORD.match(reader.text, match.end())
    extra = duration_at(reader.text, more.end()) if more and " and " in more.group() else None
    if extra is not None and not _AGO.match(reader.text, extra[1]):
        duration = ((count, unit), *extra[0])
        return found_at(
            place, extra[1], "relative", for_long(reader.ground, reader.ground.now, duration, unit)
        )
    return found_at(place, match.end(), "relative", rolling(reader.ground, count, unit, sign=which))


_REST = regex.compile(
    r"(?:the\s+)?(?:rest|remainder|remaining)\s+of\s+(?:the\s+|this\s+)?(?P<u>day|week|month|quarter|year)",
    FLAGS,
)


_THE_LAST = regex.compile(
    r"(?:in|over|during|within)\s+(?:the\s+)?(?:last|past)\s+(?P<u>day|week|month|quarter|year|decade)\b",
    FLAGS,
)


def the_last(reader: EnglishReader, place: int) -> Found | None:
    """ "In the last month": the month up to now, not that of the calendar."""
    match = _THE_LAST.match(reader.text, place)
    if match is None or reader.ground.says.rolling != "now":
        return None
    period = rolling(reader.ground, 1, W.UNITS[match["u"].casefold()], sign=-1)
    return found_at(place, match.end(), "relative", period)


def rest_of_unit(reader: EnglishReader, place: int) -> Found | None:
    """ "The rest of the week"."""
    match = _REST.match(reader.text, place)
    if match is None:
        return None
    today = reader.ground.today
    unit = unit_at(reader.ground.now, W.UNITS[match["u"].casefold()])
    return found_at(place, match.end(), "relative", Period(today.start, unit.end, unit.grain))


def lasting(reader: EnglishReader, place: int) -> Found | None:
    """ "For 3 days from today", "2 weeks starting May 20th", "from May 3 for 10 days"."""
    found = _length_first(reader, place)
    return found if found is not None else _length_last(reader, place)


_STARTS = regex.compile(
    r"\s*,?\s*(?:starting|beginning|from|commencing)\s+(?:from\s+|on\s+|at\s+)?", FLAGS
)
_FOR = regex.compile(r"\s*,?\s*for\s+", FLAGS)


def _length_first(reader: EnglishReader, place: int) -> Found | None:
    lead = _FOR_LEAD.match(reader.text, place)
    length = duration_at(reader.text, lead.end() if lead else place)
    if length is None:
        return None
    duration, end = length
    link = _STARTS.match(reader.text, end)
    of = reader.fields_at(link.end()) if link is not None else None
    if link is None or of is None or (lead is None and "start" not in link.group().casefold()):
        return None
    ahead = "from" in link.group().casefold()
    start = placed(of.said, _ahead(reader.ground) if ahead else reader.ground)
    return found_at(
        place, of.end, "range", for_long(reader.ground, start.start, duration, start.grain)
    )


def _length_last(reader: EnglishReader, place: int) -> Found | None:
    lead = _FROM_OR_ON.match(reader.text, place)
    of = reader.fields_at(lead.end() if lead else place)
    link = _FOR.match(reader.text, of.end) if of is not None else None
    length = duration_at(reader.text, link.end()) if link is not None else None
    if (
        of is None
        or length is None
        or ((lead is None or not lead["from"]) and of.said.clock is None)
    ):
        return None if of is None or length is None else _day_with_length(reader, place, of, length)
    duration, end = length
    start = placed(of.said, reader.ground)
    return found_at(
        place, end, "range", for_long(reader.ground, start.start, duration, start.grain)
    )


def _day_with_length(
    reader: EnglishReader, place: int, of: Piece, length: tuple[Duration, int]
) -> Found | None:
    """ "14 Feb for 7 hours from 9:30 am"."""
    duration, end = length
    link = _STARTS.match(reader.text, end)
    clock = reader.fields_at(link.end()) if link is not None else None
    if clock is None or clock.said.clock is None:
        return None
    said = of.said.joined(clock.said)
    if said is None:
        return None
    start = placed(said, reader.ground)
    return found_at(
        place, clock.end, "range", for_long(reader.ground, start.start, duration, start.grain)
    )
