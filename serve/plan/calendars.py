"""Days of the Chinese, Islamic and Hebrew calendars, Easter, and the solar terms."""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

import math
from datetime import date, timedelta
from functools import lru_cache

from serve.plan.calendar_tables import (
    CHINESE_YEARS,
    FIRST_CHINESE_YEAR,
    FIRST_HIJRI_DAY,
    FIRST_HIJRI_YEAR,
    HIJRI_YEARS,
)

LONG_MONTH = 30
_CHINESE_DIGITS = 6
_HIJRI_DIGITS = 3
_HEBREW_EPOCH = -1373427


def chinese_day(year: int, month: int, day: int) -> date | None:
    """Of the lunar year that begins in `year`; `None` where the month has no such day or the
    table ends. `day` 0 is the last of the month before."""
    index = year - FIRST_CHINESE_YEAR
    if not 0 <= index < len(CHINESE_YEARS) // _CHINESE_DIGITS or not 1 <= month <= 13:
        return None
    code = int(CHINESE_YEARS[index * _CHINESE_DIGITS :][:_CHINESE_DIGITS], 16)
    long, leap, first = code >> 10, code >> 6 & 15, code & 63
    place = month - 1 + (1 if leap and month > leap else 0)
    lengths = [LONG_MONTH - 1 + (long >> (12 - each) & 1) for each in range(13)]
    if day > (lengths[place] if place < 13 else LONG_MONTH):
        return None
    return date(year, 1, 20) + timedelta(days=first + sum(lengths[:place]) + day - 1)


def chinese_year_of(day: date) -> int:
    """The lunar year that `day` lies in."""
    begins = chinese_day(day.year, 1, 1)
    return day.year if begins is None or begins <= day else day.year - 1


def chinese_eve(year: int) -> date | None:
    """除夕: the day before the next lunar year's first."""
    following = chinese_day(year + 1, 1, 1)
    return following - timedelta(days=1) if following else None


def hijri_days(year: int, month: int, day: int) -> list[date]:
    """When that day of the Islamic year falls in the Gregorian `year`: never, once or twice."""
    guess = int((year - 622) * 33 / 32)
    days = (_hijri_day(each, month, day) for each in range(guess - 1, guess + 3))
    return [each for each in days if each is not None and each.year == year]


def _hijri_day(year: int, month: int, day: int) -> date | None:
    index = year - FIRST_HIJRI_YEAR
    if not 0 <= index < len(HIJRI_YEARS) // _HIJRI_DIGITS:
        return None
    begins = _hijri_year_starts()[index]
    code = int(HIJRI_YEARS[index * _HIJRI_DIGITS :][:_HIJRI_DIGITS], 16)
    before = sum(LONG_MONTH - 1 + (code >> (11 - each) & 1) for each in range(month - 1))
    return begins + timedelta(days=before + day - 1)


@lru_cache(maxsize=1)
def _hijri_year_starts() -> list[date]:
    starts = [date(*FIRST_HIJRI_DAY)]
    for place in range(0, len(HIJRI_YEARS), _HIJRI_DIGITS):
        code = int(HIJRI_YEARS[place : place + _HIJRI_DIGITS], 16)
        starts.append(starts[-1] + timedelta(days=12 * (LONG_MONTH - 1) + code.bit_count()))
    return starts


def passover(year: int) -> date:
    """15 Nisan. Reingold and Dershowitz, Calendrical Calculations."""
    return date.fromordinal(_hebrew_new_year(year + 3761) - 163)


def hebrew_autumn_day(year: int, month: int, day: int) -> date:
    """Of the Hebrew year that begins in `year`: Tishri (7), Marheshvan (8), Kislev (9), Tevet
    (10) or Shevat (11)."""
    hebrew = year + 3761
    new_year = _hebrew_new_year(hebrew)
    length = _hebrew_new_year(hebrew + 1) - new_year
    lengths = [30, 30 if length % 10 == 5 else 29, 29 if length % 10 == 3 else 30, 29]
    return date.fromordinal(new_year + sum(lengths[: month - 7]) + day - 1)


def _hebrew_new_year(hebrew: int) -> int:
    """As an ordinal of `datetime.date`."""
    return _HEBREW_EPOCH + _hebrew_elapsed(hebrew) + _hebrew_delay(hebrew)


def _hebrew_delay(hebrew: int) -> int:
    before, this, after = (_hebrew_elapsed(hebrew + each) for each in (-1, 0, 1))
    if after - this == 356:
        return 2
    return 1 if this - before == 382 else 0


def _hebrew_elapsed(hebrew: int) -> int:
    months = (235 * hebrew - 234) // 19
    day = 29 * months + (12084 + 13753 * months) // 25920
    return day + 1 if (3 * (day + 1)) % 7 < 3 else day


def easter(year: int) -> date:
    """Western; Butcher's algorithm."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def orthodox_easter(year: int) -> date:
    """In the Gregorian calendar; Meeus."""
    d = (19 * (year % 19) + 15) % 30
    e = (2 * (year % 4) + 4 * (year % 7) - d + 34) % 7
    month, day = divmod(d + e + 114, 31)
    return date(year, month, day + 1) + timedelta(days=year // 100 - year // 400 - 2)


def solar_term(year: int, longitude: int) -> date:
    """The day in China on which the sun reaches `longitude` degrees (0: spring equinox, 315:
    立春). Meeus, Astronomical Algorithms, low accuracy: some minutes."""
    guess = date(year, 3, 20).toordinal() + (longitude - 360 * (longitude > 280)) * (365.2422 / 360)
    for _ in range(4):
        away = (longitude - _sun_longitude(guess) + 180) % 360 - 180
        guess += away * 365.2422 / 360
    return date.fromordinal(math.floor(guess + 8 / 24))


def _sun_longitude(ordinal: float) -> float:
    """Apparent, in degrees, at a moment of UTC told as days of `date.toordinal`."""
    centuries = (ordinal - 730120.5) / 36525
    mean = 280.46646 + 36000.76983 * centuries
    anomaly = math.radians(357.52911 + 35999.05029 * centuries)
    centre = (
        (1.914602 - 0.004817 * centuries) * math.sin(anomaly)
        + 0.019993 * math.sin(2 * anomaly)
        + 0.000289 * math.sin(3 * anomaly)
    )
    node = math.radians(125.04 - 1934.136 * centuries)
    return (mean + centre - 0.00569 - 0.00478 * math.sin(node)) % 360
