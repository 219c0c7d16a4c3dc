"""Documents, turns, or both, each within a budget of its own."""

from __future__ import annotations

from dataclasses import replace

from cluster.errors import InvalidRequest
from cluster.filters import Eq
from serve.plan.filter_json import joined
from serve.plan.plan import QueryPlan
from serve.plan.question import Question


def with_kinds(plan: QueryPlan, question: Question) -> QueryPlan:
    """One kind is a filter; two with budgets are looked for apart. With budgets, these say how
    many passages there are."""
    kinds = {*question.kinds, *(one.kind for one in question.budgets)}
    outside = sorted(kinds - set(question.kinds)) if question.kinds else []
    if outside:
        raise InvalidRequest(f"budgets: {outside[0]!r} is not among the kinds; add it or drop it")
    if question.budgets:
        plan = replace(plan, limit=sum(one.limit for one in question.budgets))
    if len(kinds) == 1:
        return replace(plan, where=joined(plan.where, Eq("kind", min(kinds))))
    return replace(plan, kinds=question.budgets)
