"""The times that an English text names.

At each word that may begin a time the rules below are tried; the longest reading wins, the
earlier rule where two are as long.
"""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import regex

from serve.plan import time_en_words as words
from serve.plan.time_en_pieces import EnglishPieces
from serve.plan.time_fields import Clock, Fields, ago, for_long, placed, rolling
from serve.plan.time_mention import Bound, Grain, TimeKind
from serve.plan.time_pieces import FLAGS, ZONES, Piece, is_day
from serve.plan.time_spans import Found, between, sides
from serve.plan.time_units import Duration, Ground, Period, Unplaced, moved, shifted, unit_at

W = words

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

_CUE = regex.compile(
    r"(?:\b(?:in|since|during|until|till|by|before|after|from|through|between|throughout|of|year|"
    r"late|early|mid|on|around|about|circa|and|or|not|than|to|for|last|next|this|past|due)\s+"
    r"(?:the\s+)?|^[\s\"'(=<>]*|[=<>]\s*|\d\s?,\s)$",
    FLAGS,
)
_MONTH_CUE = regex.compile(
    r"(?:\b(?:in|since|during|until|till|by|before|after|from|through|between|throughout|"
    r"late|early|mid|around|last|next|this|past)\s+(?:the\s+)?)$",
    FLAGS,
)
_NOT_A_YEAR = regex.compile(
    r"\s*-?(?:users?|people|persons?|rows?|items?|tokens?|requests?|words?|chars?|characters?|bytes?|"
    r"[kmgt]?i?b|ms|px|pixels?|dollars?|usd|euros?|eur|yuan|percent|points?|times|miles?|km|kg|"
    r"meters?|metres?|feet|ft|employees|copies|units?|pages?|lines?|files?|questions?|samples?|"
    r"documents?|records?|entries|stores|customers|calories|steps|connections|nodes|threads)\b",
    FLAGS,
)


_LETTERS = regex.compile(r"\p{L}+")
_ARTICLE = regex.compile(r"the\s+", FLAGS)
_SPACE = regex.compile(r"\s+")
_IN_LEAD = regex.compile(r"(?:from|in|on)\s+", FLAGS)
_WORD_FOLLOWS = regex.compile(r"\s+(?:\p{L}|\d)", FLAGS)
_FROM_LEAD = regex.compile(r"from\s+", FLAGS)
_COMMA = regex.compile(r"\s*,?\s*")
_IN_WORD = regex.compile(r"(?P<w>in|within|after)\s+(?:about\s+|the\s+next\s+)?", FLAGS)
_TIME_WORD = regex.compile(r"\s*['’]?s?\s*time\b", FLAGS)
_SINCE_WORD = regex.compile(r"\s+since\s+", FLAGS)
_OF_WORD = regex.compile(r"\s+of\b", FLAGS)
_AND_WORD = regex.compile(r"\s+(?:and\s+)?", FLAGS)
_FOR_LEAD = regex.compile(r"for\s+", FLAGS)
_FROM_OR_ON = regex.compile(r"(?P<from>from\s+)|(?:on|at|in)\s+(?:the\s+)?", FLAGS)
_FOR_LENGTH = regex.compile(r"(?:for|lasting)\s+(?:about\s+|over\s+)?", FLAGS)
_AT_OR_ON = regex.compile(r"\s*,?\s*(?:at|on)\s+", FLAGS)
_ASAP = regex.compile(r"asap\b|as\s+soon\s+as\s+possible\b", FLAGS)
_TO_DATE = regex.compile(r"(?:up\s+)?(?:to|till?)\s+date\b|(?:so|thus)\s+far\b", FLAGS)


class _Reader(EnglishPieces):
    """Rules over one text."""

    def mention_at(self, place: int) -> Found | None:
        found = [each for rule in _RULES if (each := _tried(rule, self, place)) is not None]
        return max(found, key=lambda each: each.end) if found else None

    def cued(self, piece: Piece, place: int) -> bool:
        """Whether a reading may stand where it begins: it is no other word."""
        if piece.strong:
            return True
        said = piece.said
        rest = self.text[piece.end : piece.end + SEEN].strip(" .?!\"')")
        before = self.text[max(0, place - SEEN) : place]
        if said.clock is not None:
            return False
        if said.part is not None and not said.dated:
            return False
        if said.year is not None and said.month is None:
            alone = not before.strip(" \"'(=<>") and not rest
            away = (
                self.text[max(0, piece.end - 6) : piece.end]
                .casefold()
                .endswith(("year", "years", "ago"))
            )
            return alone or bool(
                not away and _CUE.search(before) and not _NOT_A_YEAR.match(self.text, piece.end)
            )
        if said.day is not None and said.month is None:
            return _whole(before, rest) or bool(_DAY_CUE.search(before))
        if said.weekday is not None and said.day is None:
            return _whole(before, rest) or bool(_DAY_CUE.search(before))
        if said.day is None:
            return _whole(before, rest) or bool(_MONTH_CUE.search(before))
        return _whole(before, rest) or bool(before.strip() and _CUE.search(before))


