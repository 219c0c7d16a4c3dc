"""The times that an English text names.

At each word that may begin a time the rules below are tried; the longest reading wins, the
earlier rule where two are as long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import regex

from serve.plan import time_en_words as words
from serve.plan.time_en_lengths import (
    counted_weekdays,
    duration_at,
    in_duration,
    lasting,
    offset,
    offset_from,
    rest_of_unit,
    rolling_units,
    the_last,
    weekday_offset,
)
from serve.plan.time_en_reader import LEAD, EnglishReader
from serve.plan.time_en_spans import (
    bounded_behind,
    clock_range,
    date_then_bound,
    datetime_range,
    from_clock,
    open_stretch,
    range_of_dates,
)
from serve.plan.time_fields import placed
from serve.plan.time_mention import Grain
from serve.plan.time_pieces import FLAGS, Piece
from serve.plan.time_spans import Found, found_at, longest_reading
from serve.plan.time_units import Ground

W = words
_FOR_LENGTH = regex.compile(r"(?:for|lasting)\s+(?:about\s+|over\s+)?", FLAGS)
_ASAP = regex.compile(r"asap\b|as\s+soon\s+as\s+possible\b", FLAGS)
_TO_DATE = regex.compile(r"(?:up\s+)?(?:to|till?)\s+date\b|(?:so|thus)\s+far\b", FLAGS)

_START_WORDS = frozenset(
    first
    for table in (
        W.MONTHS,
        W.WEEKDAYS,
        W.COUNTS,
        W.ORDINALS,
        W.WHICH,
        W.PARTS,
        W.EDGES,
        W.SEASONS,
    )
    for word in table
    for first in [word.split()[0].strip("-")]
)
_TRIGGER = regex.compile(
    rf"(?<![\p{{L}}\d_]|\d[:.,/-])\d|(?<![\p{{L}}\d_])(?:[<>]?\s?=\s?\d|{W.any_of(_START_WORDS)}"
    r"|today|todays|yesterdays?|tomorrows?|tmrw|now|right|just|asap|as|each|every|by|before|after"
    r"|since|until|till?|from|between|in|on|at|for|during|within|no|not|later|earlier|prior|noon"
    r"|midday|midnight|day|days|week|year|years|cy|fy|q[1-4]|h[12]|e?bo?[my]|eo[my]|bo[my]|w/c|same"
    r"|fortnight|weekend|through|up|to|starting|beginning|greater|more|less|remaining|rest|half"
    r"|quarter|immediately|eighteen|anytime|sometime|sometimes|as|current|nearest|closest"
    rf"|{W.FESTIVAL_STARTS})(?![\p{{L}}])",
    FLAGS,
)

Rule = Callable[[EnglishReader, int], Found | None]


def read_english(text: str, ground: Ground) -> list[Found]:
    """In order of the text, none inside another."""
    marks = _marks(text)
    reader = EnglishReader(text, ground)
    found: list[Found] = []
    after = tried = 0
    for trigger in _TRIGGER.finditer(text) if marks else ():
        place = trigger.start()
        if place < after or not _near(marks, place):
            continue
        tried += 1
        if len(found) == MAX_FOUND or tried > MAX_TRIED:
            break
        mention = longest_reading(_RULES, reader, place)
        if mention is not None:
            found.append(mention)
            after = mention.end
    return found


def _marks(text: str) -> list[int]:
    """Where words stand that only times have, and numbers: most words lead to none."""
    return [
        word.start()
        for word in _WORD.finditer(text)
        if word.group()[0].isdigit() or word.group().casefold() in W.TIME_WORDS
    ]


def _near(marks: list[int], place: int) -> bool:
    following = bisect_left(marks, place)
    return following < len(marks) and marks[following] - place <= REACH


_WORD = regex.compile(r"\p{L}+|\d")
MAX_FOUND = 32
MAX_TRIED = 250
REACH = 40
"""So many characters before such a word a time may begin."""


def _point(reader: EnglishReader, place: int) -> Found | None:
    lead = LEAD.match(reader.text, place)
    starts = {place, lead.end(), lead.start("the")} if lead else {place}
    pieces = [(reader.fields_at(each), each) for each in sorted(starts - {-1})]
    fitting = [
        (piece, at)
        for piece, at in pieces
        if piece is not None
        and (reader.cued(piece, place) or (at > place and _led(lead, piece, reader.text)))
    ]
    if not fitting:
        return None
    piece, at = max(fitting, key=lambda each: (each[0].end, -each[1]))
    relative = _RELATIVE.search(reader.text, at, piece.end)
    period = placed(piece.said, reader.ground)
    return found_at(at, piece.end, "relative" if relative else "point", period)


_RELATIVE = regex.compile(
    r"\b(?:this|next|last|past|previous|prior|coming|upcoming|following|current|same|ago|hence|today"
    r"|tonight|tonite|yesterday|tomorrow|tmrw|now|present|away|the\s+(?:day|week|month|year)"
    r"|eo[my]|bo[my])",
    FLAGS,
)


def _led(lead: regex.Match[str] | None, piece: Piece, text: str) -> bool:
    """ "At 3", "in 2019", "on the 5th"; not "for 3"."""
    if lead is None:
        return False
    word = lead.group().split()[0].casefold() if lead.group().split() else ""
    said = piece.said
    if said.clock is not None:
        said_at = word in {"at", "approximately", "around"} and said.part is None
        return said_at and _AFTER_HOUR.match(text, piece.end) is not None
    if said.year is not None and said.month is None:
        if text[max(0, piece.end - 6) : piece.end].casefold().endswith(("year", "years", "ago")):
            return False
        return word in {"in", "=", "during", "around", "by", "about"}
    if said.month is not None or said.season is not None:
        return word in {"in", "during", "by", "on", "around"}
    return word == "on" and said.day is not None


_AFTER_HOUR = regex.compile(
    r"\s*(?:[,.;:?!)]|$)|\s+(?:on|in\s+the|today|tonight|tomorrow|yesterday|and|or|did|was|with)\b",
    FLAGS,
)


# Others


_RECURRING = regex.compile(
    rf"(?:every|each)\s+(?:other\s+|single\s+|(?:\d+|{W.COUNT})\s+|{W.ORDINAL}\s+)?"
    rf"(?:(?P<u>{W.UNIT})|{W.WEEKDAY}|week[\s-]?ends?|{W.MONTH}|{W.any_of(W.PARTS)})"
    rf"|(?:on\s+)?{W.WEEKDAYS_OFTEN}"
    r"|(?:daily|weekly|monthly|yearly|annually|hourly|quarterly)\b",
    FLAGS,
)


def _recurring(reader: EnglishReader, place: int) -> Found | None:
    match = _RECURRING.match(reader.text, place)
    if match is None:
        return None
    unit = match["u"]
    grain: Grain = W.UNITS[W.plain(unit)] if unit else "day"
    return Found(start=place, end=match.end(), kind="recurring", grain=grain)


def _length(reader: EnglishReader, place: int) -> Found | None:
    """ "For three days": a length, no time."""
    lead = _FOR_LENGTH.match(reader.text, place)
    length = duration_at(reader.text, lead.end()) if lead else None
    if length is None:
        return None
    duration, end = length
    return Found(start=place, end=end, kind="duration", grain=duration[0][1])


def _soon(reader: EnglishReader, place: int) -> Found | None:
    match = _ASAP.match(reader.text, place)
    if match is None:
        return None
    now = reader.ground.now
    return Found(
        start=place, end=match.end(), kind="relative", grain="second", begins=now, bound="since"
    )


def _to_date(reader: EnglishReader, place: int) -> Found | None:
    match = _TO_DATE.match(reader.text, place)
    if match is None:
        return None
    return Found(
        start=place,
        end=match.end(),
        kind="relative",
        grain="day",
        ends=reader.ground.now
        if reader.ground.says.rolling == "now"
        else reader.ground.today.start,
        bound="until",
    )


_RULES: tuple[Rule, ...] = (
    _recurring,
    the_last,
    clock_range,
    _point,
    range_of_dates,
    datetime_range,
    date_then_bound,
    bounded_behind,
    open_stretch,
    lasting,
    offset,
    counted_weekdays,
    offset_from,
    weekday_offset,
    in_duration,
    rolling_units,
    rest_of_unit,
    _soon,
    _to_date,
    from_clock,
    _length,
)
