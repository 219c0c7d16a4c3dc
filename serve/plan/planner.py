"""A question becomes a plan: each rule looks at the plan so far and gives the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cluster.filters import fields_of
from cluster.text.languages import detect_language
from cluster.text.terms import query_terms
from rerank.reranker import USUAL_RERANK
from serve.plan.channels import planned, usual_names
from serve.plan.constraints import find_constraints, known_by, taken, unmet, without
from serve.plan.depth import deep_enough
from serve.plan.exact_terms import exact_terms, weighted
from serve.plan.filter_json import joined
from serve.plan.intent import channels_for, followed, intents_of
from serve.plan.kinds import with_kinds
from serve.plan.plan import MAX_TIMES, Editions, QueryPlan
from serve.plan.question import Known, Question
from serve.plan.suggestion import taken_up
from serve.plan.times import find_times, zone_named
from serve.plan.versions import EDITION_FIELDS, choose_editions, current_editions, edition_filter

__all__ = ["RULES", "Known", "Question", "Rule", "plan_question"]

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
        rerank=question.rerank or USUAL_RERANK,
        page=question.page,
    )
    for rule in RULES:
        plan = rule(plan, question, known)
    return plan


def read_language(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    return replace(plan, language=detect_language(plan.query))


def keep_to_moment(plan: QueryPlan, question: Question, _known: Known) -> QueryPlan:
    if question.as_of is None:
        return plan
    return replace(plan, where=joined(plan.where, known_by(question.as_of)))


def read_constraints(plan: QueryPlan, _question: Question, known: Known) -> QueryPlan:
    """What is demanded counts; what is merely mentioned only where something stored fits it."""
    found = find_constraints(plan.query, times=plan.times, now=plan.now)
    constraints = tuple(each for each in found if each.certain or each.where in known.fitting)
    filters = tuple(each.where for each in constraints if each.where is not None)
    notes = tuple(taken(each) if each in constraints else unmet(each) for each in found)
    return replace(
        plan,
        constraints=constraints,
        about=without(plan.query, constraints) if constraints else "",
        where=joined(plan.where, *filters),
        notes=(*plan.notes, *notes),
    )


def read_words(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    return replace(plan, terms=query_terms(plan.topic))


def find_exact_terms(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    exact = exact_terms(plan.topic)
    return replace(plan, exact=exact, terms=weighted(plan.terms, exact))


def read_times(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    """ "Now" is a moment that nothing stored lies in; words for what is new are another rule's."""
    found = find_times(plan.query, now=plan.now, zone=zone_named(plan.zone))
    times = tuple(each for each in found if not each.is_now)
    return replace(plan, times=times[:MAX_TIMES])


def pick_editions(plan: QueryPlan, question: Question, known: Known) -> QueryPlan:
    """Where nothing has editions everything is the newest, and the indexes need not look; the
    check with the ledger looks anyway."""
    editions, notes = choose_editions(
        plan.query, asked=question.version, where=question.where, known=known.editions
    )
    if editions.newest_only and fields_of(plan.where) & EDITION_FIELDS:
        editions = replace(editions, newest_only=False, collapse=True)
    if editions.newest_only:
        editions = replace(editions, current=current_editions(known.editions))
    chosen = edition_filter(editions) if known.editions else None
    where = joined(plan.where, chosen)
    return replace(plan, editions=editions, where=where, notes=(*plan.notes, *notes))


def pick_kinds(plan: QueryPlan, question: Question, _known: Known) -> QueryPlan:
    return with_kinds(plan, question)


def read_intent(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    return replace(plan, intents=intents_of(plan.topic))


def take_suggestion(plan: QueryPlan, _question: Question, known: Known) -> QueryPlan:
    plan = replace(plan, notes=(*plan.notes, *known.notes))
    if known.suggestion is None:
        return plan
    return taken_up(plan, known.suggestion, fitting=known.fitting)


def follow_intent(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    return followed(plan)


def pick_channels(plan: QueryPlan, question: Question, _known: Known) -> QueryPlan:
    """The terms' channel needs terms; a question of only punctuation has none."""
    names = question.channels or (*usual_names(plan), *channels_for(plan))
    notes = () if plan.terms else ("the question has no words to look up; meaning only",)
    return replace(
        plan,
        channels=planned(plan, names, fusion=plan.fusion),
        notes=(*plan.notes, *notes),
    )


def look_deep_enough(plan: QueryPlan, _question: Question, _known: Known) -> QueryPlan:
    return deep_enough(plan)


RULES: tuple[Rule, ...] = (
    read_language,
    read_times,
    keep_to_moment,
    read_constraints,
    read_words,
    find_exact_terms,
    read_intent,
    take_suggestion,
    pick_editions,
    pick_kinds,
    pick_channels,
    follow_intent,
    look_deep_enough,
)
