"""The smallest English phrases of times: what each looks like, and what it says."""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from dataclasses import replace

import regex

from serve.plan import time_en_words as words
from serve.plan.time_fields import Clock, Fields, dated, placed
from serve.plan.time_mention import Grain
from serve.plan.time_pieces import (
    FLAGS,
    PM,
    ZONES,
    Builder,
    Match,
    Piece,
    Pieces,
    clock,
    full_year,
    long_weekend,
    month_and_day,
    say,
    weekend_in,
    weekend_of,
    year_last,
)
from serve.plan.time_units import (
    DAY,
    Ground,
    Period,
    floor,
    moved,
    nth_unit,
    nth_weekday,
    unit_at,
    year_at,
)

W = words

_GLUE = regex.compile(
    r"(?:\s*[,@(-]\s*"
    r"|\s+(?:(?:sometime\s+)?(?:of|in|on|at|for|the|by the|around|about|from)\s+(?:the\s+)?)?"
    r"|['’]s\s+)(?:the\s+|of\s+|on\s+)?",
    FLAGS,
)


# Dates in numbers


def _year_first(pieces: Pieces, match: Match) -> Piece:
    month = match["m"]
    number = int(month) if month.isdigit() else W.MONTHS[W.plain(month)]
    year = full_year(match["y"], ground=pieces.ground)
    return say(match, year=year, month=number, day=int(match["d"]))


def _year_and_month(_: Pieces, match: Match) -> Piece:
    month = match["m"]
    return say(
        match,
        year=int(match["y"]),
        month=int(month) if month.isdigit() else W.MONTHS[W.plain(month)],
    )


# Dates in words


def _day_of(match: Match) -> int:
    text = match["d"]
    if text.isdigit():
        return int(text)
    plain = W.plain(text)
    return W.COUNTS[plain] if plain in W.COUNTS else W.ordinal_of(text)


def _month_day(pieces: Pieces, match: Match) -> Piece | None:
    day = _day_of(match)
    month = W.MONTHS[W.plain(match["m"])]
    if not 1 <= day <= 31:
        return None
    year = match["y"] if "y" in match.groupdict() else None
    if year is None:
        return say(match, month=month, day=day)
    return say(match, month=month, day=day, year=full_year(year, ground=pieces.ground))


_WEAK_MONTHS = frozenset({"may", "march", "mar", "dec", "sep", "jan", "jun"})


def _month(_: Pieces, match: Match) -> Piece:
    name = W.plain(match["m"])
    return Piece(Fields(month=W.MONTHS[name]), match.end(), strong=name not in _WEAK_MONTHS)


def _month_after_next(pieces: Pieces, match: Match) -> Piece:
    if match["m"]:
        return say(match, month=W.MONTHS[W.plain(match["m"])], which=2)
    return say(match, base=_nearest_weekday(pieces, W.WEEKDAYS[W.plain(match["w"])], 2))


def _nearest_weekday(pieces: Pieces, weekday: int, which: int) -> Period:
    says = replace(pieces.ground.says, last_weekday="nearest", next_weekday="nearest")
    return dated(Fields(weekday=weekday, which=which), replace(pieces.ground, says=says))


def _which_month(_: Pieces, match: Match) -> Piece:
    which = W.WHICH[W.plain(match["rel"])]
    return say(match, month=W.MONTHS[W.plain(match["m"])], which=which)


def _which_number(pieces: Pieces, match: Match) -> Piece | None:
    """ "This 5/12", "next 6th of April"."""
    piece = pieces.fields_at(match.end())
    which = W.WHICH[W.plain(match["rel"])]
    if piece is None or piece.said.month is None or piece.said.year is not None:
        return None
    return Piece(replace(piece.said, which=which), piece.end)


def _year(pieces: Pieces, match: Match) -> Piece:
    number = full_year(match["y"], ground=pieces.ground)
    return Piece(Fields(year=number), match.end(), strong=match["cue"] is not None)


def _year_words(_: Pieces, match: Match) -> Piece:
    return Piece(Fields(year=W.year_of_words(match["y"])), match.end(), strong=False)


def _anno(_: Pieces, match: Match) -> Piece:
    return say(match, year=int(match["y"]))


