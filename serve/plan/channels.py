"""Which channels are asked for a plan, what they weigh, and how far down they look.

A channel that has nothing to go by is not asked: a question without names asks for no facts, one
without times for no time range, one outside of a session for no turns of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from cluster.filters import AllOf, Eq, Filter
from rerank.fusion import FusionMethod
from serve.plan.depth import inside_one_conversation
from serve.plan.plan import ChannelPlan, QueryPlan

CHANNELS = ("semantic", "keyword", "facts", "time_range", "recent", "session", "neighbours")
USUAL_CHANNELS = ("semantic", "keyword", "facts", "time_range", "session")
"""Those that are asked wherever they have something to go by."""

CANDIDATES = 50
LIMITS: Mapping[str, int] = {
    "facts": 20,
    "time_range": 150,
    "recent": 20,
    "session": 20,
    "neighbours": 60,
}
"""Of the others the limit follows from how many passages are asked for."""

SCORE_WEIGHTS: Mapping[str, float] = {
    "semantic": 1.0,
    "keyword": 0.5,
    "facts": 0.25,
    "time_range": 0.25,
    "recent": 0.25,
    "session": 0.1,
    "neighbours": 0.0,
}
"""Of standardised scores: few hits of one channel stand out by several deviations. Neighbours
only become candidates; the reranker sees what they are worth."""

RANK_WEIGHTS: Mapping[str, float] = {
    "facts": 1.2,
    "semantic": 1.0,
    "time_range": 0.9,
    "keyword": 0.85,
    "recent": 0.3,
    "session": 0.3,
    "neighbours": 0.3,
}
TAIL_CUTS: Mapping[str, float] = {"keyword": 0.7}

NAMING = frozenset({"title", "quoted", "identifier", "error_code", "name"})
"""Kinds of exact terms that a heading, a title or a tag may be."""


def planned(
    plan: QueryPlan, names: Collection[str], *, fusion: FusionMethod
) -> tuple[ChannelPlan, ...]:
    """Those of `names` that have something to go by, in the order of `CHANNELS`."""
    weights = SCORE_WEIGHTS if fusion == "score" else RANK_WEIGHTS
    return tuple(
        ChannelPlan(
            name=name,
            weight=weights[name],
            limit=LIMITS.get(name, max(CANDIDATES, 2 * plan.limit)),
            tail_cut=TAIL_CUTS.get(name),
        )
        for name in CHANNELS
        if name in names and _APPLIES.get(name, _always)(plan)
    )


def usual_names(plan: QueryPlan) -> tuple[str, ...]:
    """Which channels a question asks that does not say it: neighbours where it asks for turns;
    more may follow from its intent."""
    return (*USUAL_CHANNELS, *("neighbours",) * _about_turns(plan))


def names_in(plan: QueryPlan) -> tuple[str, ...]:
    """What the question names, each once."""
    return tuple(dict.fromkeys(term.text for term in plan.exact if term.kind in NAMING))


def session_of(plan: QueryPlan) -> str | None:
    """The one session that the scope or the filter names."""
    return plan.scope.session or _named(plan.where, "session")


def _named(where: Filter | None, field: str) -> str | None:
    match where:
        case Eq(name, value) if name == field:
            return str(value)
        case AllOf(parts):
            return next((found for part in parts if (found := _named(part, field))), None)
        case _:
            return None


def _always(_plan: QueryPlan) -> bool:
    return True


def _about_turns(plan: QueryPlan) -> bool:
    """Inside one conversation every turn is a candidate anyway."""
    turns = _named(plan.where, "kind") == "turn" or any(one.kind == "turn" for one in plan.kinds)
    return turns and not inside_one_conversation(plan.where)


_APPLIES: Mapping[str, Callable[[QueryPlan], bool]] = {
    "keyword": lambda plan: bool(plan.terms),
    "facts": lambda plan: bool(names_in(plan)),
    "time_range": lambda plan: any(time.placed for time in plan.times),
    "session": lambda plan: session_of(plan) is not None,
}