_DAY_CUE = regex.compile(
    r"\b(?:on|since|until|till|by|before|after|from|through)\s+(?:the\s+)?$", FLAGS
)


def _whole(before: str, rest: str) -> bool:
    return not before.strip(" \"'(") and not rest


Rule = Callable[[_Reader, int], Found | None]


def _tried(rule: Rule, reader: _Reader, place: int) -> Found | None:
    try:
        return rule(reader, place)
    except Unplaced:
        return None


def read_english(text: str, ground: Ground) -> list[Found]:
    """In order of the text, none inside another."""
    marks = _marks(text)
    reader = _Reader(text, ground)
    found: list[Found] = []
    after = tried = 0
    for trigger in _TRIGGER.finditer(text) if marks else ():
        place = trigger.start()
        if place < after or not _near(marks, place):
            continue
        tried += 1
        if len(found) == MAX_FOUND or tried > MAX_TRIED:
            break
        mention = reader.mention_at(place)
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
SEEN = 40
"""So many characters around it tell whether a word is meant as a time."""
MAX_PARTS = 8
MAX_FOUND = 32
MAX_TRIED = 250
REACH = 40
"""So many characters before such a word a time may begin."""


def _found(place: int, end: int, kind: TimeKind, period: Period, bound: Bound = "in") -> Found:
    return Found(
        start=place,
        end=end,
        kind=kind,
        grain=period.grain,
        begins=period.start,
        ends=period.end,
        bound=bound,
    )


def _point(reader: _Reader, place: int) -> Found | None:
    lead = _LEAD.match(reader.text, place)
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
    return _found(at, piece.end, "relative" if relative else "point", period)


_RELATIVE = regex.compile(
    r"\b(?:this|next|last|past|previous|prior|coming|upcoming|following|current|same|ago|hence|today"
    r"|tonight|tonite|yesterday|tomorrow|tmrw|now|present|away|the\s+(?:day|week|month|year)"
    r"|eo[my]|bo[my])",
    FLAGS,
)
_LEAD = regex.compile(
    r"(?:(?:in|on|at|during|around|about|approximately|for|of)\s+|=\s*)(?P<the>the\s+)?(?=\S)",
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


def _range(reader: _Reader, place: int) -> Found | None:
    lead = _SIDE_LEAD.match(reader.text, place)
    at = lead.end() if lead else place
    opening = lead.group().split()[0].casefold() if lead else ""
    readings = [
        found
        for first in reader_sides(reader, at)
        if (found := _range_from(reader, place, first, opening)) is not None
    ]
    return max(readings, key=lambda each: each.end) if readings else None


def reader_sides(reader: _Reader, place: int) -> Iterator[Piece]:
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


def _range_from(reader: _Reader, place: int, first: Piece, opening: str) -> Found | None:
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
        found = _found(place, last.end, "range", period)
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


def _clock_range(reader: _Reader, place: int) -> Found | None:
    """ "Monday from 3 to 5 pm", "9:30 - 11:00 on Thursday", "between 7 and 9 last night"."""
    lead = _LEAD.match(reader.text, place)
    starts = {place, lead.end(), lead.start("the")} - {-1} if lead else {place}
    dates = [date for at in sorted(starts) for date in _leading_dates(reader, at)]
    readings = [_clocks_with_date(reader, place, date) for date in dates]
    found = [each for each in readings if each is not None]
    return max(found, key=lambda each: each.end) if found else None


def _leading_dates(reader: _Reader, place: int) -> Iterator[Piece | None]:
    yield None
    piece = reader.fields_at(place, date_only=True)
    if piece is not None and piece.said.dated:
        yield piece
        if piece.said.weekday is not None and piece.said.day is not None:
            word = _LETTERS.match(reader.text, place)
            if word is not None:
                yield Piece(Fields(weekday=piece.said.weekday), word.end())


def _clocks_with_date(reader: _Reader, place: int, date: Piece | None) -> Found | None:
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
    return _found(place, end, "range", period)


def _zone_between(match: regex.Match[str]) -> int | None:
    return 0 if regex.search(r"\b(?:gmt|utc)\b", match.group(), FLAGS) else None


def _trailing_date(reader: _Reader, place: int) -> Piece | None:
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


def _datetime_range(reader: _Reader, place: int) -> Found | None:
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
    return _found(place, last.end, "range", between(start, last.said, reader.ground))


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


def _open(reader: _Reader, place: int) -> Found | None:
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


def _may_bound(reader: _Reader, piece: Piece) -> bool:
    said = piece.said
    if piece.strong:
        return True
    if said.year is not None and said.month is None:
        return not _NOT_A_YEAR.match(reader.text, piece.end)
    return said.month is not None or (said.season is not None)


def _open_found(reader: _Reader, place: int, end: int, said: Fields, bound: Bound) -> Found:
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


def _date_then_bound(reader: _Reader, place: int) -> Found | None:
    """ "Tuesday after 1 pm", "1/1/2015 after 2:00"."""
    lead = _LEAD.match(reader.text, place)
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


def _bounded_behind(reader: _Reader, place: int) -> Found | None:
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


def _from_clock(reader: _Reader, place: int) -> Found | None:
    """ "From 2 pm", with no end."""
    lead = _FROM_LEAD.match(reader.text, place)
    piece = reader.fields_at(lead.end()) if lead else None
    if piece is None or piece.said.clock is None or not piece.strong or piece.said.dated:
        return None
    return _open_found(reader, place, piece.end, piece.said, "since")


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


def _offset(reader: _Reader, place: int) -> Found | None:
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
    reader: _Reader, place: int, end: int, period: Period, duration: Duration
) -> Found:
    """With the weekday or time of day that the words add."""
    for glue in (_AT_OR_ON,):
        joint = glue.match(reader.text, end)
        piece = reader.fields_at(joint.end()) if joint else None
        if piece is not None and piece.said.clock is not None and not piece.said.dated:
            said = replace(piece.said, base=unit_at(period.start, "day"))
            return _found(place, piece.end, "relative", placed(said, reader.ground))
        if piece is not None and piece.said == Fields(weekday=piece.said.weekday):
            return _found(place, piece.end, "relative", _weekday_near(period, piece.said))
    return _found(place, end, "relative", period)