def _decade(_: Pieces, match: Match) -> Piece:
    text = match["y"]
    if text.isdigit() and len(text) > 2:
        start = int(text)
    else:
        tens = int(text) if text.isdigit() else 20 + 10 * list(_DECADES).index(W.plain(text))
        start = 1900 + tens if tens >= 30 else 2000 + tens
    return say(match, base=unit_at(year_at(start).start, "decade"))


def _century(_: Pieces, match: Match) -> Piece | None:
    number = W.ordinal_of(match["n"])
    if number < 2:
        return None
    return say(match, base=unit_at(year_at((number - 1) * 100).start, "century"))


def _day_number(_: Pieces, match: Match) -> Piece | None:
    day = _day_of(match)
    return Piece(Fields(day=day), match.end(), strong=False) if 1 <= day <= 31 else None


_WEAK_WEEKDAYS = frozenset({"sun", "sat", "mon", "wed", "fri"})


def _weekday(_: Pieces, match: Match) -> Piece | None:
    name = W.plain(match["w"])
    day = _day_of(match) if match["d"] else None
    if name.endswith("days"):
        return None
    strong = day is not None or name not in _WEAK_WEEKDAYS or match["w"].endswith(".")
    return Piece(Fields(weekday=W.WEEKDAYS[name], day=day), match.end(), strong=strong)


def _which_weekday(pieces: Pieces, match: Match) -> Piece:
    rel = W.plain(match["rel"])
    which = W.WHICH[rel]
    weekday = W.WEEKDAYS[W.plain(match["w"])]
    nearest = {"past": -1, "this past": -1, "coming": 1, "upcoming": 1}
    if rel in nearest:
        return say(match, base=_nearest_weekday(pieces, weekday, nearest[rel]))
    return say(match, weekday=weekday, which=which)


def _festival(pieces: Pieces, match: Match) -> Piece:
    place = next(key for key, value in match.groupdict().items() if value and key[0] == "f")
    which = W.WHICH[W.plain(match["rel"])] if match["rel"] else None
    said = Fields(festival=W.FESTIVAL_NAMES[int(place[1:])], which=which)
    weekend = _THEN_WEEKEND.match(pieces.text, match.end())
    if weekend is None:
        return Piece(said, match.end())
    year = int(weekend["y"]) if weekend["y"] else None
    day = placed(replace(said, year=year), pieces.ground)
    return Piece(Fields(base=long_weekend(day, pieces.ground)), weekend.end())


_THEN_WEEKEND = regex.compile(r"(?:\s+(?P<y>\d{4}))?\s+week[\s-]?end\b", FLAGS)


def _year_away(pieces: Pieces, match: Match) -> Piece:
    """ "In two years", "two years ago", behind a month or a festival."""
    count = W.count_of(match["n"] or match["m"])
    year = pieces.ground.now.year + (count if match["n"] else -count)
    return Piece(Fields(year=year), match.end(), strong=False)


def _military(_: Pieces, match: Match) -> Piece | None:
    hour, minute = int(match["h"]), int(match["min"])
    if hour > 23 or minute > 59:
        return None
    return say(match, clock=Clock(hour=hour, minute=minute, exact=True))


def _festival_weekend(pieces: Pieces, match: Match) -> Piece | None:
    piece = pieces.fields_at(match.end())
    if piece is None or piece.said.festival is None:
        return None
    return Piece(
        Fields(base=long_weekend(placed(piece.said, pieces.ground), pieces.ground)), piece.end
    )


# Counted from now


def _named_day(pieces: Pieces, match: Match) -> Piece:
    name = W.plain(match.group())
    return say(match, base=unit_at(pieces.ground.now, "day", _NAMED_DAYS[name]))


def _now(pieces: Pieces, match: Match) -> Piece:
    start = pieces.ground.now
    return say(match, base=Period(start, moved(start, 1, "second"), "second"))


def _which_unit(pieces: Pieces, match: Match) -> Piece:
    which = W.WHICH[W.plain(match["rel"])]
    unit = W.UNITS[W.plain(match["u"])]
    if match["after"]:
        which += 1
    return _unit_from_now(pieces, match, unit, which)


