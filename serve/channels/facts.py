"""Passages that are about what the question names, by what is known of them and not by words.

A name of the question (a title, an identifier, an error code) may be the heading right above a
passage, the title of its document, or one of its tags. Later kinds of facts are more channels of
this sort, each a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.filters import In
from cluster.stores.protocols import Ledger, Named, TextIndex
from cluster.text.terms import content_terms
from serve.channels.channel import Found
from serve.plan.channels import names_in
from serve.plan.filter_json import joined
from serve.plan.plan import QueryPlan

MAX_ALIKE = 40
"""A heading or title that so many have tells none of them from the others."""

WHOLE = 1.0
BEGINS = 0.8
INSIDE = 0.6
"""A passage under the name as its heading; under one that begins with it; in the document of that
title or tag (the best by words of these)."""


@dataclass(frozen=True, slots=True)
class FactsChannel:
    """Scores are 0 to 1 and say how the name was met. Without a name nothing is looked up."""

    ledger: Ledger
    index: TextIndex
    name: str = "facts"

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        names = names_in(plan)
        if not names:
            return Found(listed=())
        async with self.ledger.transaction() as tx:
            headed = await tx.lookups.headed(
                plan.scope, names, where=plan.where, limit=MAX_ALIKE * 2
            )
            titled = await tx.lookups.titled(
                plan.scope, names, where=plan.where, limit=MAX_ALIKE * 2
            )
        scores = {one.id: WHOLE if one.whole else BEGINS for one in telling(headed)}
        for chunk_id, score in await self._inside(plan, telling(titled), limit=limit):
            scores.setdefault(chunk_id, score)
        listed = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return Found(listed=listed[:limit], floor=0.0)

    async def _inside(
        self, plan: QueryPlan, documents: Sequence[Named], *, limit: int
    ) -> list[tuple[str, float]]:
        """The best of these documents by the question's words."""
        terms = content_terms(plan.terms)
        if not documents or not terms:
            return []
        where = joined(plan.where, In("document_id", tuple(one.id for one in documents)))
        found = await self.index.search(terms, scope=plan.scope, where=where, limit=limit)
        top = max((score for _, score in found), default=0.0)
        return [(chunk_id, INSIDE * score / top) for chunk_id, score in found if score > 0]


def telling(found: Sequence[Named]) -> list[Named]:
    """Without names that very many have."""
    alike = Counter(one.name for one in found)
    return [one for one in found if alike[one.name] <= MAX_ALIKE]
