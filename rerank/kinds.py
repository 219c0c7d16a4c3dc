"""How many documents, how many turns? Each kind has a budget of its own, so that a talkative
conversation does not crowd out the manual, nor the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from cluster.model import DocumentKind
from rerank.dedup import Block
from rerank.selection import SelectionPlan, shortlist


@dataclass(frozen=True, slots=True, kw_only=True)
class KindBudget:
    """At most `limit` passages of this kind."""

    kind: DocumentKind
    limit: Annotated[int, Field(ge=1, le=1000)]


def shortlist_of_kinds(
    blocks: Sequence[Block], budgets: Sequence[KindBudget], *, limit: int, plan: SelectionPlan
) -> list[Block]:
    """As `rerank.selection.shortlist`; with budgets, that of each kind apart, within its budget,
    together in the order of their scores (equal ones as they came)."""
    if not budgets:
        return list(shortlist(blocks, limit=limit, plan=plan))
    chosen = [
        block
        for budget in budgets
        for block in shortlist(
            [each for each in blocks if each.passages[0].kind == budget.kind],
            limit=budget.limit,
            plan=plan,
        )[: budget.limit]
    ]
    places = {chunk: place for place, each in enumerate(blocks) for chunk in each.chunk_ids}
    return sorted(chosen, key=lambda block: (-block.score, min(places[c] for c in block.chunk_ids)))