def _unit_from_now(pieces: Pieces, match: Match, unit: Grain, which: int) -> Piece:
    ground = pieces.ground
    if unit in {"second", "minute", "hour"} and ground.says.rolling != "whole" and which:
        there = moved(ground.now, which, unit)
        return say(match, base=Period(min(there, ground.now), max(there, ground.now), unit))
    return say(match, base=unit_at(ground.now, unit, which))


def _unit_after_next(pieces: Pieces, match: Match) -> Piece:
    return _unit_from_now(pieces, match, W.UNITS[W.plain(match["u"])], 2)


def _same_unit(pieces: Pieces, match: Match) -> Piece:
    return say(match, base=unit_at(pieces.ground.now, W.UNITS[W.plain(match["u"])]))


def _end_letters(pieces: Pieces, match: Match) -> Piece:
    unit: Grain = "month" if match["u"].lower() == "m" else "year"
    edge = "end" if match["e"].lower() == "e" else "early"
    return say(match, base=unit_at(pieces.ground.now, unit), edge=edge)


def _fortnight(pieces: Pieces, match: Match) -> Piece:
    which = W.WHICH[W.plain(match["rel"])] if match["rel"] else 0
    start = moved(floor(pieces.ground.now, "week"), 2 * which, "week")
    return say(match, base=Period(start, moved(start, 2, "week"), "week"))


def _weekend(pieces: Pieces, match: Match) -> Piece:
    rel = W.plain(match["rel"]) if match["rel"] else None
    which = W.WHICH[rel] if rel else None
    if rel in {"this past", "past", "the past"} and pieces.ground.now.weekday() >= 5:
        which = 0
    return say(match, base=weekend_of(which, pieces.ground))


def _season(pieces: Pieces, match: Match) -> Piece | None:
    name = W.SEASONS[W.plain(match["s"])]
    rel = match["rel"]
    if rel is None and W.plain(match["s"]) in {"fall", "spring"} and not match["cue"]:
        return Piece(Fields(season=name), match.end(), strong=False)
    which = W.WHICH[W.plain(rel)] if rel else None
    return Piece(Fields(season=name, which=which), match.end(), strong=bool(rel or match["cue"]))


# Quarters, halves, weeks


def _quarter(_: Pieces, match: Match) -> Piece | None:
    text = match["n"]
    number = int(text) if text.isdigit() else W.ordinal_of(text)
    year = int(match["y"]) if match["y"] else None
    if not 1 <= number <= 4:
        return None
    return say(match, quarter=number, year=year)


def _half(_: Pieces, match: Match) -> Piece | None:
    text = match["n"]
    number = int(text) if text.isdigit() else W.ordinal_of(text)
    return say(match, half=number) if number in {1, 2} else None


def _week_number(_: Pieces, match: Match) -> Piece | None:
    week = int(match["n"])
    return say(match, week=week) if 1 <= week <= 53 else None


def _week_of(pieces: Pieces, match: Match) -> Piece | None:
    piece = pieces.fields_at(match.end(), date_only=True)
    if piece is None or (piece.said.day is None and piece.said.festival is None):
        return None
    return Piece(Fields(base=unit_at(dated(piece.said, pieces.ground).start, "week")), piece.end)


# Parts of a stretch


def _edge(pieces: Pieces, match: Match) -> Piece | None:
    piece = pieces.fields_at(match.end(), date_only=True)
    edge = W.EDGES[W.plain(match["e"])]
    if piece is not None and piece.said.part is not None:
        part = f"{edge}_{piece.said.part}"
        known = part in pieces.ground.says.parts
        return Piece(replace(piece.said, part=part), piece.end, piece.strong) if known else None
    if piece is None or piece.said.edge is not None or piece.said.clock is not None:
        return None
    counted = match["e"].lower() in {"earlier", "later"} or match["e"].lower().endswith("er in")
    if counted and piece.said.base is not None:
        return _until_today(pieces, piece, edge)
    return Piece(replace(piece.said, edge=edge), piece.end)


