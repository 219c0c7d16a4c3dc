"""Does a passage lie in the time that the question names?

A bonus and no filter: what people write down about a day often stands in the record of another.
Bonuses are in standard deviations of the scores that they are added to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import Protocol

WITHIN = 2.0
"""For what lies in any of the intervals; once, however many hold it."""

OF_THE_SAME_DAY = 0.3
"""Of the best score of the same day: what happened around the best answer."""


class Interval(Protocol):
    def holds(self, moment: datetime) -> bool: ...


def time_bonuses(
    scores: Mapping[str, float],
    *,
    moments: Mapping[str, datetime | None],
    times: Sequence[Interval],
    zone: tzinfo,
) -> dict[str, dict[str, float]]:
    """Id -> name of the bonus -> what is added; only what is not 0. `zone` says where a day
    begins and ends. Nothing is added where no passage lies in any of `times`."""
    dated = {key: moment for key, moment in moments.items() if moment is not None}
    within = {key for key, moment in dated.items() if any(time.holds(moment) for time in times)}
    if not within:
        return {}
    days = {key: moment.astimezone(zone).date() for key, moment in dated.items()}
    best: dict[date, float] = {}
    for key, day in days.items():
        score = scores[key] + (WITHIN if key in within else 0.0)
        best[day] = max(best.get(day, 0.0), score)
    return {
        key: {
            **({"time": WITHIN} if key in within else {}),
            **({"same_day": OF_THE_SAME_DAY * best[day]} if best[day] > 0 else {}),
        }
        for key, day in days.items()
        if key in within or best[day] > 0
    }
