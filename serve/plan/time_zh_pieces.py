"""The smallest Chinese phrases of times: what each looks like, and what it says."""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import regex

from serve.plan import time_zh_words as words
from serve.plan.time_fields import Clock, Fields, dated
from serve.plan.time_pieces import (
    Builder,
    Match,
    Piece,
    Pieces,
    clock,
    full_year,
    month_and_day,
    say,
    weekend_of,
    year_last,
)
from serve.plan.time_units import (
    Period,
    Unplaced,
    floor,
    moved,
    nth_unit,
    nth_weekday,
    unit_at,
    year_at,
)

W = words
HALF_HOUR, QUARTER = 30, 15


def _year(pieces: Pieces, match: Match) -> Piece | None:
    text = match["y"]
    number = W.count_of(text)
    if len(text) == 2 or number < 100:
        two = text if text.isdigit() else f"{number:02d}"
        written = len(text) == 2 and not regex.search("[十百两]", text)
        year = full_year(two, ground=pieces.ground)
        strong = text[0] in "0零〇" and written
        return Piece(Fields(year=year), match.end(), strong=strong) if written else None
    if not 1000 <= number <= 2999:
        return None
    return say(match, year=number)


def _bare_year(_: Pieces, match: Match) -> Piece:
    return Piece(Fields(year=int(match["y"])), match.end(), strong=bool(match["is"]))


def _era(_: Pieces, match: Match) -> Piece:
    text = match["n"]
    count = 1 if text == "元" else W.count_of(text)
    return say(match, year=W.ERAS[match["era"]] + count - 1)


def _named_year(pieces: Pieces, match: Match) -> Piece:
    name = match["n"]
    weak = name in {"当年", "同年"}
    base = unit_at(pieces.ground.now, "year", W.YEARS[name])
    return Piece(Fields(base=base), match.end(), strong=not weak)


def _month(_: Pieces, match: Match) -> Piece | None:
    number = W.count_of(match["m"])
    return say(match, month=number) if 1 <= number <= 12 else None


def _lunar_month(pieces: Pieces, match: Match) -> Piece:
    number = {"正": 1, "元": 1, "腊": 12, "冬": 11}[match["m"]]
    lunar = True if pieces.ground.says.lunar != "never" else None
    return say(match, month=number, lunar=lunar)


def _nth_month(_: Pieces, match: Match) -> Piece | None:
    number = W.count_of(match["m"])
    return Piece(Fields(month=number), match.end(), strong=False) if 1 <= number <= 12 else None


def _day(_: Pieces, match: Match) -> Piece | None:
    number = W.count_of(match["d"])
    if not 1 <= number <= 31:
        return None
    return Piece(Fields(day=number), match.end(), strong=match["u"] == "日" or bool(match["z"]))


