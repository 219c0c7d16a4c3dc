"""What was said or published in the times that the question names, the best by its words first.

Far down in the whole a passage with few of the words may still be the best of its day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.filters import AllOf, AnyOf, Filter, Missing, Range
from cluster.stores.protocols import Ledger, TextIndex
from cluster.text.terms import content_terms
from serve.channels.channel import Found
from serve.channels.recent import freshness
from serve.plan.filter_json import joined
from serve.plan.plan import QueryPlan
from serve.plan.time_mention import TimeMention

MOMENTS = ("said_at", "updated_at", "published_at")
"""The moment of a passage is the first of these that it has."""

LATEST = 20
"""Where no word helps, so many of the latest."""


@dataclass(frozen=True, slots=True)
class TimeRangeChannel:
    """Scores are weighted BM25 inside the times. Where nothing in there has any of the words, or
    the question has none, the latest in there, scored 1 (now) by half every 30 days."""

    ledger: Ledger
    index: TextIndex
    name: str = "time_range"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        inside = inside_of(plan.times)
        if inside is None:
            return Found(listed=())
        where = joined(plan.where, inside)
        terms = content_terms(plan.terms)
        if terms:
            found = await self.index.search(terms, scope=plan.scope, where=where, limit=limit)
            if found:
                return Found(listed=found, floor=0.0)
        async with self.ledger.transaction() as tx:
            latest = await tx.documents.recent(plan.scope, where=where, limit=min(limit, LATEST))
        scored = [(chunk_id, freshness(moment, now=plan.now)) for chunk_id, moment in latest]
        return Found(listed=scored, exhausted=True)


def inside_of(times: Sequence[TimeMention]) -> Filter | None:
    """Passages whose moment lies in any of these; `None` where none is a stretch of time."""
    parts = tuple(_inside(time) for time in times if time.placed)
    return AnyOf(parts) if len(parts) > 1 else next(iter(parts), None)


def _inside(time: TimeMention) -> Filter:
    ways: list[Filter] = []
    for place, field in enumerate(MOMENTS):
        within = Range(field, gte=time.begins, lt=time.ends)
        before = tuple(Missing(name) for name in MOMENTS[:place])
        ways.append(AllOf((*before, within)) if before else within)
    return AnyOf(tuple(ways))