def _until_today(pieces: Pieces, piece: Piece, edge: str) -> Piece | None:
    """ "Earlier this year", "later this week": on this side of now."""
    ground = pieces.ground
    period = dated(piece.said, ground)
    if period.grain == "day" or not period.start <= ground.now < period.end:
        return Piece(replace(piece.said, edge=edge), piece.end)
    today = ground.today
    start, end = (period.start, today.start) if edge == "early" else (today.start, period.end)
    if start >= end:
        start, end = today.start, today.end
    return Piece(Fields(base=Period(start, end, period.grain)), piece.end)


def _unit_edge(pieces: Pieces, match: Match) -> Piece:
    """ "End of month", "beginning of the year": of the present one."""
    unit = W.UNITS[W.plain(match["u"])]
    return say(match, base=unit_at(pieces.ground.now, unit), edge=W.EDGES[W.plain(match["e"])])


def _nth_of(pieces: Pieces, match: Match) -> Piece | None:
    """ "The last friday of October", "first 2 weeks of 2021", "3rd week of Jan"."""
    if not match["n"] and not match["last"]:
        return None
    nth = W.ordinal_of(match["n"]) if match["n"] else 1
    if match["last"]:
        nth = -nth
    inside = _container(pieces, match)
    if inside is None:
        return None
    period, end = inside
    if match["w"]:
        day = nth_weekday(period, nth, W.WEEKDAYS[W.plain(match["w"])])
        return Piece(
            Fields(base=day, part=W.PARTS[match["p"].casefold()] if match["p"] else None), end
        )
    if match["weekend"]:
        return Piece(Fields(base=_nth_weekend(period, nth, pieces.ground)), end)
    count = W.count_of(match["c"]) if match["c"] else 1
    unit = W.UNITS[W.plain(match["u"])]
    base = nth_unit(period, nth, unit, count, says=pieces.ground.says)
    return Piece(Fields(base=base), end)


def _container(pieces: Pieces, match: Match) -> tuple[Period, int] | None:
    inside = pieces.fields_at(match.end(), date_only=True)
    if inside is not None and inside.said.day is None and inside.said.weekday is None:
        return dated(inside.said, pieces.ground), inside.end
    unit = _THE_UNIT.match(pieces.text, match.end())
    if unit is None:
        return None
    return unit_at(pieces.ground.now, W.UNITS[W.plain(unit["u"])]), unit.end()


def _nth_weekend(period: Period, nth: int, ground: Ground) -> Period:
    saturday = nth_weekday(period, nth, 5)
    return weekend_in(floor(saturday.start, "week"), ground)


def _nth_after(pieces: Pieces, match: Match) -> Piece | None:
    """ "Third tuesday after Christmas 2014"."""
    piece = pieces.fields_at(match.end(), date_only=True)
    if piece is None:
        return None
    day = dated(piece.said, pieces.ground)
    nth = W.ordinal_of(match["n"])
    weekday = W.WEEKDAYS[W.plain(match["w"])]
    if match["dir"].lower() == "after":
        return Piece(Fields(base=nth_weekday(replace(day, start=day.end), nth, weekday)), piece.end)
    return Piece(Fields(base=nth_weekday(replace(day, end=day.start), -nth, weekday)), piece.end)


def _day_before(pieces: Pieces, match: Match) -> Piece | None:
    """ "The day before Christmas", "the weekend after May 5"."""
    piece = pieces.fields_at(match.end(), date_only=True)
    if piece is None or not piece.strong:
        return None
    sign = 1 if match["dir"].lower() in {"after", "following"} else -1
    period = dated(piece.said, pieces.ground)
    start = period.end if sign > 0 else period.start - DAY
    unit = W.UNITS[W.plain(match["u"])]
    return Piece(Fields(base=unit_at(start, unit)), piece.end)


def _day_of_month(pieces: Pieces, match: Match) -> Piece | None:
    """ "The 20th of next month"."""
    piece = pieces.fields_at(match.end(), date_only=True)
    day = _day_of(match)
    if piece is None or not 1 <= day <= 31:
        return None
    base = piece.said.base
    if base is None or base.grain != "month":
        return None
    return Piece(replace(piece.said, day=day), piece.end)


def _day_of_the_month(pieces: Pieces, match: Match) -> Piece | None:
    day = _day_of(match)
    return say(match, base=unit_at(pieces.ground.now, "month"), day=day) if day <= 31 else None


