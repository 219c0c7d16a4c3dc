"""Texts and numbers from other people's data -> aware moments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

_FORMATS = (
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y.%m.%d",
    "%d %B %Y",
    "%d %b %Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%B %d %Y",
    "%I:%M %p on %d %B, %Y",
    "%Y-%m",
    "%Y/%m",
    "%Y",
)
_CHINESE = re.compile(
    r"(\d{4})\s*年\s*(\d{1,2})\s*月(?:\s*(\d{1,2})\s*[日号])?(?:\s*(\d{1,2})[:：](\d{2}))?"
)
_MILLISECONDS_FROM = 100_000_000_000
_NO_EARLIER, _NO_LATER = 1, 9999


def parse_moment(raw: object) -> datetime | None:
    """A date is midnight UTC, a moment without a zone is UTC, a number is seconds (or, when it
    is that large, milliseconds) since 1970. What cannot be read is `None`, never a guess."""
    if isinstance(raw, datetime):
        return _aware(raw)
    if isinstance(raw, date):
        return datetime(raw.year, raw.month, raw.day, tzinfo=UTC)
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return _from_number(raw)
    if not isinstance(raw, str):
        return None
    text = " ".join(raw.split()).strip("\"'")
    readers: tuple[Callable[[str], datetime | None], ...] = (
        _iso,
        _mail,
        _chinese,
        _by_format,
        _digits,
    )
    return next((moment for read in readers if (moment := read(text)) is not None), None)


def _iso(text: str) -> datetime | None:
    if not re.match(r"\d{4}-?\d{2}-?\d{2}", text) or text.isdigit():
        return None
    return _tried(lambda: datetime.fromisoformat(text))


def _mail(text: str) -> datetime | None:
    return _tried(lambda: parsedate_to_datetime(text)) if ":" in text and "," in text else None


def _chinese(text: str) -> datetime | None:
    found = _CHINESE.search(text)
    if found is None:
        return None
    year, month, day, hour, minute = (int(part) if part else None for part in found.groups())
    return _tried(
        lambda: datetime(year or 0, month or 0, day or 1, hour or 0, minute or 0, tzinfo=UTC)
    )


def _by_format(text: str) -> datetime | None:
    for form in _FORMATS:
        moment = _tried(lambda form=form: datetime.strptime(text, form).replace(tzinfo=UTC))  # type: ignore[misc]
        if moment is not None:
            return moment
    return None


def _digits(text: str) -> datetime | None:
    if re.fullmatch(r"\d{8}", text):
        return _tried(lambda: datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC))
    return _from_number(float(text)) if re.fullmatch(r"\d{9,13}(\.\d+)?", text) else None


def _from_number(raw: float) -> datetime | None:
    try:
        number = float(raw)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    if _NO_EARLIER <= number <= _NO_LATER:
        return datetime(int(number), 1, 1, tzinfo=UTC) if number == int(number) else None
    seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
    return _tried(lambda: datetime.fromtimestamp(seconds, UTC))


def _tried(read: Callable[[], datetime]) -> datetime | None:
    try:
        return _aware(read())
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        return None


def _aware(moment: datetime) -> datetime:
    """In UTC, so that the same moment always has the same digest."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)
