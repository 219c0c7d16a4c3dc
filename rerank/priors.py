"""What speaks for a passage before it is read: how new it is, who says it, its standing.

Bonuses are added to a score scaled to 0..1 and are small: they order what is otherwise
nearly equal, they do not lift the irrelevant. Equal standing adds the same to all, so it
changes nothing. What a question names in the one way in which it is written is the exception:
a passage under its heading goes first (`rerank.verbatim`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cluster.model import StoredPassage
from rerank.verbatim import ExactTerm, verbatim_bonus

DAY_BONUS = 0.10
WEEK_BONUS = 0.05
AUTHORITY_BONUS = 0.04
NEWEST_EDITION_BONUS = 0.02


def bonuses(
    passage: StoredPassage, *, now: datetime, exact: Sequence[ExactTerm] = ()
) -> Mapping[str, float]:
    """Name -> what is added; only what is not 0. A moment after `now` is no news. `exact` are
    the terms of the question that are meant as they are written."""
    named = {
        "recency": recency_bonus(moment_of(passage), now=now),
        "authority": AUTHORITY_BONUS * min(max(passage.metadata.authority, 0.0), 1.0),
        "verbatim": verbatim_bonus(passage.chunk, exact),
        "status": NEWEST_EDITION_BONUS if passage.newest_edition else 0.0,
    }
    return {name: value for name, value in named.items() if value}


def recency_bonus(moment: datetime | None, *, now: datetime) -> float:
    if moment is None or moment > now:
        return 0.0
    age = now - moment
    if age <= timedelta(hours=24):
        return DAY_BONUS
    return WEEK_BONUS if age <= timedelta(days=7) else 0.0


def moment_of(passage: StoredPassage) -> datetime | None:
    """When it was said, else updated, else published; not when we happened to read it."""
    said = passage.turn.said_at if passage.turn else None
    return said or passage.metadata.updated_at or passage.metadata.published_at
