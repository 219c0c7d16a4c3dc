"""The times that a Chinese text names; the same way of reading as in `serve.plan.time_en`."""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import regex

from serve.plan import time_zh_words as words
from serve.plan.time_fields import Clock, Fields, ago, for_long, placed, rolling
from serve.plan.time_mention import Bound, Grain
from serve.plan.time_pieces import Piece
from serve.plan.time_spans import Found, between, found_at, longest_reading, sides
from serve.plan.time_units import (
    SHORT,
    Duration,
    Ground,
    Period,
    Unplaced,
    moved,
    shifted,
    unit_at,
)
from serve.plan.time_zh_pieces import ChinesePieces

W = words
HALF = 0.5
SEEN = 40
"""So many characters around it tell whether a word is meant as a time."""
MAX_PARTS = 8
MAX_FOUND = 32
MAX_TRIED = 1000


_YEAR_HEAD = regex.compile(r"(?<!\d)(?P<y>[12]\d{3})(?=\s*[-–—~～到至])")
_HEAD = regex.compile(
    rf"(?:(?P<y>[12]\d{{3}})年)?(?:(?P<m>{W.SMALL})月)?(?P<n>{W.SMALL})(?=\s*[-–—~～到至])"
)
_UP_TO_NOW = regex.compile(r"今(?![天日年晚早晨明后])")
_OPEN_LEAD = regex.compile(r"(?:自从|自|从|打|在|到|于)\s*")
_LINK = regex.compile(r"\s*(?:零|又|加|，|,)?\s*")
_OF = regex.compile(r"的?")
_CLOSED = regex.compile(r"(?:以?内|之内|里|间|时间|以来|来)?")
_LASTING = regex.compile(r"(?:为期|历时|持续|长达|共计?)\s*")


class _Reader(ChinesePieces):
    """Rules over one text in simplified characters."""


Rule = Callable[[_Reader, int], Found | None]


def read_chinese(text: str, ground: Ground) -> list[Found]:
    """In order of the text, none inside another."""
    simple = text.translate(W.SIMPLER)
    reader = _Reader(simple, ground)
    found: list[Found] = []
    after = tried = 0
    for place, character in enumerate(simple):
        if place < after or character not in W.STARTS or _inside_number(simple, place):
            continue
        tried += 1
        if len(found) == MAX_FOUND or tried > MAX_TRIED:
            break
        mention = longest_reading(_RULES, reader, place)
        if mention is not None:
            found.append(mention)
            after = mention.end
    return found


def _inside_number(text: str, place: int) -> bool:
    """Digits are read from their first on; nothing begins behind a Latin letter."""
    if place == 0:
        return False
    before = text[place - 1]
    if text[place].isdigit():
        return before.isdigit() or before in ".:：" or (before.isascii() and before.isalpha())
    return False


_RELATIVE = regex.compile(
    r"[这本当同次翌此该]|[今昨明][天日晚早晨年儿]|[上下](?:个|一|周|星期|礼拜|月|季|年)"
    r"|前天|后天|[去前后来]年|现在|目前"
)
_AROUND = regex.compile(r"\s*(?:左右|前后|上下|期间)")


def _point(reader: _Reader, place: int) -> Found | None:
    piece = reader.fields_at(place)
    if piece is None or not _cued(reader, piece, place):
        return None
    period = placed(piece.said, reader.ground)
    around = _AROUND.match(reader.text, piece.end)
    relative = _RELATIVE.search(reader.text, place, piece.end)
    end = around.end() if around is not None else piece.end
    return found_at(place, end, "relative" if relative else "point", period)


_CUES = regex.compile(r"(?:[在于从自到至约每约]|截止|大概|大约|到了|当时|[，,、]|^)\s*$")


def _cued(reader: _Reader, piece: Piece, place: int) -> bool:
    """Whether a reading may stand where it begins: it is no other word."""
    if piece.strong:
        return True
    said = piece.said
    before = reader.text[max(0, place - SEEN) : place]
    rest = reader.text[piece.end : piece.end + SEEN].strip(" 。？?！!，,")
    alone = not before.strip() and not rest
    if said.clock is not None and not said.dated:
        return said.part is not None or alone or bool(_CLOCK_CUES.search(before))
    if said.part is not None and not said.dated:
        return alone
    if said.day is not None and said.month is None:
        return alone or bool(_CUES.search(before))
    if said.season is not None or said.festival is not None:
        return alone or bool(regex.search(r"[在到]$", before))
    return alone or bool(_CUES.search(before))