# Times of day


def _oclock(_: Pieces, match: Match) -> Piece | None:
    hour = W.count_of(match["h"])
    half = match["ap"]
    minute = match["min"]
    if not 1 <= hour <= 24:
        return None
    clock = Clock(
        hour=hour,
        minute=W.count_of(minute) if minute else None,
        pm=PM[half[0].lower()] if half else None,
        exact=hour > 12,
    )
    strong = bool(half or match["oc"])
    return Piece(Fields(clock=clock), match.end(), strong=strong)


def _past_hour(_: Pieces, match: Match) -> Piece | None:
    """ "A quarter past 3", "20 to noon", "half three"."""
    named = match["named"]
    hour = 12 if named else W.count_of(match["h"])
    half = match["ap"]
    pm = {"noon": True, "midnight": False}.get((named or "").lower())
    if half:
        pm = PM[half[0].lower()]
    lead = W.plain(match["lead"])
    minutes = {"half": 30, "quarter": 15, "a quarter": 15}.get(lead)
    if minutes is None:
        minutes = W.count_of(regex.sub(r"\s*min(?:ute)?s?$", "", lead))
    if match["dir"] and match["dir"].lower() in {"to", "till", "before", "of"}:
        hour, minutes = hour - 1, 60 - minutes
    if not 0 <= hour <= 24 or not 0 <= minutes < 60:
        return None
    hour = hour or 12
    pm = pm if not named or hour == 12 else False
    clock = Clock(hour=hour, minute=minutes, pm=pm, exact=hour > 12)
    return Piece(Fields(clock=clock), match.end())


def _noon(_: Pieces, match: Match) -> Piece:
    noon = W.plain(match.group()) != "midnight"
    clock = Clock(hour=12 if noon else 24, pm=True if noon else None, exact=not noon)
    return say(match, clock=clock)


def _part(pieces: Pieces, match: Match) -> Piece | None:
    """ "This morning", "last night", "tonight", "in the evening"."""
    name = W.PARTS[W.plain(match["p"])]
    if match["p"].lower().endswith(("tonight", "tonite")):
        return say(match, base=pieces.ground.today, part=name)
    if match["rel"]:
        which = W.WHICH[W.plain(match["rel"])]
        return say(match, base=unit_at(pieces.ground.now, "day", which), part=name)
    return Piece(Fields(part=name), match.end(), strong=False)


def _half_of_day(pieces: Pieces, match: Match) -> Piece | None:
    """ "Tomorrow am"."""
    part = "forenoon" if match["ap"].lower()[0] == "a" else "afternoon"
    return Piece(Fields(part=part), match.end(), strong=False)


_NAMED_DAYS = {
    "today": 0,
    "todays": 0,
    "the day": 0,
    "current date": 0,
    "the current date": 0,
    "yesterday": -1,
    "yesterdays": -1,
    "tomorrow": 1,
    "tomorrows": 1,
    "tmrw": 1,
    "tmr": 1,
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
    "the next day": 1,
    "the day before": -1,
    "the day after": 1,
    "the following day": 1,
    "the previous day": -1,
}
_DECADES = (
    "twenties",
    "thirties",
    "forties",
    "fifties",
    "sixties",
    "seventies",
    "eighties",
    "nineties",
)
_Y4 = r"(?:1[1-9]\d{2}|20\d{2}|21\d{2})"
_B = r"(?<![\p{L}\d_])"
_E = r"(?![\p{L}\d_])"
_THE = r"(?:the\s+)?"
_REL = W.any_of(W.WHICH)
_DAYNUM = rf"(?:{W.ORDINAL}|\d{{1,2}}(?![\d.:,]?\d|[\s-]*(?:st|nd|rd|th)\b)|{W.DAY_NUMBER})"
_AP = r"(?P<ap>[ap](?:\.?\s?m\b\.?|\b\.?))"
_ZONE = rf"(?:\s*\(?(?P<z>{W.any_of(ZONES)})\b\)?)?"
_THE_UNIT = regex.compile(r"the\s+(?P<u>week|month|quarter|year|decade|century)\b", FLAGS)
_OF = r"(?:\s+(?:of|in|from|on)(?:\s+the(?=\s+(?!month|year|week|quarter)))?\s+|\s+)"


