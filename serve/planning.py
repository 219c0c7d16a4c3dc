"""What the stores are asked before a plan is made: the editions there are, and whether anything
fits what a question only hints at ("according to the changelog")."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cluster.filters import Filter
from cluster.model import Scope
from cluster.stores.protocols import Ledger
from serve.plan.constraints import find_constraints
from serve.plan.filter_json import joined
from serve.plan.question import Known, Question
from serve.plan.times import find_times, zone_named
from serve.plan.versions import KnownEdition
from serve.short_lived import ShortLived

LOOK_S = 0.15
"""Time to look whether something fits a hint; it does not count where that takes longer."""


async def known_for(
    question: Question, ledger: Ledger, editions: ShortLived[Scope, list[KnownEdition]]
) -> Known:
    """Raises the ledger's errors. Most questions hint at nothing, and cost no look."""
    known, fitting = await asyncio.gather(
        editions.get(question.scope), fitting_hints(question, ledger)
    )
    return Known(editions=known, fitting=fitting)


async def fitting_hints(question: Question, ledger: Ledger) -> frozenset[Filter]:
    """Of the filters that the question only hints at, those that something visible fits."""
    hints = _hints(question)
    if not hints:
        return frozenset()
    try:
        async with asyncio.timeout(LOOK_S), ledger.transaction() as tx:
            found = [
                await tx.documents.page(
                    question.scope, where=joined(question.where, hint), after=None, limit=1
                )
                for hint in hints
            ]
    except TimeoutError:
        return frozenset()
    return frozenset(hint for hint, (page, _) in zip(hints, found, strict=True) if page)


def _hints(question: Question) -> Sequence[Filter]:
    times = find_times(question.text, now=question.now, zone=zone_named(question.zone))
    found = find_constraints(question.text, times=times, now=question.now)
    return [each.where for each in found if each.where is not None and not each.certain]
