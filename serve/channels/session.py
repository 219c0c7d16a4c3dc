"""What was said last in the session that the question is asked in."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.stores.protocols import Ledger
from serve.channels.channel import Found
from serve.plan.channels import session_of
from serve.plan.plan import QueryPlan


@dataclass(frozen=True, slots=True)
class SessionChannel:
    """Scores fall evenly from 1 (the last turn) with each turn before it."""

    ledger: Ledger
    name: str = "session"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        session = session_of(plan)
        if session is None:
            return Found(listed=())
        async with self.ledger.transaction() as tx:
            turns = await tx.lookups.turns(plan.scope, session, where=plan.where, limit=limit)
        step = 1.0 / (limit + 1)
        listed = [(chunk_id, 1.0 - place * step) for place, chunk_id in enumerate(turns)]
        return Found(listed=listed, floor=0.0)
