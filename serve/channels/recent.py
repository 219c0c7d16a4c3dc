"""What came last, for questions that ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cluster.stores.protocols import Ledger
from serve.channels.channel import Found
from serve.plan.plan import QueryPlan

HALF_LIFE_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class RecentChannel:
    """Scores fall from 1 (now) by half every 30 days; a moment after now counts as now."""

    ledger: Ledger
    name: str = "recent"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        async with self.ledger.transaction() as tx:
            found = await tx.documents.recent(plan.scope, where=plan.where, limit=limit)
        return Found(
            listed=[(chunk_id, freshness(moment, now=plan.now)) for chunk_id, moment in found]
        )


def freshness(moment: datetime, *, now: datetime) -> float:
    age_days = max((now - moment).total_seconds() / 86_400, 0.0)
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))