def _month_day(pieces: Pieces, match: Match) -> Piece | None:
    """ "8月15", "八月十五": in words a day of the Chinese calendar."""
    month, day = W.count_of(match["m"]), W.count_of(match["d"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    worded = not regex.search(r"\d", match.group())
    lunar = True if worded and pieces.ground.says.lunar == "numerals" and day <= 30 else None
    return say(match, month=month, day=day, lunar=lunar)


def _lunar_day(pieces: Pieces, match: Match) -> Piece | None:
    """ "正月初八", "腊月廿三", "农历八月十五", "大年初十"."""
    if not _LUNAR.search(match.group()):
        return None
    name = match["m"]
    months = {"正": 1, "元": 1, "腊": 12, "冬": 11, None: 1, "大年": 1}
    month = months[name] if name in months else W.count_of(name)
    text = match["d"]
    day = (30 if text == "三十" else W.count_of(text)) if text else None
    if not 1 <= month <= 12 or not 1 <= (day or 1) <= 30:
        return None
    never = pieces.ground.says.lunar == "never"
    year = W.count_of(match["y"]) if match["y"] else None
    if year is not None and year < 100:
        year = full_year(f"{year:02d}", ground=pieces.ground)
    return say(match, month=month, day=day, lunar=None if never else True, year=year)


_LUNAR = regex.compile("农历|阴历|旧历|正月|腊月|冬月|大年|初|廿|卅")


def _year_first(pieces: Pieces, match: Match) -> Piece:
    year = full_year(match["y"], ground=pieces.ground)
    return say(match, year=year, month=int(match["m"]), day=int(match["d"]))


def _year_and_month(_: Pieces, match: Match) -> Piece:
    return say(match, year=int(match["y"]), month=int(match["m"]))


def _cued_month_and_day(pieces: Pieces, match: Match) -> Piece | None:
    piece = month_and_day(pieces, match)
    return replace(piece, strong=bool(match["u"])) if piece is not None else None


def _weekday(pieces: Pieces, match: Match) -> Piece:
    weekday = W.WEEKDAYS[match["w"]]
    if match["rel"] is None:
        return say(match, weekday=weekday)
    which = W.WHICH[match["rel"]]
    ground = pieces.ground
    if ground.says.next_weekday == "nearest" and which in {0, 1}:
        away = (weekday - ground.now.weekday()) % 7
        away += 7 if which == 1 and away == 0 else 0
        return say(match, base=unit_at(ground.now, "day", away))
    monday = moved(floor(ground.now, "week"), which, "week")
    return say(match, base=unit_at(moved(monday, weekday, "day"), "day"))


def _weekend(pieces: Pieces, match: Match) -> Piece:
    strong = match["rel"] is not None
    which = W.WHICH[match["rel"]] if match["rel"] else None
    return Piece(Fields(base=weekend_of(which, pieces.ground)), match.end(), strong=strong)


def _which_unit(pieces: Pieces, match: Match) -> Piece:
    unit = W.UNITS[match["u"]]
    which = W.WHICH[match["rel"]]
    now = pieces.ground.now
    weak = match["rel"] in {"当", "同", "该", "此"}
    if unit in {"second", "minute", "hour"} and which and pieces.ground.says.rolling != "whole":
        there = moved(now, which, unit)
        return say(match, base=Period(min(there, now), max(there, now), unit))
    return Piece(Fields(base=unit_at(now, unit, which)), match.end(), strong=not weak)


def _named_day(pieces: Pieces, match: Match) -> Piece:
    """ "昨天", "今晚", "明早"."""
    name = match["n"]
    base = unit_at(pieces.ground.now, "day", W.DAYS[name])
    part = W.PARTS[match["p"]] if match["p"] else None
    weak = name in _OF_THE_STORY
    return Piece(Fields(base=base, part=part), match.end(), strong=not weak)


_OF_THE_STORY = frozenset(("当天", "当日", "同日", "即日", "第二天", "次日", "翌日", "隔天"))
"""Days that follow what was told before, seldom the day of the question."""


def _part(pieces: Pieces, match: Match) -> Piece:
    name = W.PARTS[match["p"]]
    if match["p"] == "午后":
        name = "after_lunch"
    return Piece(Fields(part=name), match.end(), strong=False)


def _that_evening(pieces: Pieces, match: Match) -> Piece:
    said = Fields(base=pieces.ground.today, part=W.PARTS[match["p"]])
    return Piece(said, match.end(), strong=False)


def _now(pieces: Pieces, match: Match) -> Piece:
    now = pieces.ground.now
    return say(match, base=Period(now, moved(now, 1, "second"), "second"))


def _quarter(_: Pieces, match: Match) -> Piece | None:
    number = {"首": 1, "末": 4}.get(match["n"]) or W.count_of(match["n"])
    return say(match, quarter=number) if 1 <= number <= 4 else None


def _half_year(pieces: Pieces, match: Match) -> Piece:
    half = 1 if match["h"] in "上前" else 2
    if match["one"]:
        return say(match, base=unit_at(pieces.ground.now, "half", -1 if half == 1 else 1))
    return say(match, half=half)


def _unit_edge(pieces: Pieces, match: Match) -> Piece:
    """ "年底", "月初": of the present one."""
    base = unit_at(pieces.ground.now, W.UNITS[match["u"]])
    return say(match, base=base, edge=W.EDGES[match["e"]])


def _half_of(pieces: Pieces, match: Match) -> Piece:
    """ "上半月", "下半周": of the present one."""
    unit = W.UNITS[match["u"]]
    period = unit_at(pieces.ground.now, unit)
    middle = moved(period.start, 15, "day") if unit == "month" else moved(period.start, 3, "day")
    first = match["h"] in "上前"
    base = Period(period.start, middle, unit) if first else Period(middle, period.end, unit)
    return say(match, base=base)


def _season(pieces: Pieces, match: Match) -> Piece:
    return Piece(Fields(season=W.SEASONS[match["s"]]), match.end(), strong=False)


def _festival(pieces: Pieces, match: Match) -> Piece:
    place = next(key for key, value in match.groupdict().items() if value and key[0] == "f")
    name = W.FESTIVAL_NAMES[int(place[1:])]
    if name == "western_or_orthodox_lent":
        name = "orthodox_lent" if pieces.ground.says.orthodox_lent else "lent"
    return Piece(Fields(festival=name), match.end(), strong=name not in W.WEAK_FESTIVALS)


def _decade(_: Pieces, match: Match) -> Piece | None:
    tens = W.count_of(match["n"])
    if tens % 10 or tens > 90:
        return None
    if match["c"]:
        start = (W.count_of(match["c"]) - 1) * 100 + tens
    else:
        start = 1900 + tens if tens >= 30 else 2000 + tens
    return say(match, base=unit_at(year_at(start).start, "decade"))


def _century(_: Pieces, match: Match) -> Piece | None:
    number = W.count_of(match["c"])
    if not 2 <= number <= 30:
        return None
    return say(match, base=unit_at(year_at((number - 1) * 100).start, "century"))


# What narrows the words before it


def narrowed(pieces: Pieces, piece: Piece) -> Piece:
    """With what follows: "...初", "...上旬", "...的第一个星期一", "...前三天"."""
    while True:
        for pattern, build in _NARROWING:
            match = pattern.match(pieces.text, piece.end)
            inner = build(pieces, piece, match) if match is not None else None
            if inner is not None:
                piece = inner
                break
        else:
            return piece


def _edge(_pieces: Pieces, piece: Piece, match: Match) -> Piece | None:
    said = piece.said
    if said.edge is not None or said.clock is not None or said.part is not None:
        return None
    if said.day is not None or said.weekday is not None or said.festival is not None:
        return None
    if said.base is not None and said.base.grain in {"day", "second"}:
        return None
    return Piece(replace(said, edge=W.EDGES[match["e"]]), match.end())


def _nth_in(pieces: Pieces, piece: Piece, match: Match) -> Piece | None:
    """ "十月的第一周", "四月的最后一个星期一", "2021年第52周"."""
    period = _container(pieces, piece)
    if period is None:
        return None
    nth = W.count_of(match["n"]) if match["n"] else 1
    nth = 1 if match["first"] else nth
    last = bool(match["last"])
    weekday = match["w"]
    if weekday is not None:
        base = nth_weekday(period, -nth if last else nth, W.WEEKDAYS[weekday])
        return Piece(Fields(base=base), match.end())
    base = nth_unit(period, -nth if last else nth, W.UNITS[match["u"]], says=pieces.ground.says)
    return Piece(Fields(base=base), match.end())


def _first_of(pieces: Pieces, piece: Piece, match: Match) -> Piece | None:
    """ "去年的前10天", "今年最后3周", "2021年前两个季度"."""
    period = _container(pieces, piece)
    if period is None or match.group().endswith("年"):
        return None
    count = W.count_of(match["n"])
    unit = W.UNITS[match["u"]]
    nth = -1 if match["last"] else 1
    base = nth_unit(period, nth, unit, count, says=pieces.ground.says)
    return Piece(Fields(base=base), match.end())


def _container(pieces: Pieces, piece: Piece) -> Period | None:
    said = piece.said
    if said.day is not None or said.weekday is not None or said.clock or said.part or said.edge:
        return None
    try:
        period = dated(said, pieces.ground)
    except Unplaced:
        return None
    return period if period.grain in {"week", "month", "quarter", "half", "year"} else None


def _day_of_festival(pieces: Pieces, piece: Piece, match: Match) -> Piece | None:
    """ "春节第三天"."""
    if piece.said.festival is None:
        return None
    day = dated(piece.said, pieces.ground)
    base = unit_at(moved(day.start, W.count_of(match["n"]) - 1, "day"), "day")
    return Piece(Fields(base=base), match.end())


# Times of day


def _oclock(_: Pieces, match: Match) -> Piece | None:
    hour = W.count_of(match["h"])
    minute = _minutes(match)
    second = W.count_of(match["s"]) if match["s"] else None
    if hour > 24 or (minute or 0) > 59 or (second or 0) > 59:
        return None
    digits = match["h"].isdigit()
    mark = match["mark"]
    strong = bool(match["sharp"] or (minute is not None) or (mark == "时" and digits))
    exact = hour > 12 or hour == 0 or (mark == "时" and digits)
    said = Clock(hour=hour, minute=minute, second=second, exact=exact)
    return Piece(Fields(clock=said), match.end(), strong=strong)


def _minutes(match: Match) -> int | None:
    if match["half"]:
        return HALF_HOUR
    if match["q"]:
        return QUARTER * W.count_of(match["q"])
    text = match["min"]
    if text is None:
        return None
    minute = W.count_of(text)
    alone = not match["zero"] and not match["fen"] and len(text) == 1
    return minute * 5 if alone and not text.isdigit() else minute


_NOT_DAY = (
    "(?![志常子程报前后内游元均化语历产文军方俄韩出落光记益用食班线楼房门位院馆厅机电池卡店选舱])"
)
_NO_DIGIT = r"(?<![\d.])"
_RELS = W.any_of(W.WHICH)
_UNITS_LONG = (
    "(?:(?:周|星期|礼拜)(?![一二三四五六日天末])|月|季度|季(?!度)|年度|年|世纪|小时|钟头|分钟)"
)
_AP = r"(?P<ap>[ap](?:\.?\s?m\b\.?|\b\.?))"


def _at(pattern: str, build: Builder) -> tuple[regex.Pattern[str], Builder]:
    return regex.compile(pattern, regex.IGNORECASE), build


_PIECES: tuple[tuple[regex.Pattern[str], Builder], ...] = (
    _at(
        rf"{_NO_DIGIT}(?P<y>[12]\d{{3}})[-/.](?P<m>0?\d|1[0-2])[-/.](?P<d>[12]\d|3[01]|0?[1-9])(?:[日号])?",
        _year_first,
    ),
    _at(
        rf"{_NO_DIGIT}(?P<a>\d{{1,2}})(?P<x>[-/.])(?P<b>\d{{1,2}})(?P=x)(?P<y>[12]\d{{3}}|\d\d)(?!\d)",
        year_last,
    ),
    _at(rf"{_NO_DIGIT}(?P<y>[12]\d{{3}})[-/.](?P<m>0?[1-9]|1[0-2])(?![\d.])月?", _year_and_month),
    _at(
        rf"{_NO_DIGIT}(?P<a>\d{{1,2}})[-/](?P<b>\d{{1,2}})(?![\d./:])(?P<u>[日号])?",
        _cued_month_and_day,
    ),
    _at(
        rf"{_NO_DIGIT}(?P<y>\d{{4}}|\d{{2}}|[一二][零〇○一二三四五六七八九]{{3}}|[零〇○一二三四五六七八九]{{2}})"
        r"\s*年度?(?![前后内间以级代轻龄糕多来薪纪假会货])",
        _year,
    ),
    _at(
        rf"{_NO_DIGIT}(?P<y>\d{{4}}|\d{{2}}|[一二][零〇○一二三四五六七八九]{{3}})\s*年"
        r"(?=前[\d一二两三四五六七八九十首]|后半|[之以]?[前后]|以来|间)",
        _year,
    ),
    _at(rf"(?P<is>[=＝]\s?){_NO_DIGIT}(?P<y>(?:19|20)\d\d)(?!\d)", _bare_year),
    _at(rf"{_NO_DIGIT}(?P<is>)(?P<y>(?:19|20)\d\d)(?![\d年]|[-/.:：]\d)", _bare_year),
    _at(rf"(?P<era>{W.any_of(W.ERAS)})(?P<n>元|[一二三四五六七八九十]+|\d{{1,2}})年", _era),
    _at(rf"(?P<n>{W.any_of(W.YEARS)})(?![级轻龄])", _named_year),
    _at(rf"{_NO_DIGIT}(?P<m>{W.SMALL})月份?(?![饼亮球光票薪租经台供费均底]|中[央])", _month),
    _at(rf"{_NO_DIGIT}(?P<m>{W.SMALL})月份?(?=底|中|初)", _month),
    _at(r"(?P<m>[正腊冬元])月(?!饼)", _lunar_month),
    _at(rf"第(?P<m>{W.SMALL})个月", _nth_month),
    _at(rf"{_NO_DIGIT}(?P<d>{W.SMALL})\s?(?:(?P<u>[日号])(?P<z>当?天)?)" + _NOT_DAY, _day),
    _at(
        rf"{_NO_DIGIT}(?P<m>{W.SMALL})月(?:份)?(?P<d>{W.SMALL})(?![日号个年月\d周天岁种次点])",
        _month_day,
    ),
    _at(
        rf"(?:(?:农历|阴历|旧历)?(?:(?P<y>\d{{4}}|[一二][零〇○一二三四五六七八九]{{3}})年(?:的)?)?)"
        rf"(?:农历|阴历|旧历)?(?:(?P<m>[正腊冬]|大年|{W.SMALL})月?)(?:初|(?=廿|卅|[一二三]?十|\d))"
        rf"(?P<d>{W.SMALL})[日号]?(?![月年点时])",
        _lunar_day,
    ),
    _at(rf"(?P<rel>{_RELS})?(?:周|星期|礼拜)(?P<w>[一二三四五六日天])(?![个次遍岁边])", _weekday),
    _at(rf"(?P<rel>{_RELS})?(?:个)?(?:周末|星期末)", _weekend),
    _at(rf"(?P<rel>{_RELS})(?P<u>{_UNITS_LONG})(?![级代轻龄份报刊])", _which_unit),
    _at(rf"(?P<rel>{_RELS})(?P<u>月)份", _which_unit),
    _at(
        rf"(?<![提以之目聪])(?P<n>{W.any_of(k for k in W.DAYS if len(k) > 1)})的?"
        rf"(?P<p>{W.PART})?(?!性|头条)",
        _named_day,
    ),
    _at(rf"(?P<n>[昨今明])(?P<p>早上|早晨|晚上|晚间|夜里|[早晨晚夜]{W.NO_MEAL})", _named_day),
    _at(rf"(?P<p>{W.PART})", _part),
    _at(r"当(?P<p>晚|夜)", _that_evening),
    _at(
        r"(?<![出发实表体呈重兑浮再])现在|此刻|此时|目前|当前|马上|立刻|刚才|刚刚|眼下|如今|依家|而家|至今",
        _now,
    ),
    _at(r"第?(?P<n>[一二三四1234首])(?:个)?季度?(?!节)", _quarter),
    _at(r"Q(?P<n>[1-4])(?!\d)", _quarter),
    _at(r"(?P<h>[上下前后])(?P<one>个)?半年度?", _half_year),
    _at(r"(?P<h>[上下前后])半(?:个)?(?P<u>周|星期|月)", _half_of),
    _at(
        r"(?<![年月今去明前后\d一二三四五六七八九十这上下本当同])"
        rf"(?P<u>年|月|季)(?!中间)(?P<e>{W.SHORT_EDGES})(?![级考期旬夜])",
        _unit_edge,
    ),
    _at(rf"(?P<s>{W.any_of(W.SEASONS)})", _season),
    _at(W.FESTIVAL, _festival),
    _at(
        r"(?:(?P<c>\d{1,2}|[一二三]?十?[一二三四五六七八九十])世纪)?(?P<n>\d0|[一二三四五六七八九]十)年代",
        _decade,
    ),
    _at(
        r"(?P<c>\d{1,2}|[一二三]?十?[一二三四五六七八九十])世纪(?!\d|[一二三四五六七八九]十)",
        _century,
    ),
    _at(
        rf"{_NO_DIGIT}(?P<h>{W.HOUR})\s?(?P<mark>点|时)(?P<sharp>钟|整|正)?"
        rf"(?:(?P<half>踏?搭?半)|(?P<q>[一1三3])刻|(?:踏|搭|过)?(?P<zero>[零〇])?"
        rf"(?P<min>\d{{1,2}}|[一二三四五六七八九十]{{1,3}}|[零〇][一二三四五六七八九])(?P<fen>分(?!之))?"
        rf"(?:(?P<s>{W.SMALL})秒)?(?![个种点是条\d]))?(?![儿滴])",
        _oclock,
    ),
    _at(
        rf"(?<!\d[:：])(?P<h>\d{{1,2}})(?P<mark>[:：])(?P<min>\d\d)(?::(?P<s>\d\d))?"
        rf"(?P<hh>)(?P<z>)(?:\s*{_AP})?时?(?!\d)",
        clock,
    ),
    _at(rf"(?P<h>\d{{1,2}})(?P<mark>)(?P<min>)(?P<s>)(?P<hh>)(?P<z>)\s*{_AP}", clock),
)

_NARROWING: tuple[
    tuple[regex.Pattern[str], Callable[[Pieces, Piece, Match], Piece | None]], ...
] = (
    (
        regex.compile(
            rf"(?:的?(?P<e>{W.LONG_EDGES})|(?:(?<=年)年)?(?P<e>{W.SHORT_EDGES})|的(?P<e>{W.BARE_EDGE}))"
            r"(?![一二三四五六七八九十\d级学小国央旬])"
        ),
        _edge,
    ),
    (
        regex.compile(
            rf"的?(?:第(?P<n>{W.SMALL})|(?P<last>(?:最后|倒数)(?:第)?)(?P<n>{W.SMALL})?|(?P<first>首))个?"
            rf"(?:{W.WEEK}(?P<w>[一二三四五六日天])|(?P<u>周|星期|礼拜|天|日|月|季度))(?![末])"
        ),
        _nth_in,
    ),
    (
        regex.compile(
            rf"的?(?:前|头|(?P<last>最后|后))\s?(?P<n>{W.NUMBER})\s?个?\s?(?P<u>周|星期|礼拜|天|日|月|季度|季)"
        ),
        _first_of,
    ),
    (regex.compile(rf"的?第(?P<n>{W.SMALL})[天日]"), _day_of_festival),
)


class ChinesePieces(Pieces):
    table = _PIECES
    glue = regex.compile(r"\s*[,，、(（]?\s*的?\s*")
    before_hours = regex.compile(r"")

    def grown(self, piece: Piece) -> Piece:
        return narrowed(self, piece)
