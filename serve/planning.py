"""What is asked before a plan is made: which editions there are, whether anything fits what a
question only hints at ("according to the changelog"), and a language model, where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cluster.errors import ModelError
from cluster.filters import Filter
from cluster.model import Scope
from cluster.stores.protocols import Ledger
from serve.plan.constraints import find_constraints
from serve.plan.filter_json import joined
from serve.plan.llm import LanguageModelPlanner
from serve.plan.question import Known, Question
from serve.plan.suggestion import Suggestion
from serve.plan.times import find_times, zone_named
from serve.plan.versions import KnownEdition
from serve.short_lived import ShortLived
from serve.tasks import ended_with

SUGGESTION_SHARE = 0.4
"""Of a question's time, what a language model may take of it at most."""

LOOK_S = 0.15
"""Time to look whether something fits a hint; it does not count where that takes longer."""


async def known_for(
    question: Question,
    ledger: Ledger,
    editions: ShortLived[Scope, list[KnownEdition]],
    *,
    planner: LanguageModelPlanner | None = None,
) -> Known:
    """Raises the ledger's errors. Most questions hint at nothing, and cost no look."""
    read = asyncio.create_task(editions.get(question.scope))
    suggesting = asyncio.create_task(_suggested(question, planner))
    async with ended_with(read, suggesting):
        known, (suggestion, notes) = await asyncio.gather(read, suggesting)
    hints = [*_hints(question), *_narrowing(suggestion)]
    fitting = await fitting_hints(question, ledger, hints)
    return Known(editions=known, fitting=fitting, suggestion=suggestion, notes=notes)


async def fitting_hints(
    question: Question, ledger: Ledger, hints: Sequence[Filter]
) -> frozenset[Filter]:
    """Those filters that something visible fits, of what the caller's own filter leaves."""
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


async def _suggested(
    question: Question, planner: LanguageModelPlanner | None
) -> tuple[Suggestion | None, tuple[str, ...]]:
    """A suggestion, and notes on it; without one the rules plan alone. One that comes too late
    for this question is there for the next."""
    if planner is None:
        return None, ()
    within_s = SUGGESTION_SHARE * question.deadline_s
    try:
        async with asyncio.timeout(within_s):
            suggestion = await planner.suggest(question)
    except TimeoutError:
        return None, (f"language model: no answer within {within_s:g} s; planned by rules alone",)
    except ModelError as error:
        return None, (f"language model: {error}; planned by rules alone",)
    if suggestion == Suggestion():
        return None, ()
    return suggestion, ("planned with suggestions of the language model",)


def _narrowing(suggestion: Suggestion | None) -> tuple[Filter, ...]:
    where = suggestion.where if suggestion is not None else None
    return (where,) if where is not None else ()


def _hints(question: Question) -> Sequence[Filter]:
    times = find_times(question.text, now=question.now, zone=zone_named(question.zone))
    found = find_constraints(question.text, times=times, now=question.now)
    return [each.where for each in found if each.where is not None and not each.certain]
