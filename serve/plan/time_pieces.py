"""Small phrases that say something of a date or a time of day, read together.

A piece is a pattern and what its match says. A piece may read on behind its match ("the end of
...") with `Pieces.fields_at`. What may also mean something else ("may", "1998", "10") is weak: it
needs a second piece, or a word before it that times follow.
"""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

import regex

from serve.plan.time_fields import Clock, Fields
from serve.plan.time_units import Ground, Period, Unplaced, floor, moved

FLAGS = regex.IGNORECASE
BEGINNING = 2
MAX_DEPTH = 6
"""Of "the day before the day before ..."."""
YEARS_AHEAD = 20
"""A year of two digits lies at most so many ahead."""


@dataclass(frozen=True, slots=True)
class Piece:
    said: Fields
    end: int
    strong: bool = True


Match = regex.Match[str]
Builder = Callable[["Pieces", Match], Piece | None]


Table = tuple[tuple[regex.Pattern[str], Builder], ...]


@lru_cache(maxsize=4096)
def _able(table: Table, beginning: str) -> Table:
    """The pieces that can begin so: a text names few of them, and a failing match costs time.
    What a piece wants to stand before it is not looked at here."""
    return tuple(
        (pattern, build)
        for pattern, build in table
        if "(?<=" in pattern.pattern or pattern.match(beginning, partial=True)
    )


class Pieces:
    """Reads one text; remembers what it read at a place. A language gives its table of pieces,
    what may stand between two, and what must before a bare number that is an hour."""

    table: ClassVar[Table]
    glue: ClassVar[regex.Pattern[str]]
    before_hours: ClassVar[regex.Pattern[str]]

    def __init__(self, text: str, ground: Ground) -> None:
        self.text = text
        self.ground = ground
        self._depth = 0
        self._read: dict[tuple[int, bool], Piece | None] = {}

    def fields_at(self, place: int, *, date_only: bool = False) -> Piece | None:
        """All pieces from `place` on that fit together, with the words between them."""
        key = (place, date_only)
        if key not in self._read:
            if self._depth == MAX_DEPTH:
                return None
            self._read[key] = None
            self._depth += 1
            try:
                self._read[key] = self._fields_at(place, date_only=date_only)
            finally:
                self._depth -= 1
        return self._read[key]

    def _fields_at(self, place: int, *, date_only: bool) -> Piece | None:
        so_far: Piece | None = None
        count, bare = 0, False
        while True:
            at = place if so_far is None else self._after_glue(so_far.end)
            glue = "" if so_far is None else self.text[so_far.end : at]
            found = [
                joined
                for piece in self._pieces_at(at)
                if (joined := self._joined(so_far, piece, glue)) is not None
                and not (date_only and joined.said.clock is not None)
            ]
            if not found:
                break
            so_far = self.grown(max(found, key=lambda piece: (piece.end, piece.strong)))
            count += 1
            bare = bare or (count == 1 and so_far.said.clock is not None and not so_far.strong)
        if so_far is None:
            return None
        said = so_far.said
        if bare and said.part is None:
            return replace(so_far, strong=False)
        sure = count > 1 and (said.dated or (said.clock is not None and said.part is not None))
        return replace(so_far, strong=so_far.strong or sure)

    def _pieces_at(self, place: int) -> Iterator[Piece]:
        beginning = self.text[place : place + BEGINNING].casefold()
        for pattern, build in _able(self.table, beginning):
            match = pattern.match(self.text, place)
            if match is not None:
                try:
                    piece = build(self, match)
                except Unplaced:
                    continue
                if piece is not None:
                    yield piece

    def grown(self, piece: Piece) -> Piece:
        """With what behind it narrows it."""
        return piece

    def _after_glue(self, place: int) -> int:
        match = self.glue.match(self.text, place)
        return match.end() if match is not None else place

    def _joined(self, so_far: Piece | None, piece: Piece, glue: str) -> Piece | None:
        if so_far is None:
            return piece
        if not is_day(so_far.said) and (piece.said.clock or piece.said.part):
            return None
        hour_first = so_far.said.clock_only and so_far.said.clock is not None
        if hour_first and not is_day(piece.said):
            return None
        bare = piece.said.clock is not None and not piece.strong
        if bare and so_far.said.part is None and not self.before_hours.search(glue):
            return None
        said = so_far.said.joined(piece.said)
        if said is None or said == so_far.said:
            return None
        return Piece(said, piece.end, so_far.strong or piece.strong)