_CLOCK_CUES = regex.compile(r"(?:[在于从到至]|大概|大约|截止|之前)\s*$")


# Ranges


_FROM = regex.compile(r"(?:从|自从|自|由|在|于)\s*")
_TO = regex.compile(r"\s*(?:之间)?(?:起|开始)?\s*(?:到|至|[-–—~～]+|直到|一直到)\s*")
_AND = regex.compile(r"\s*(?:和|与|跟|及)\s*")
_CLOSE = regex.compile(r"(?:日|号)?(?:为止|止|之间|期间|这段时间|这段期间|以内)?")
_BETWEEN = regex.compile(r"(?:之间|期间|间)")
_LOOSE = regex.compile(rf"(?P<n>{W.SMALL})(?P<u>年|月|日|号|点|时)?(?![\d.])")


def _range(reader: _Reader, place: int) -> Found | None:
    lead = _FROM.match(reader.text, place)
    at = lead.end() if lead else place
    best: Found | None = None
    for first in _firsts(reader, at):
        to = _TO.match(reader.text, first.end)
        both = _AND.match(reader.text, first.end) if to is None else None
        joint = to or both
        if joint is None:
            continue
        for last in _lasts(reader, joint.end(), first):
            found = _range_of(reader, place, first, last, needs_between=both is not None)
            if found is not None and (best is None or found.end > best.end):
                best = found
    return best


def _firsts(reader: _Reader, place: int) -> Iterator[Piece]:
    whole = reader.fields_at(place)
    if whole is not None:
        yield whole
        yield from _part_then_hour(reader, whole)
    year = _YEAR_HEAD.match(reader.text, place)
    if year is not None:
        yield Piece(Fields(year=int(year["y"])), year.end(), strong=False)
    head = _HEAD.match(reader.text, place)
    if head is not None:
        yield from _headless(head)


def _part_then_hour(reader: _Reader, whole: Piece) -> Iterator[Piece]:
    """ "晚上9~11点"."""
    hour = _BARE_HOUR.match(reader.text, whole.end) if whole.said.part else None
    if hour is not None and whole.said.clock is None:
        said = replace(whole.said, clock=_hour(W.count_of(hour["n"])))
        yield Piece(said, hour.end())


_BARE_HOUR = regex.compile(rf"(?P<n>{W.HOUR})(?=\s*[-–—~～到至])")


def _headless(head: regex.Match[str]) -> Iterator[Piece]:
    """ "2018年2—4月", "3月5至8日", "9~12点": what the number counts is told behind."""
    number = W.count_of(head["n"])
    year = int(head["y"]) if head["y"] else None
    if head["m"]:
        yield Piece(
            Fields(year=year, month=W.count_of(head["m"]), day=number), head.end(), strong=False
        )
        return
    yield Piece(Fields(year=year, month=number), head.end(), strong=False)
    if year is None:
        yield Piece(Fields(day=number), head.end(), strong=False)
        yield Piece(Fields(clock=_hour(number)), head.end(), strong=False)


def _hour(number: int) -> Clock:
    return Clock(hour=number, exact=number > 12)


def _lasts(reader: _Reader, place: int, first: Piece) -> Iterator[Piece]:
    whole = reader.fields_at(place)
    if whole is not None:
        yield whole
    now = _UP_TO_NOW.match(reader.text, place)
    if now is not None:
        start = reader.ground.now
        base = Period(start, moved(start, 1, "second"), "second")
        yield Piece(Fields(base=base), now.end())
    loose = _LOOSE.match(reader.text, place)
    if loose is None:
        return
    number = W.count_of(loose["n"])
    if loose["u"] in {"日", "号", None} and first.said.day is not None and number <= 31:
        yield Piece(Fields(day=number), loose.end(), strong=False)
    if loose["u"] in {"点", "时"} and first.said.clock is not None and number <= 24:
        yield Piece(Fields(clock=_hour(number)), loose.end(), strong=False)


