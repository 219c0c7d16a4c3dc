"""On which days a festival falls in a given year."""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from types import MappingProxyType

from serve.plan import calendars
from serve.plan.time_units import Period, nth_weekday, unit_at

FIRST_YEAR, LAST_YEAR = 2, 9997

FIXED: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "new_year": (1, 1),
        "new_year_eve": (12, 31),
        "groundhog": (2, 2),
        "lincoln": (2, 12),
        "valentine": (2, 14),
        "womens": (3, 8),
        "tree_planting": (3, 12),
        "ides_of_march": (3, 15),
        "consumer": (3, 15),
        "st_patrick": (3, 17),
        "april_fool": (4, 1),
        "earth_day": (4, 22),
        "labour": (5, 1),
        "youth_cn": (5, 4),
        "nurses": (5, 12),
        "children": (6, 1),
        "party_cn": (7, 1),
        "canada": (7, 1),
        "independence": (7, 4),
        "bastille": (7, 14),
        "army_cn": (8, 1),
        "teachers": (9, 10),
        "national_cn": (10, 1),
        "boss": (10, 16),
        "halloween": (10, 31),
        "all_saints": (11, 1),
        "all_souls": (11, 2),
        "guy_fawkes": (11, 5),
        "singles": (11, 11),
        "veterans": (11, 11),
        "christmas_eve": (12, 24),
        "christmas": (12, 25),
        "boxing": (12, 26),
        "national_memorial_cn": (12, 13),
        "macau": (12, 20),
        "hong_kong": (7, 1),
        "epiphany": (1, 6),
        "assumption": (8, 15),
        "immaculate": (12, 8),
        "st_george": (4, 23),
        "cinco_de_mayo": (5, 5),
        "juneteenth": (6, 19),
        "anzac": (4, 25),
        "loyalty": (5, 1),
        "culture_day_tw": (10, 10),
    }
)
NTH: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "martin_luther_king": (1, 0, 3),
        "presidents": (2, 0, 3),
        "mothers": (5, 6, 2),
        "memorial": (5, 0, -1),
        "fathers": (6, 6, 3),
        "labor_us": (9, 0, 1),
        "columbus": (10, 0, 2),
        "thanksgiving": (11, 3, 4),
        "dst_start": (3, 6, 2),
        "dst_end": (11, 6, 1),
        "grandparents": (9, 6, 1),
    }
)
"""Month, weekday, which."""

AFTER_NTH: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "black_friday": ("thanksgiving", 1),
        "cyber_monday": ("thanksgiving", 4),
        "military_spouse": ("mothers", -2),
    }
)
FROM_EASTER: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "shrove_monday": (-48, 1),
        "shrove_tuesday": (-47, 1),
        "ash_wednesday": (-46, 1),
        "lent": (-46, 46),
        "palm_sunday": (-7, 1),
        "holy_week": (-7, 7),
        "maundy_thursday": (-3, 1),
        "good_friday": (-2, 1),
        "holy_saturday": (-1, 1),
        "easter": (0, 1),
        "easter_monday": (1, 1),
        "ascension": (39, 1),
        "pentecost": (49, 1),
        "whit_monday": (50, 1),
        "trinity_sunday": (56, 1),
        "corpus_christi": (60, 1),
        "orthodox_clean_monday": (-48, 1),
        "orthodox_lent": (-48, 40),
        "orthodox_lazarus": (-8, 1),
        "orthodox_palm_sunday": (-7, 1),
        "orthodox_good_friday": (-2, 1),
        "orthodox_holy_saturday": (-1, 1),
        "orthodox_easter": (0, 1),
        "orthodox_easter_monday": (1, 1),
        "orthodox_pentecost": (49, 1),
    }
)
"""Days after Easter Sunday, and how many."""