def _weekday_near(period: Period, said: Fields) -> Period:
    """The first such day from there on."""
    day = unit_at(period.start, "day")
    return unit_at(moved(day.start, ((said.weekday or 0) - day.start.weekday()) % 7, "day"), "day")


def _weekday_offset(reader: _Reader, place: int) -> Found | None:
    """ "Sunday 3 weeks after ...", "Thursday, two years from now"."""
    piece = reader.fields_at(place, date_only=True)
    if piece is None or piece.said != Fields(weekday=piece.said.weekday):
        return None
    joint = _COMMA.match(reader.text, piece.end)
    at = joint.end() if joint else piece.end
    found = _offset(reader, at) or _offset_from(reader, at)
    if found is None or found.begins is None or found.ends is None:
        return None
    near = _weekday_near(Period(found.begins, found.ends, "day"), piece.said)
    return _found(place, found.end, "relative", near)


def _in_duration(reader: _Reader, place: int) -> Found | None:
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
        return _found(place, of.end, "point", ago(reader.ground, duration, sign=1, at=start))
    word = lead["w"].casefold()
    if word == "within":
        return _found(
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


def _in_is_past(reader: _Reader, end: int) -> bool:
    """ "In 3 years of work" is a length."""
    return bool(_OF_WORD.match(reader.text, end))


_FROM = regex.compile(r"\s+(?P<w>before|after|from|since|prior\s+to|following)\s+", FLAGS)
_BY_MORE = regex.compile(r"(?P<w>more|less|over)\s+than\s+", FLAGS)


def _offset_from(reader: _Reader, place: int) -> Found | None:
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
    return _found(place, end, "range", Period(low, high, "day"))


_COUNTED_WEEKDAYS = regex.compile(
    rf"(?P<n>\d+|{W.COUNT})\s+(?P<w>{W.WEEKDAY})\s+(?:(?P<ago>ago|back)|from\s+now|hence)", FLAGS
)


def _counted_weekdays(reader: _Reader, place: int) -> Found | None:
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
    return _found(place, match.end(), "relative", unit_at(day, "day"))


_ROLLING = regex.compile(
    rf"(?:in\s+|over\s+|during\s+|for\s+|within\s+)?(?:the\s+)?"
    rf"(?:(?P<rel>{W.any_of(W.WHICH)}|trailing)\s+(?P<n>\d+|{W.COUNT})"
    rf"|(?P<n2>\d+|{W.COUNT})\s+(?P<rel2>{W.any_of(W.WHICH)}))\s+"
    rf"(?:of\s+)?(?:(?P<u>{W.UNIT})|(?P<wend>week[\s-]?ends?))",
    FLAGS,
)


def _rolling(reader: _Reader, place: int) -> Found | None:
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
        return _found(place, match.end(), "relative", unit_at(reader.ground.now, unit, count))
    more = _AND_WORD.match(reader.text, match.end())
    extra = duration_at(reader.text, more.end()) if more and " and " in more.group() else None
    if extra is not None and not _AGO.match(reader.text, extra[1]):
        duration = ((count, unit), *extra[0])
        return _found(
            place, extra[1], "relative", for_long(reader.ground, reader.ground.now, duration, unit)
        )
    return _found(place, match.end(), "relative", rolling(reader.ground, count, unit, sign=which))


_REST = regex.compile(
    r"(?:the\s+)?(?:rest|remainder|remaining)\s+of\s+(?:the\s+|this\s+)?(?P<u>day|week|month|quarter|year)",
    FLAGS,
)


_THE_LAST = regex.compile(
    r"(?:in|over|during|within)\s+(?:the\s+)?(?:last|past)\s+(?P<u>day|week|month|quarter|year|decade)\b",
    FLAGS,
)


def _the_last(reader: _Reader, place: int) -> Found | None:
    """ "In the last month": the month up to now, not that of the calendar."""
    match = _THE_LAST.match(reader.text, place)
    if match is None or reader.ground.says.rolling != "now":
        return None
    period = rolling(reader.ground, 1, W.UNITS[match["u"].casefold()], sign=-1)
    return _found(place, match.end(), "relative", period)


def _rest(reader: _Reader, place: int) -> Found | None:
    """ "The rest of the week"."""
    match = _REST.match(reader.text, place)
    if match is None:
        return None
    today = reader.ground.today
    unit = unit_at(reader.ground.now, W.UNITS[match["u"].casefold()])
    return _found(place, match.end(), "relative", Period(today.start, unit.end, unit.grain))


def _lasting(reader: _Reader, place: int) -> Found | None:
    """ "For 3 days from today", "2 weeks starting May 20th", "from May 3 for 10 days"."""
    found = _length_first(reader, place)
    return found if found is not None else _length_last(reader, place)


_STARTS = regex.compile(
    r"\s*,?\s*(?:starting|beginning|from|commencing)\s+(?:from\s+|on\s+|at\s+)?", FLAGS
)
_FOR = regex.compile(r"\s*,?\s*for\s+", FLAGS)


def _length_first(reader: _Reader, place: int) -> Found | None:
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
    return _found(
        place, of.end, "range", for_long(reader.ground, start.start, duration, start.grain)
    )


def _length_last(reader: _Reader, place: int) -> Found | None:
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
    return _found(place, end, "range", for_long(reader.ground, start.start, duration, start.grain))


def _day_with_length(
    reader: _Reader, place: int, of: Piece, length: tuple[Duration, int]
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
    return _found(
        place, clock.end, "range", for_long(reader.ground, start.start, duration, start.grain)
    )


# Others


_RECURRING = regex.compile(
    rf"(?:every|each)\s+(?:other\s+|single\s+|(?:\d+|{W.COUNT})\s+|{W.ORDINAL}\s+)?"
    rf"(?:(?P<u>{W.UNIT})|{W.WEEKDAY}|week[\s-]?ends?|{W.MONTH}|{W.any_of(W.PARTS)})"
    rf"|(?:on\s+)?{W.WEEKDAYS_OFTEN}"
    r"|(?:daily|weekly|monthly|yearly|annually|hourly|quarterly)\b",
    FLAGS,
)


def _recurring(reader: _Reader, place: int) -> Found | None:
    match = _RECURRING.match(reader.text, place)
    if match is None:
        return None
    unit = match["u"]
    grain: Grain = W.UNITS[W.plain(unit)] if unit else "day"
    return Found(start=place, end=match.end(), kind="recurring", grain=grain)


def _length(reader: _Reader, place: int) -> Found | None:
    """ "For three days": a length, no time."""
    lead = _FOR_LENGTH.match(reader.text, place)
    length = duration_at(reader.text, lead.end()) if lead else None
    if length is None:
        return None
    duration, end = length
    return Found(start=place, end=end, kind="duration", grain=duration[0][1])


def _soon(reader: _Reader, place: int) -> Found | None:
    match = _ASAP.match(reader.text, place)
    if match is None:
        return None
    now = reader.ground.now
    return Found(
        start=place, end=match.end(), kind="relative", grain="second", begins=now, bound="since"
    )


def _to_date(reader: _Reader, place: int) -> Found | None:
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
    _the_last,
    _clock_range,
    _point,
    _range,
    _datetime_range,
    _date_then_bound,
    _bounded_behind,
    _open,
    _lasting,
    _offset,
    _counted_weekdays,
    _offset_from,
    _weekday_offset,
    _in_duration,
    _rolling,
    _rest,
    _soon,
    _to_date,
    _from_clock,
    _length,
)
