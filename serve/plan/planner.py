"""A question becomes a plan: each rule looks at the plan so far and gives the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import regex

from cluster.filters import AllOf, Filter
from cluster.model import Scope
from cluster.text.languages import detect_language
from cluster.text.terms import query_terms
from rerank.fusion import FusionMethod
from rerank.selection import USUAL_SELECTION, SelectionPlan
from serve.plan.exact_terms import exact_terms, weighted
from serve.plan.plan import MAX_TIMES, ChannelPlan, Editions, QueryPlan
from serve.plan.times import find_times, zone_named
from serve.plan.versions import KnownEdition, choose_editions, edition_filter

CHANNELS = ("semantic", "keyword", "recent")
USUAL_CHANNELS = ("semantic", "keyword")
CANDIDATES = 50
RECENT_CANDIDATES = 20

SCORE_WEIGHTS = {"semantic": 1.0, "keyword": 0.5, "recent": 0.25}
RANK_WEIGHTS = {"semantic": 1.0, "keyword": 0.85, "recent": 0.3}
TAIL_CUTS = {"keyword": 0.7}

_RECENT = regex.compile(
    r"\b(?:latest|newest|most recent|recent(?:ly)?|lately|what'?s new|just (?:now|said|released))\b"
    r"|最近|最新|近期|近来|近日|刚才|刚刚|新近",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a caller may say. `channels` empty: the planner chooses. Times in the text are read
    from `now` in `zone`, a name of the tz database."""

    text: str
    scope: Scope
    limit: int
    now: datetime
    deadline_s: float
    where: Filter | None = None
    version: str | None = None
    channels: tuple[str, ...] = ()
    fusion: FusionMethod = "score"
    zone: str = "UTC"
    selection: SelectionPlan = USUAL_SELECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the rules may know of the stored data."""

    editions: Sequence[KnownEdition] = ()


Rule = Callable[[QueryPlan, Question, Known], QueryPlan]


def plan_question(question: Question, *, known: Known) -> QueryPlan:
    plan = QueryPlan(
        query=question.text,
        scope=question.scope,
        language="und",
        terms=(),
        where=question.where,
        editions=Editions(),
        channels=(),
        fusion=question.fusion,
        limit=question.limit,
        deadline_s=question.deadline_s,
        now=question.now,
        zone=question.zone,
        selection=question.selection,
    )
    for rule in RULES:
        plan = rule(plan, question, known)
    return plan


def read_words(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    return replace(plan, language=detect_language(plan.query), terms=query_terms(plan.query))


def find_exact_terms(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    exact = exact_terms(plan.query)
    return replace(plan, exact=exact, terms=weighted(plan.terms, exact))


def read_times(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    times = find_times(plan.query, now=plan.now, zone=zone_named(plan.zone))
    return replace(plan, times=times[:MAX_TIMES])


def pick_editions(plan: QueryPlan, question: Question, known: Known) -> QueryPlan:
    """Where nothing has editions everything is the newest, and the indexes need not look; the
    check with the ledger looks anyway."""
    editions, notes = choose_editions(
        plan.query, asked=question.version, where=question.where, known=known.editions
    )
    chosen = edition_filter(editions) if known.editions else None
    parts = [part for part in (plan.where, chosen) if part is not None]
    where = AllOf(tuple(parts)) if len(parts) > 1 else (parts[0] if parts else None)
    return replace(plan, editions=editions, where=where, notes=(*plan.notes, *notes))


def pick_channels(plan: QueryPlan, question: Question, _known: Known) -> QueryPlan:
    """The terms' channel needs terms; a question of only punctuation has none."""
    names = question.channels or (
        (*USUAL_CHANNELS, "recent") if _RECENT.search(plan.query) else USUAL_CHANNELS
    )
    weights = SCORE_WEIGHTS if plan.fusion == "score" else RANK_WEIGHTS
    chosen = tuple(
        ChannelPlan(
            name=name,
            weight=weights[name],
            limit=RECENT_CANDIDATES if name == "recent" else max(CANDIDATES, 2 * plan.limit),
            tail_cut=TAIL_CUTS.get(name),
        )
        for name in CHANNELS
        if name in names and (name != "keyword" or plan.terms)
    )
    notes = () if plan.terms else ("the question has no words to look up; meaning only",)
    return replace(plan, channels=chosen, notes=(*plan.notes, *notes))


RULES: tuple[Rule, ...] = (read_words, find_exact_terms, read_times, pick_editions, pick_channels)