CHINESE: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "spring": (1, 1),
        "lantern": (1, 15),
        "dragon_head": (2, 2),
        "dragon_boat": (5, 5),
        "qixi": (7, 7),
        "ghost": (7, 15),
        "mid_autumn": (8, 15),
        "double_ninth": (9, 9),
        "laba": (12, 8),
        "little_year": (12, 23),
    }
)
HIJRI: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "islamic_new_year": (1, 1, 1),
        "ashura": (1, 10, 1),
        "mawlid": (3, 12, 1),
        "isra": (7, 27, 1),
        "ramadan": (9, 1, 30),
        "laylat_al_qadr": (9, 27, 1),
        "eid_al_fitr": (10, 1, 1),
        "eid_al_adha": (12, 10, 1),
    }
)
AFTER_PASSOVER: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "purim": (-31, 2),
        "passover": (-1, 9),
        "holocaust": (11, 1),
        "lag_baomer": (32, 1),
        "shavuot": (49, 3),
    }
)
"""Days after 15 Nisan, and how many; the days of the Hebrew calendar begin the evening before."""

HEBREW_AUTUMN: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "rosh_hashanah": (7, 0, 3),
        "yom_kippur": (7, 9, 1),
        "sukkot": (7, 14, 9),
        "shemini_atzeret": (7, 21, 1),
        "simchat_torah": (7, 22, 1),
        "hanukkah": (9, 24, 8),
    }
)
TERMS = [
    "春分",
    "清明",
    "谷雨",
    "立夏",
    "小满",
    "芒种",
    "夏至",
    "小暑",
    "大暑",
    "立秋",
    "处暑",
    "白露",
    "秋分",
    "寒露",
    "霜降",
    "立冬",
    "小雪",
    "大雪",
    "冬至",
    "小寒",
    "大寒",
    "立春",
    "雨水",
    "惊蛰",
]
"""The solar terms, fifteen degrees apart from the spring equinox on."""

HOLIDAYS_CN: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = MappingProxyType(
    {
        "summer_holidays": ((7, 1), (9, 1)),
        "winter_holidays": ((1, 15), (2, 21)),
        "national_week_cn": ((10, 1), (10, 8)),
        "labour_week_cn": ((5, 1), (5, 6)),
    }
)


def festival_in(name: str, year: int) -> list[Period]:
    """Its stretches that begin in the Gregorian year; none where the calendar is not known so
    far back or ahead."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return []
    for table, days in _READERS:
        if name in table:
            return [_period(start, length) for start, length in days(name, year)]
    return []


def _period(start: date, length: int) -> Period:
    first = datetime.combine(start, time())
    return Period(first, first + timedelta(days=length), "day")


Days = list[tuple[date, int]]


def _fixed(name: str, year: int) -> Days:
    return [(date(year, *FIXED[name]), 1)]


def _nth(name: str, year: int) -> Days:
    month, weekday, which = NTH[name]
    period = unit_at(datetime(year, month, 1), "month")  # noqa: DTZ001  local time
    return [(nth_weekday(period, which, weekday).start.date(), 1)]


def _after_nth(name: str, year: int) -> Days:
    of, days = AFTER_NTH[name]
    return [(_nth(of, year)[0][0] + timedelta(days=days), 1)]


def _from_easter(name: str, year: int) -> Days:
    days, length = FROM_EASTER[name]
    orthodox = name.startswith("orthodox")
    sunday = calendars.orthodox_easter(year) if orthodox else calendars.easter(year)
    return [(sunday + timedelta(days=days), length)]


def _chinese(name: str, year: int) -> Days:
    day = calendars.chinese_day(year, *CHINESE[name])
    if day is not None and day.year > year:
        day = None
    last = calendars.chinese_day(year - 1, *CHINESE[name])
    return [(each, 1) for each in (last, day) if each is not None and each.year == year]


def _chinese_eve(_name: str, year: int) -> Days:
    days = (calendars.chinese_eve(each) for each in (year - 1, year))
    return [(each, 1) for each in days if each is not None and each.year == year]


def _hijri(name: str, year: int) -> Days:
    month, day, length = HIJRI[name]
    return [(each, length) for each in calendars.hijri_days(year, month, day)]


def _after_passover(name: str, year: int) -> Days:
    days, length = AFTER_PASSOVER[name]
    return [(calendars.passover(year) + timedelta(days=days), length)]


def _hebrew_autumn(name: str, year: int) -> Days:
    month, day, length = HEBREW_AUTUMN[name]
    return [(calendars.hebrew_autumn_day(year, month, day), length)]


def _tu_bishvat(_name: str, year: int) -> Days:
    return [(calendars.hebrew_autumn_day(year - 1, 11, 14), 1)]


def _tax(_name: str, year: int) -> Days:
    """15 April, or the next working day; the 16th is a holiday in Washington."""
    holiday = date(year, 4, 16)
    holiday += timedelta(days={5: -1, 6: 1}.get(holiday.weekday(), 0))
    day = date(year, 4, 15)
    while day.weekday() > 4 or day == holiday:
        day += timedelta(days=1)
    return [(day, 1)]


def _kings(_name: str, year: int) -> Days:
    """27 April, until 2013 the Queen's 30th; never a Sunday."""
    day = date(year, 4, 27 if year > 2013 else 30)
    return [(day - timedelta(days=1) if day.weekday() == 6 else day, 1)]


