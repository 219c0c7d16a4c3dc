"""A time that a question names, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from serve.plan.moment import Moment

Grain = Literal[
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "half",
    "year",
    "decade",
    "century",
]
"""How exactly a time is told: the unit of the words, not the length of the interval."""

TimeKind = Literal["point", "range", "relative", "recurring", "duration"]
"""`point`: one named unit ("5 May", "Q3 2024"); `range`: from a to b, or open at one side;
`relative`: counted from now ("two weeks ago"); `recurring`: again and again ("every Monday", no
interval of its own); `duration`: a length only ("for three days")."""

Bound = Literal["in", "before", "until", "after", "since"]
"""How the words place what is asked to the time; `until` and `since` include it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMention:
    """`text[start:end] == raw`. `begins` (inclusive) and `ends` (exclusive) are in UTC; `None` is
    open, both are `None` for what has no interval of its own. `demanded`: the words allow no
    other time ("only in 2024"); otherwise the interval is a preference."""

    raw: str
    start: int
    end: int
    kind: TimeKind
    grain: Grain
    begins: Moment | None
    ends: Moment | None
    bound: Bound = "in"
    demanded: bool = False

    @property
    def placed(self) -> bool:
        """Whether it is a stretch of time at all."""
        return self.begins is not None or self.ends is not None

    @property
    def is_now(self) -> bool:
        return self.kind == "relative" and self.grain == "second" and self.bound == "in"

    def holds(self, moment: datetime) -> bool:
        """Whether `moment` (with its zone) lies in the interval; never, where there is none."""
        at = moment.astimezone(UTC)
        after = self.begins is None or self.begins <= at
        return self.placed and after and (self.ends is None or at < self.ends)
