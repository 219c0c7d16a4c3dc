"""Stretches between two times, and those open at one side, as English tells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import regex

from serve.plan import time_en_words as words
from serve.plan.time_en_reader import LEAD, NOT_A_YEAR, EnglishReader
from serve.plan.time_fields import Clock, Fields, placed
from serve.plan.time_mention import Bound, TimeKind
from serve.plan.time_pieces import FLAGS, ZONES, Piece, is_day
from serve.plan.time_spans import Found, between, found_at, sides
from serve.plan.time_units import Unplaced

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

W = words
_LETTERS = regex.compile(r"\p{L}+")
_ARTICLE = regex.compile(r"the\s+", FLAGS)
_SPACE = regex.compile(r"\s+")
_IN_LEAD = regex.compile(r"(?:from|in|on)\s+", FLAGS)
_WORD_FOLLOWS = regex.compile(r"\s+(?:\p{L}|\d)", FLAGS)
_FROM_LEAD = regex.compile(r"from\s+", FLAGS)

# Ranges


_SIDE_LEAD = regex.compile(
    r"(?:from|between|in|during|on|at|for|during\s+from)\s+(?:the\s+)?", FLAGS
)
_TO = regex.compile(
    r"\s*(?:[-–—~]|\bto\b|\buntil+\b|\btil+\b|\bthrough\b|\bthru\b|\band\b)\s*(?:the\s+)?", FLAGS
)
_LOOSE = regex.compile(
    rf"(?:the\s+)?(?P<n>{W.ORDINAL}|\d{{1,2}}|{W.DAY_NUMBER})(?![\p{{L}}\d:]|\.\d)", FLAGS
)


def range_of_dates(reader: EnglishReader, place: int) -> Found | None:
    lead = _SIDE_LEAD.match(reader.text, place)
    at = lead.end() if lead else place
    opening = lead.group().split()[0].casefold() if lead else ""
    readings = [
        found
        for first in reader_sides(reader, at)
        if (found := _range_from(reader, place, first, opening)) is not None
    ]
    return max(readings, key=lambda each: each.end) if readings else None


def reader_sides(reader: EnglishReader, place: int) -> Iterator[Piece]:
    """What a side of a range may be: a whole time, or the number of a day."""
    for date_only in (False, True):
        whole = reader.fields_at(place, date_only=date_only)
        if whole is not None and whole.said.clock is None:
            yield whole
    loose = _LOOSE.match(reader.text, place)
    if loose is not None:
        day = _loose_day(loose["n"])
        if 1 <= day <= 31:
            yield Piece(Fields(day=day), loose.end(), strong=False)


def _loose_day(text: str) -> int:
    plain = W.plain(text)
    if plain.isdigit() or plain in W.COUNTS:
        return W.count_of(plain)
    return W.ordinal_of(text)


def _range_from(reader: EnglishReader, place: int, first: Piece, opening: str) -> Found | None:
    to = _TO.match(reader.text, first.end)
    if to is None or (
        ("and" in to.group().casefold()) != (opening == "between")
        and ("and" in to.group().casefold())
    ):
        return None
    best: Found | None = None
    for last in reader_sides(reader, to.end()):
        if not _makes_range(first, last, opening, to.group()):
            continue
        try:
            period = between(first.said, last.said, reader.ground)
        except Unplaced:
            continue
        found = found_at(place, last.end, "range", period)
        best = found if best is None or found.end > best.end else best
    return best


def _makes_range(first: Piece, last: Piece, opening: str, joint: str) -> bool:
    a, b = first.said, last.said
    loose_a, loose_b = _is_loose(a), _is_loose(b)
    if loose_a and loose_b:
        return False
    if loose_a:
        return b.day is not None or (b.base is not None and b.base.grain == "month")
    if loose_b:
        return a.day is not None
    if not a.dated or not b.dated:
        return False
    weak = not first.strong and not last.strong
    return not weak or bool(opening) or "-" in joint or a.year is not None


def _is_loose(said: Fields) -> bool:
    return said == Fields(day=said.day)


# Times of day


_CLOCK = (
    rf"(?:(?P<{{0}}h>\d{{{{1,2}}}}|{W.DAY_NUMBER.replace('{', '{{').replace('}', '}}')})"
    r"(?:[:.h](?P<{0}m>\d\d))?h?(?:\s*(?:gmt|utc))?"
    r"(?:\s*(?:in\s+the\s+)?(?P<{0}ap>[ap]\.?\s?m\b\.?|[ap]\b))?(?:\s*(?:gmt|utc))?"
    r"|(?P<{0}n>noon|midday|midnight))"
)
_CLOCKS = regex.compile(
    r"(?P<open>(?:from|between|at|in)\s+)?"
    + _CLOCK.format("a")
    + r"(?P<to>\s*(?:[-–—~]|\bto\b|\buntil+\b|\btil+\b|\bthrough\b|\band\b)\s*)"
    + _CLOCK.format("b")
    + r"(?![\p{L}\d]|[:/-]\d)(?:\s+(?P<z>gmt|utc))?",
    FLAGS,
)
_JOINT = regex.compile(r"(?:\s*[,@-]\s*|\s+(?:at|on|in|of|from|the|for)?\s*(?:the\s+)?|\s+)", FLAGS)


def clock_range(reader: EnglishReader, place: int) -> Found | None:
    """ "Monday from 3 to 5 pm", "9:30 - 11:00 on Thursday", "between 7 and 9 last night"."""
    lead = LEAD.match(reader.text, place)
    starts = {place, lead.end(), lead.start("the")} - {-1} if lead else {place}
    dates = [date for at in sorted(starts) for date in _leading_dates(reader, at)]
    readings = [_clocks_with_date(reader, place, date) for date in dates]
    found = [each for each in readings if each is not None]
    return max(found, key=lambda each: each.end) if found else None


def _leading_dates(reader: EnglishReader, place: int) -> Iterator[Piece | None]:
    yield None
    piece = reader.fields_at(place, date_only=True)
    if piece is not None and piece.said.dated:
        yield piece
        if piece.said.weekday is not None and piece.said.day is not None:
            word = _LETTERS.match(reader.text, place)
            if word is not None:
                yield Piece(Fields(weekday=piece.said.weekday), word.end())


def _clocks_with_date(reader: EnglishReader, place: int, date: Piece | None) -> Found | None:
    at = place
    if date is not None:
        joint = _JOINT.match(reader.text, date.end)
        if joint is None:
            return None
        at = joint.end()
    match = _CLOCKS.match(reader.text, at)
    if match is None or (("and" in match["to"].casefold()) and not match["open"]):
        return None
    if match["bn"] and not match["open"] and not match["an"] and not match["aap"]:
        return None
    said, end = date.said if date else Fields(), match.end()
    tail = _trailing_date(reader, end)
    if tail is not None and (joined := said.joined(tail.said)) is not None:
        said, end = joined, tail.end
    if not _is_clock_range(match, said, dated_before=date is not None):
        return None
    first, last = _clock_side(match, "a"), _clock_side(match, "b")
    ahead = ZONES[match["z"].lower()] if match["z"] else _zone_between(match)
    both = [
        replace(said, clock=each, minutes_ahead=ahead)
        if said.dated or said.part
        else Fields(clock=each, minutes_ahead=ahead)
        for each in (first, last)
    ]
    period = between(
        both[0],
        replace(
            both[1],
            base=None,
            year=None,
            month=None,
            day=None,
            weekday=None,
            festival=None,
            which=None,
            edge=None,
        ),
        reader.ground,
    )
    return found_at(place, end, "range", period)


def _zone_between(match: regex.Match[str]) -> int | None:
    return 0 if regex.search(r"\b(?:gmt|utc)\b", match.group(), FLAGS) else None


def _trailing_date(reader: EnglishReader, place: int) -> Piece | None:
    joint = _JOINT.match(reader.text, place)
    piece = reader.fields_at(joint.end(), date_only=True) if joint is not None else None
    return piece if piece is not None and (piece.strong or piece.said.part) else None


def _is_clock_range(match: regex.Match[str], said: Fields, *, dated_before: bool) -> bool:
    told = any(match[name] for name in ("aap", "bap", "am", "bm", "an", "bn"))
    if said.dated and not is_day(said):
        return False
    if told:
        return True
    return (said.dated and (dated_before or bool(match["open"]))) or said.part is not None


def _clock_side(match: regex.Match[str], side: str) -> Clock:
    if match[side + "n"]:
        noon = match[side + "n"].casefold() != "midnight"
        return Clock(hour=12 if noon else 24, pm=True if noon else None, exact=not noon)
    hour = _loose_day(match[side + "h"])
    minute, half = match[side + "m"], match[side + "ap"]
    if hour > 24 or (minute and int(minute) > 59):
        raise Unplaced
    h_mark = "h" in ((match.captures(side + "m") and match.group()) or "")
    exact = not half and (hour > 12 or match[side + "h"].startswith("0"))
    return Clock(
        hour=hour,
        minute=int(minute) if minute else (0 if h_mark and not half else None),
        pm=half[0].casefold() == "p" if half else None,
        exact=exact,
    )


def datetime_range(reader: EnglishReader, place: int) -> Found | None:
    """ "From 2pm till tomorrow 4:30pm": both sides whole."""
    lead = _SIDE_LEAD.match(reader.text, place)
    first = reader.fields_at(lead.end() if lead else place)
    if first is None or (first.said.clock is None and not (first.said.part and first.said.dated)):
        return None
    to = _TO.match(reader.text, first.end)
    if to is None or (("and" in to.group().casefold()) and not lead):
        return None
    last = reader.fields_at(to.end())
    if last is None or not (last.said.clock or last.said.part):
        return None
    if not (first.strong or last.strong):
        return None
    start = first.said
    if not start.dated and last.said.dated:
        start = replace(start, base=reader.ground.today)
    return found_at(place, last.end, "range", between(start, last.said, reader.ground))


# Open stretches


_BOUNDS: dict[Bound, str] = {
    "since": r"(?:ever\s+)?since|starting(?:\s+(?:from|on|in))?|beginning(?:\s+(?:from|on|in))?"
    r"|as\s+of|effective|>\s?=",
    "after": r"(?:any\s?time\s+|some\s?times?\s+)?after|later\s+than|(?:year\s+)?greater\s+than|>"
    r"|(?:more|newer)\s+(?:recent\s+)?than",
    "until": r"by(?:\s+the)?|until+|till?|no\s+later\s+than|not\s+later\s+than|as\s+late\s+as"
    r"|up\s+(?:to|until)|through|<\s?=",
    "before": r"(?:any\s?time\s+|some\s?times?\s+)?before|prior\s+to|earlier\s+than|older\s+than|<",
}
_BOUND = regex.compile(
    "|".join(rf"(?P<{bound}>{pattern})" for bound, pattern in _BOUNDS.items()), FLAGS
)
_BLANK = regex.compile(r"\s*(?:the\s+)?(?=\S)", FLAGS)


def _bound_at(text: str, place: int) -> tuple[Bound, int] | None:
    match = _BOUND.match(text, place)
    if match is None or match.lastgroup is None:
        return None
    blank = _BLANK.match(text, match.end())
    if blank is None or (blank.end() == match.end() and match.group()[-1] not in "=<>"):
        return None
    bound = cast(Bound, match.lastgroup)
    return bound, blank.end()


def open_stretch(reader: EnglishReader, place: int) -> Found | None:
    opening = _bound_at(reader.text, place)
    if opening is None:
        return None
    bound, at = opening
    piece = reader.fields_at(at) or reader.fields_at(_strip_the(reader.text, at))
    if piece is None or not _may_bound(reader, piece):
        return None
    return _open_found(reader, place, piece.end, piece.said, bound)


def _strip_the(text: str, place: int) -> int:
    match = _ARTICLE.match(text, place)
    return match.end() if match else place


def _may_bound(reader: EnglishReader, piece: Piece) -> bool:
    said = piece.said
    if piece.strong:
        return True
    if said.year is not None and said.month is None:
        return not NOT_A_YEAR.match(reader.text, piece.end)
    return said.month is not None or (said.season is not None)


def _open_found(reader: EnglishReader, place: int, end: int, said: Fields, bound: Bound) -> Found:
    ground = reader.ground
    timed = said.clock is not None
    period = placed(said, ground)
    part = said.edge is not None and bound == "until"
    begins, ends = sides(period, bound, ground, timed=timed or period.grain == "second")
    if part:
        ends = period.end
    kind: TimeKind = "range"
    return Found(
        start=place, end=end, kind=kind, grain=period.grain, begins=begins, ends=ends, bound=bound
    )


def date_then_bound(reader: EnglishReader, place: int) -> Found | None:
    """ "Tuesday after 1 pm", "1/1/2015 after 2:00"."""
    lead = LEAD.match(reader.text, place)
    date = reader.fields_at(lead.end() if lead else place, date_only=True)
    if date is None or not date.said.dated or not is_day(date.said):
        return None
    joint = _SPACE.match(reader.text, date.end)
    opening = _bound_at(reader.text, joint.end()) if joint else None
    if opening is None:
        return None
    bound, at = opening
    clock = reader.fields_at(at)
    if clock is None or clock.said.clock is None or clock.said.dated:
        return None
    said = date.said.joined(clock.said)
    return _open_found(reader, place, clock.end, said, bound) if said is not None else None


_TAIL = regex.compile(
    r"\s*(?:(?P<since>(?:and|or)\s+(?:later|after|greater|newer|above|since|onwards?)|onwards?|on\s?wards?"
    r"|and\s+up)|(?P<until>(?:and|or)\s+(?:earlier|before|prior|older|below)))\b",
    FLAGS,
)


def bounded_behind(reader: EnglishReader, place: int) -> Found | None:
    """ "2018 or later"."""
    lead = _IN_LEAD.match(reader.text, place)
    piece = reader.fields_at(lead.end() if lead else place)
    if piece is None:
        return None
    tail = _TAIL.match(reader.text, piece.end)
    if tail is None:
        return None
    follows = _WORD_FOLLOWS.match(reader.text, tail.end())
    if follows and tail.group().split()[-1].casefold() in {"after", "before"}:
        return None
    bound: Bound = "since" if tail["since"] else "until"
    return _open_found(reader, place, tail.end(), piece.said, bound)


def from_clock(reader: EnglishReader, place: int) -> Found | None:
    """ "From 2 pm", with no end."""
    lead = _FROM_LEAD.match(reader.text, place)
    piece = reader.fields_at(lead.end()) if lead else None
    if piece is None or piece.said.clock is None or not piece.strong or piece.said.dated:
        return None
    return _open_found(reader, place, piece.end, piece.said, "since")