def _range_of(
    reader: _Reader, place: int, first: Piece, last: Piece, *, needs_between: bool
) -> Found | None:
    a, b = first.said, last.said
    if not _alike(a, b):
        return None
    if not (first.strong or last.strong or (a.part and b.part)):
        return None
    close = _CLOSE.match(reader.text, last.end)
    end = close.end() if close is not None else last.end
    if needs_between and not _BETWEEN.match(reader.text, last.end):
        return None
    if a.part is not None and b.clock is not None and b.part is None and not b.dated:
        b = replace(b, part=a.part if a.part != "whole" else None)
    if b.dated and not a.dated and b.clock is not None:
        a = replace(a, base=reader.ground.today)
    try:
        period = between(a, b, reader.ground)
    except Unplaced:
        return None
    return found_at(place, end, "range", period)


def _alike(a: Fields, b: Fields) -> bool:
    """Whether both sides tell the same sort of time."""
    timed_a, timed_b = bool(a.clock or a.part), bool(b.clock or b.part)
    if timed_a != timed_b:
        return b.base is not None and b.base.grain == "second"
    if timed_a:
        return True
    return (
        _finest(a) == _finest(b)
        or (a.base is not None)
        or (b.base is not None)
        or (a.year is not None and b.dated)
    )


def _finest(said: Fields) -> str:
    for each in ("festival", "weekday", "day", "month", "quarter", "half", "season", "year"):
        if getattr(said, each) is not None:
            return each
    return "base"


# Open stretches


_BEHIND: tuple[tuple[regex.Pattern[str], Bound], ...] = (
    (regex.compile(r"\s*(?:[或及](?:之|以)?后|[或及]以[后上])"), "since"),
    (regex.compile(r"\s*(?:[或及](?:之|以)?前)"), "until"),
    (regex.compile(r"\s*(?:为止|截止|止(?!损)|以内)"), "until"),
    (regex.compile(r"\s*(?:起|开始|以来|至今|到现在|迄今|来(?![的电源自访信]))"), "since"),
    (regex.compile(r"\s*(?:之后|以后|过后|后(?![天年半期续端来台面果悔]))"), "after"),
    (
        regex.compile(r"\s*(?:之前|以前|前(?![天年端面后提景途期往台任几两三四五六七八九十\d]))"),
        "before",
    ),
)
_AHEAD: tuple[tuple[regex.Pattern[str], Bound], ...] = (
    (regex.compile(r"(?:截止|截至)(?:到|至|于)?\s*"), "until"),
    (regex.compile(r"(?:不晚于|不迟于|最晚|最迟)(?:在|到|于)?\s*"), "until"),
    (regex.compile(r"(?:晚于|迟于)\s*"), "after"),
    (regex.compile(r"(?:早于|先于)\s*"), "before"),
    (regex.compile(r"(?:不早于)\s*"), "since"),
    (regex.compile(r"(?:>=|≥)\s*"), "since"),
)


def _open(reader: _Reader, place: int) -> Found | None:
    """ "2018年之前", "自2016年9月1日起", "截止到2018年"."""
    for pattern, bound in _AHEAD:
        ahead = pattern.match(reader.text, place)
        piece = reader.fields_at(ahead.end()) if ahead is not None else None
        if piece is not None:
            return _open_found(reader, place, piece, piece.end, bound)
    lead = _OPEN_LEAD.match(reader.text, place)
    piece = reader.fields_at(lead.end() if lead else place)
    if piece is None:
        return None
    for pattern, bound in _BEHIND:
        behind = pattern.match(reader.text, piece.end)
        if behind is not None and (piece.strong or _cued(reader, piece, place) or lead):
            return _open_found(reader, place, piece, behind.end(), bound)
    return None


def _open_found(reader: _Reader, place: int, piece: Piece, end: int, bound: Bound) -> Found:
    ground = reader.ground
    period = placed(piece.said, ground)
    timed = piece.said.clock is not None or period.grain == "second"
    begins, ends = sides(period, bound, ground, timed=timed)
    if bound == "before" and piece.said.edge is not None and bound in ground.says.from_now:
        ends = period.end
    return Found(
        start=place,
        end=end,
        kind="range",
        grain=period.grain,
        begins=begins,
        ends=ends,
        bound=bound,
    )


# Lengths of time


_AMOUNT = regex.compile(
    rf"(?P<n>半|{W.NUMBER})\s?(?P<more>多|来|余)?(?P<ge>个)?(?P<half>半)?(?P<more>多)?\s?"
    rf"(?P<u>{W.any_of(W.UNITS)}|工作日)(?P<tail>半(?![天年月小]))?(?P<more>多)?(?:的时间|时间)?"
)