def _administrative(_name: str, year: int) -> Days:
    """Wednesday of the last full week of April."""
    month = unit_at(datetime(year, 4, 1), "month")  # noqa: DTZ001  local time
    return [(nth_weekday(month, -1, 5).start.date() - timedelta(days=3), 1)]


def _israel_independence(_name: str, year: int) -> Days:
    """The evening before 5 Iyar, moved so that it meets no Sabbath."""
    day = calendars.passover(year) + timedelta(days=20)
    day += timedelta(days={4: -1, 5: -2, 0: 1}.get(day.weekday(), 0))
    return [(day - timedelta(days=1), 1)]


def _tisha_bav(_name: str, year: int) -> Days:
    """The evening before 9 Av; a Sabbath moves the fast to the next day."""
    day = calendars.passover(year) + timedelta(days=112)
    return [(day if day.weekday() == 5 else day - timedelta(days=1), 1)]


def _jumuatul_wida(_name: str, year: int) -> Days:
    """The last Friday of Ramadan."""
    eids = calendars.hijri_days(year, 10, 1)
    return [(eid - timedelta(days=(eid.weekday() - 5) % 7 + 1), 1) for eid in eids]


def _term(name: str, year: int) -> Days:
    return [(calendars.solar_term(year, TERMS.index(name) * 15), 1)]


def _holidays(name: str, year: int) -> Days:
    first, after = (date(year, *each) for each in HOLIDAYS_CN[name])
    return [(first, (after - first).days)]


_READERS: tuple[tuple[Mapping[str, object] | frozenset[str], Callable[[str, int], Days]], ...] = (
    (FIXED, _fixed),
    (NTH, _nth),
    (AFTER_NTH, _after_nth),
    (FROM_EASTER, _from_easter),
    (CHINESE, _chinese),
    (frozenset({"chinese_eve"}), _chinese_eve),
    (HIJRI, _hijri),
    (AFTER_PASSOVER, _after_passover),
    (HEBREW_AUTUMN, _hebrew_autumn),
    (frozenset({"tu_bishvat"}), _tu_bishvat),
    (frozenset({"tax"}), _tax),
    (frozenset({"kings_nl"}), _kings),
    (frozenset({"administrative"}), _administrative),
    (frozenset({"israel_independence"}), _israel_independence),
    (frozenset({"jumuatul_wida"}), _jumuatul_wida),
    (frozenset({"tisha_bav"}), _tisha_bav),
    (frozenset(TERMS), _term),
    (HOLIDAYS_CN, _holidays),
)