def _at(pattern: str, build: Builder, *, end: str = _E) -> tuple[regex.Pattern[str], Builder]:
    return regex.compile(_B + "(?:" + pattern + ")" + end, FLAGS), build


def _before_more(pattern: str, build: Builder) -> tuple[regex.Pattern[str], Builder]:
    """A piece that reads on behind its own words."""
    return _at(pattern, build, end=r"(?=\S)")


_PIECES: tuple[tuple[regex.Pattern[str], Builder], ...] = (
    _at(rf"(?P<y>{_Y4})[-/.](?P<m>0?\d|1[0-2])[-/.](?P<d>0?[1-9]|[12]\d|3[01])", _year_first),
    _at(rf"(?P<y>{_Y4})[-/\s](?P<m>{W.MONTH})[-/\s](?P<d>\d{{1,2}})", _year_first),
    _at(rf"(?P<y>{_Y4})[-/](?P<d>\d{{1,2}})[-/](?P<m>{W.MONTH})", _year_first),
    _at(rf"(?P<d>\d{{1,2}})[-/](?P<y>{_Y4})[-/](?P<m>{W.MONTH})", _year_first),
    _at(rf"(?P<d>\d{{1,2}})[-/\s](?P<m>{W.MONTH})[-/](?P<y>{_Y4}|\d\d)", _year_first),
    _at(r"(?P<y>(?:19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])", _year_first),
    _at(rf"(?P<a>\d{{1,2}})(?P<x>[-/.])(?P<b>\d{{1,2}})(?P=x)(?P<y>{_Y4}|\d\d)", year_last),
    _at(r"(?P<a>\d{1,2})\s?/\s?(?P<b>\d{1,2})(?!\s*/)", month_and_day),
    _at(
        r"(?P<a>1[0-2]|[1-9])-(?P<b>1[0-9]|2[0-9]|3[01]|[1-9])(?!\s*(?:[-/:.]|[ap]\.?\s?m?\b))",
        month_and_day,
    ),
    _at(
        rf"(?<=\bin\s)(?P<n>\d{{1,3}}|{W.COUNT})\s+years?|(?P<m>\d{{1,3}}|{W.COUNT})\s+years?\s+ago",
        _year_away,
    ),
    _at(r"(?<=\b(?:at|approximately|around)\s)(?P<h>[01]\d|2[0-3])(?P<min>[0-5]\d)", _military),
    _at(rf"(?P<y>{_Y4})[-/](?P<m>0?[1-9]|1[0-2])(?!\s*[-/]\s*\d)", _year_and_month),
    _at(rf"(?P<y>{_Y4})[-/\s]?(?P<m>{W.MONTH})", _year_and_month),
    _at(rf"(?P<m>{W.MONTH})[-/](?P<y>{_Y4})", _year_and_month),
    _at(
        rf"(?P<m>{W.MONTH})(?:[\s/,-]|of)*(?:the\s+)?(?P<d>{_DAYNUM})"
        rf"(?!\s*(?:{W.UNIT}|o['’]?clock|[ap]\.?m\b|%|:\d|thousand|hundred))",
        _month_day,
    ),
    _at(rf"(?P<d>{_DAYNUM})(?:\s+day)?[\s-]*(?:of\s+)?(?:the\s+)?(?P<m>{W.MONTH})", _month_day),
    _at(
        rf"(?P<d>{_DAYNUM})[\s-]*(?:of\s+)?(?P<m>{W.MONTH})[\s,]+(?:of\s+)?['’]?(?P<y>\d\d)",
        _month_day,
    ),
    _at(
        rf"(?P<m>{W.MONTH})[\s,]+first[\s,]+(?P<y>\d\d)(?P<d>)",
        lambda p, m: say(
            m, month=W.MONTHS[W.plain(m["m"])], day=1, year=full_year(m["y"], ground=p.ground)
        ),
    ),
    _at(
        rf"(?P<m>{W.MONTH})\s+(?:of\s+['’]?|['’])(?P<y>\d\d)",
        lambda p, m: say(
            m, month=W.MONTHS[W.plain(m["m"])], year=full_year(m["y"], ground=p.ground)
        ),
    ),
    _at(rf"(?P<m>{W.MONTH})", _month),
    _at(rf"(?:(?P<m>{W.MONTH})|(?P<w>{W.WEEKDAY}))\s+after\s+next", _month_after_next),
    _at(rf"(?P<rel>{_REL})\s+(?P<m>{W.MONTH})(?!\s*\d)", _which_month),
    _before_more(rf"(?P<rel>{_REL})\s+(?=\d|{W.ORDINAL})", _which_number),
    _at(rf"(?P<cue>(?:calendar\s+|the\s+)?year\s+(?:of\s+)?|cy\s?|fy\s?)(?P<y>{_Y4}|\d\d)", _year),
    _at(
        rf"(?P<y>{_Y4})(?P<cue>)?(?!\s?[%°$€£]|[.,]\d)",
        lambda p, m: Piece(Fields(year=int(m["y"])), m.end(), strong=False),
    ),
    _at(rf"(?P<y>{W.YEAR_WORDS})", _year_words),
    _at(r"(?P<y>\d{1,4})\s*(?:a\.?d\.?|c\.?e\.?)", _anno),
    _at(rf"{_THE}(?P<y>(?:1\d|20)\d0|\d0)\s?['’]?s", _decade),
    _at(rf"the\s+(?P<y>{W.any_of(_DECADES)})", _decade),
    _at(rf"{_THE}(?P<n>{W.ORDINAL})\s+century", _century),
    _at(rf"{_THE}(?P<d>{W.ORDINAL})(?:\s+day)?", _day_number),
    _at(r"the\s+(?P<d>\d{1,2})", _day_number),
    _at(
        rf"(?P<w>{W.WEEKDAY})"
        rf"(?:[\s,]+(?:the\s+)?(?P<d>{_DAYNUM})(?!\s*(?:[-–:/]|to\b|{W.ANY_UNIT}|o['’]?clock"
        rf"|[ap]\.?m?\b|{W.MONTH})))?",
        _weekday,
    ),
    _at(rf"(?P<rel>{_REL})\s+(?P<w>{W.WEEKDAY})", _which_weekday),
    _at(rf"(?:(?P<rel>{_REL})\s+)?(?:{W.FESTIVAL})", _festival),
    _before_more(r"(?:the\s+)?weekend\s+of\s+", _festival_weekend),
    _at(W.any_of(_NAMED_DAYS.keys() - {"the day"}), _named_day),
    _at(r"(?<=\bfor\s)the\s+day(?!\s+(?:before|after|of|that|when))", _named_day),
    _at(
        r"(?:right\s+now|just\s+now|now|at\s+(?:the|this)\s+(?:minute|moment|(?:present\s+)?time)"
        r"|at\s+present|immediately)",
        _now,
    ),
    _at(rf"(?P<rel>{_REL})\s+(?P<u>{W.ONE_UNIT})(?P<after>\s+after\s+next)?", _which_unit),
    _at(rf"{_THE}(?P<u>{W.UNIT})\s+after\s+next", _unit_after_next),
    _at(rf"{_THE}same\s+(?P<u>week|month|quarter|year)", _same_unit),
    _at(
        r"(?<=\b(?:for|in)\s)the\s+(?P<u>week|month|quarter|year)(?!\s+(?:of|that|when|\d))",
        _same_unit,
    ),
    _at(r"(?:the\s+)?(?P<e>[eb])o(?P<u>[my])", _end_letters),
    _at(rf"(?:(?P<rel>{_REL})|the)\s+fortnight", _fortnight),
    _at(rf"(?:(?P<rel>{_REL})|the)\s+week[\s-]?end", _weekend),
    _at(
        rf"(?:(?P<rel>{_REL})\s+|(?P<cue>(?<=\bin\s)(?:the\s+)?))?(?P<s>{W.any_of(W.SEASONS)})"
        r"(?!\s+(?:boot|back|framework|cloud|security|mvc|data|behind|short|into|apart))",
        _season,
    ),
    _at(rf"(?:(?P<y>{_Y4})[\s/-]?)?q(?P<n>[1-4])", _quarter),
    _at(rf"{_THE}(?P<n>{W.ORDINAL})\s+(?:quarter|qtr)(?P<y>)?", _quarter),
    _at(r"h(?P<n>[12])", _half),
    _at(rf"{_THE}(?P<n>first|second|1st|2nd)\s+half", _half),
    _at(
        r"(?:the\s+)?week\s+(?:no\.?\s*|number\s+|#)?(?P<n>\d{1,2})(?!\s*(?:[-:]|days))",
        _week_number,
    ),
    _before_more(
        r"(?:(?:the\s+)?week\s+(?:(?:of|beginning|starting|commencing)(?:\s+on)?)|w/c)\s+(?:the\s+)?",
        _week_of,
    ),
    _before_more(
        rf"(?P<e>{W.any_of(W.EDGES)})[\s-]*(?:around\s+|about\s+)?(?:the\s+)?"
        rf"(?:day\s+(?=\p{{L}}))?",
        _edge,
    ),
    _at(
        rf"(?P<e>{W.any_of(W.EDGES)})\s+(?:the\s+)?(?P<u>week|month|quarter|year|decade|century)",
        _unit_edge,
    ),
    _before_more(
        rf"{_THE}(?:(?P<n>{W.ORDINAL})\s+)?(?P<last>last\s+)?(?:(?P<c>\d+|{W.COUNT})\s+)?"
        rf"(?:(?P<w>{W.WEEKDAY})(?:\s+(?P<p>morning|afternoon|evening|night))?|(?P<weekend>week[\s-]?ends?)|(?P<u>{W.UNIT})){_OF}",
        _nth_of,
    ),
    _before_more(
        rf"{_THE}(?P<n>{W.ORDINAL})\s+(?P<w>{W.WEEKDAY})\s+(?P<dir>after|before)\s+", _nth_after
    ),
    _before_more(
        r"(?:the\s+|last\s+|next\s+)?(?P<u>day|week|month|year)\s+(?P<dir>before|after|following)\s+",
        _day_before,
    ),
    _before_more(rf"{_THE}(?P<d>{_DAYNUM})(?:\s+day)?\s+(?:of|in)\s+(?:the\s+)?", _day_of_month),
    _at(rf"{_THE}(?P<d>{_DAYNUM})(?:\s+day)?\s+of\s+the\s+month", _day_of_the_month),
    _at(
        rf"(?P<h>\d{{1,2}})(?:(?P<mark>[:.h])(?P<min>\d\d)(?::(?P<s>\d\d))?|(?P<hh>h))?"
        rf"(?:(?:ish)?(?:\s*|\s+in\s+the\s+){_AP})?{_ZONE}(?:\s+approximately)?",
        clock,
    ),
    _at(
        rf"(?P<h>\d{{1,2}}|{W.COUNT})(?P<oc>\s*o['’]?clock)?"
        rf"(?:\s+(?P<min>\d\d|{W.COUNT}))?(?:(?:ish)?\s*{_AP})?",
        _oclock,
    ),
    _at(
        r"(?<!\b(?:from|between)\s)(?:for\s+|at\s+)?(?P<lead>half|a quarter|quarter|"
        rf"(?:\d{{1,2}}|{W.COUNT})(?:\s+min(?:ute)?s?)?)"
        rf"\s+(?P<dir>past|after|to|till|before|of)\s+"
        rf"(?:(?P<named>noon|midnight|midday)|(?P<h>\d{{1,2}}|{W.COUNT}))(?:h\b)?(?:\s*{_AP})?"
        rf"(?!\s+(?:of\s+)?{W.MONTH})",
        _past_hour,
    ),
    _at(rf"(?P<lead>half)\s+(?P<dir>)(?P<named>)?(?P<h>{W.COUNT})(?:\s*{_AP})?", _past_hour),
    _at(r"noon|midday|midnight", _noon),
    _at(
        rf"(?:in\s+the\s+|in\s+|early\s+)?(?:(?P<rel>{_REL})\s+)?(?P<p>{W.any_of(W.PARTS)})", _part
    ),
    _at(rf"{_AP}", _half_of_day),
)


class EnglishPieces(Pieces):
    table = _PIECES
    glue = _GLUE
    before_hours = regex.compile(r"\bat\b|@", FLAGS)