def duration_at(text: str, place: int) -> tuple[Duration, int] | None:
    """ "两个半月", "一年零三个月", "半小时", "1天2小时"."""
    parts: list[tuple[int, Grain]] = []
    at = end = place
    while len(parts) < MAX_PARTS and (match := _AMOUNT.match(text, at)) is not None:
        amount = _amount(match)
        if amount is None:
            break
        parts.extend(amount)
        end = match.end()
        link = _LINK.match(text, end)
        at = link.end() if link is not None else end
    return (tuple(parts), end) if parts else None


def _amount(match: regex.Match[str]) -> list[tuple[int, Grain]] | None:
    unit_word = match["u"]
    if unit_word in {"分", "钟"} and not match["ge"] and unit_word == "钟":
        return None
    if unit_word == "月" and not match["ge"] and match["n"] not in {"两", "仨", "半", "俩"}:
        return None
    count = HALF if match["n"] == "半" else W.number_of(match["n"])
    count += HALF if match["half"] or match["tail"] else 0.0
    if unit_word == "工作日":
        days = int(count)
        return [(days // 5 * 7 + days % 5, "day")]
    unit = W.UNITS[unit_word]
    if unit_word == "刻钟":
        count *= 15
    return _split(count, unit)


_SMALLER: dict[Grain, tuple[int, Grain]] = {
    "minute": (60, "second"),
    "hour": (60, "minute"),
    "day": (24, "hour"),
    "week": (7, "day"),
    "month": (30, "day"),
    "quarter": (3, "month"),
    "year": (12, "month"),
    "decade": (10, "year"),
    "century": (100, "year"),
}


def _split(count: float, unit: Grain) -> list[tuple[int, Grain]]:
    if count > 10_000_000:
        raise Unplaced
    whole = int(count)
    parts: list[tuple[int, Grain]] = [(whole, unit)] if whole else []
    if count > whole and unit in _SMALLER:
        size, smaller = _SMALLER[unit]
        parts.append((15 if unit == "month" else round((count - whole) * size), smaller))
    return parts or [(0, unit)]


_SIDE = regex.compile(
    r"\s*(?:(?P<ago>之前|以前|前(?!端|面|提|景|途|后))|(?P<later>之后|以后|过后|后(?!端|面|续|来|台|悔))"
    r"|(?P<within>之内|以内|内(?!容|部|存|核|在))|(?P<since>以来|来(?![的电源自访信])))"
)
_ROUGHLY = regex.compile(r"(?:大约|大概|约|差不多|近)?\s*")


def _offset(reader: _Reader, place: int) -> Found | None:
    """ "三天前", "两个半月以后", "60日内", "3年多以来"."""
    rough = _ROUGHLY.match(reader.text, place)
    length = duration_at(reader.text, rough.end() if rough else place)
    if length is None:
        return None
    duration, end = length
    side = _SIDE.match(reader.text, end)
    if side is None:
        return None
    ground = reader.ground
    if side["within"]:
        return found_at(place, side.end(), "range", _within(ground, duration))
    if side["since"]:
        start = shifted(ground, ground.now, duration, sign=-1)
        return found_at(place, side.end(), "relative", Period(start, ground.now, duration[-1][1]))
    sign = -1 if side["ago"] else 1
    open_ones = ground.says.open_offsets and len(side.group().strip()) > 1
    if open_ones:
        return _open_offset(ground, place, side.end(), duration, sign)
    period = ago(ground, duration, sign=sign)
    return _with_clock(reader, place, side.end(), period)


def _open_offset(ground: Ground, place: int, end: int, duration: Duration, sign: int) -> Found:
    """Where "两天以前" means any time before then."""
    there = ago(ground, duration, sign=sign)
    begins: datetime | None = there.start if sign > 0 else None
    ends: datetime | None = there.end if sign < 0 else None
    return Found(
        start=place,
        end=end,
        kind="relative",
        grain=there.grain,
        begins=begins,
        ends=ends,
        bound="before" if sign < 0 else "after",
    )


def _with_clock(reader: _Reader, place: int, end: int, period: Period) -> Found:
    """ "三天后下午两点", "两年前的夏天"."""
    glue = _OF.match(reader.text, end)
    piece = reader.fields_at(glue.end() if glue else end)
    if piece is not None and (piece.said.clock or piece.said.part) and not piece.said.dated:
        base = unit_at(period.start, "day")
        return found_at(
            place, piece.end, "relative", placed(replace(piece.said, base=base), reader.ground)
        )
    if (
        piece is not None
        and piece.said.base is None
        and piece.said.year is None
        and period.grain == "year"
    ):
        said = piece.said.joined(Fields(year=period.start.year))
        if said is not None and said.dated:
            return found_at(place, piece.end, "relative", placed(said, reader.ground))
    return found_at(place, end, "relative", period)


def _within(ground: Ground, duration: Duration) -> Period:
    unit = duration[-1][1]
    if unit in SHORT:
        return for_long(ground, ground.now, duration, unit)
    end = shifted(ground, unit_at(ground.now, "day").end, duration, sign=1)
    return Period(ground.now, end, unit)


_BACK = regex.compile(
    r"(?:过去的?|最近的?|近(?!期)|之前的?|以前的?|往前|近来的?|前(?:面)?|上|刚过去的|最近这)\s*"
)
_ON = regex.compile(
    r"(?:未来的?|今后的?|接下来的?|往后|之后的?|以后的?|后|下|还剩|再过|再有|再)\s*"
)


def _rolling(reader: _Reader, place: int) -> Found | None:
    """ "过去十年", "近30天", "前两周", "未来48小时", "下三周"."""
    back = _BACK.match(reader.text, place)
    lead = back or _ON.match(reader.text, place)
    length = duration_at(reader.text, lead.end()) if lead is not None else None
    if lead is None or length is None or len(length[0]) > 1:
        return _rolling_long(reader, place, lead, length)
    (count, unit), end = length[0][0], length[1]
    close = _CLOSED.match(reader.text, end)
    end = close.end() if close is not None else end
    sign = -1 if back is not None else 1
    if count == 0 or _no_unit(lead.group().strip(), unit, count):
        return None
    if lead.group().strip() == "再过":
        there = ago(reader.ground, length[0], sign=1)
        return Found(
            start=place, end=end, kind="relative", grain=unit, begins=there.start, bound="after"
        )
    whole = lead.group().strip() in {"前", "上", "下"} and unit == "week" and count > 1
    period = rolling(reader.ground, count, unit, sign=sign, whole=whole)
    return found_at(place, end, "relative", period)


def _no_unit(lead: str, unit: Grain, count: int) -> bool:
    """ "上一年" and "下一周" are whole units, read elsewhere."""
    return lead in {"上", "下"} and count == 1 and unit in {"week", "month", "year", "quarter"}


def _rolling_long(
    reader: _Reader,
    place: int,
    lead: regex.Match[str] | None,
    length: tuple[Duration, int] | None,
) -> Found | None:
    if lead is None or length is None:
        return None
    duration, end = length
    ground = reader.ground
    if lead.re is _BACK:
        start = shifted(ground, ground.now, duration, sign=-1)
        return found_at(place, end, "relative", Period(start, ground.now, duration[-1][1]))
    return found_at(place, end, "relative", for_long(ground, ground.now, duration, duration[-1][1]))


# Others


_RECURRING = regex.compile(
    rf"每(?:隔|逢|到)?(?:{W.NUMBER})?个?(?:天|日|周[一二三四五六日天末]?|星期[一二三四五六日天]?|礼拜[一二三四五六日天]?"
    r"|月|年|季度|小时|分钟|早|晚|晨)"
)


def _recurring(reader: _Reader, place: int) -> Found | None:
    match = _RECURRING.match(reader.text, place)
    if match is None:
        return None
    return Found(start=place, end=match.end(), kind="recurring", grain="day")


def _length(reader: _Reader, place: int) -> Found | None:
    """ "为期三天", "三天内" is none: a length, no time."""
    lead = _LASTING.match(reader.text, place)
    length = duration_at(reader.text, lead.end()) if lead is not None else None
    if length is None:
        return None
    return Found(start=place, end=length[1], kind="duration", grain=length[0][0][1])


_RULES: tuple[Rule, ...] = (
    _recurring,
    _range,
    _open,
    _point,
    _offset,
    _rolling,
    _length,
)