def is_day(said: Fields) -> bool:
    """Whether a time of day may follow: "next month at 6" is no time of day."""
    if not said.dated:
        return True
    days = (said.day, said.weekday, said.festival)
    return any(each is not None for each in days) or (
        said.base is not None and said.base.grain == "day"
    )


def say(match: Match, **said: Any) -> Piece:
    return Piece(Fields(**said), match.end())


def full_year(text: str, *, ground: Ground) -> int:
    number = int(text)
    if len(text) > 2:
        return number
    year = ground.now.year // 100 * 100 + number
    return year if year <= ground.now.year + YEARS_AHEAD else year - 100


def year_last(pieces: Pieces, match: Match) -> Piece | None:
    first, second = int(match["a"]), int(match["b"])
    month, day = (second, first) if pieces.ground.says.day_first else (first, second)
    if month > 12:
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return say(match, year=full_year(match["y"], ground=pieces.ground), month=month, day=day)


def month_and_day(_: Pieces, match: Match) -> Piece | None:
    first, second = int(match["a"]), int(match["b"])
    if (first, second) == (24, 7):
        return None
    month, day = (second, first) if first > 12 else (first, second)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return Piece(Fields(month=month, day=day), match.end(), strong=False)


ZONES: Mapping[str, int] = MappingProxyType(
    {
        "utc": 0,
        "gmt": 0,
        "bst": 60,
        "cet": 60,
        "cest": 120,
        "ist": 330,
        "est": -300,
        "edt": -240,
        "cst": -360,
        "cdt": -300,
        "mst": -420,
        "mdt": -360,
        "pst": -480,
        "pdt": -420,
        "jst": 540,
    }
)
"""Minutes ahead of UTC."""

PM = {"a": False, "p": True}


def clock(_: Pieces, match: Match) -> Piece | None:
    hour, minute = int(match["h"]), match["min"]
    second = match["s"]
    half = match["ap"]
    if hour > 24 or (half and hour > 12) or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    pm = PM[half[0].lower()] if half else None
    exact = not half and (hour > 12 or hour == 0 or match["h"].startswith("0"))
    ahead = ZONES[match["z"].lower()] if match["z"] else None
    said = Clock(
        hour=hour,
        minute=int(minute) if minute else (0 if match["hh"] else None),
        second=int(second) if second else None,
        pm=pm,
        exact=exact,
    )
    strong = bool(half or match["hh"] or (minute and match["mark"] != "."))
    return Piece(Fields(clock=said, minutes_ahead=ahead), match.end(), strong=strong)


def weekend_of(which: int | None, ground: Ground) -> Period:
    """Of the present week or so many after it; `None`: by preference the last that has begun."""
    this = floor(ground.now, "week")
    weekend = weekend_in(moved(this, which or 0, "week"), ground)
    if which is None and ground.says.prefer == "past" and weekend.start > ground.now:
        return weekend_in(moved(this, -1, "week"), ground)
    return weekend


def weekend_in(monday: datetime, ground: Ground) -> Period:
    days, hours = ground.says.weekend
    start = moved(moved(monday, days, "day"), hours, "hour")
    return Period(start, moved(monday, 7, "day"), "day")


def long_weekend(day: Period, ground: Ground) -> Period:
    """The weekend and the festival beside it."""
    monday = floor(day.start, "week")
    days, hours = ground.says.weekend
    if day.start == monday:
        monday = moved(monday, -1, "week")
    first = moved(moved(monday, days, "day"), hours, "hour")
    after = moved(monday, 7, "day")
    return Period(min(first, day.start), max(after, day.end), "day")
