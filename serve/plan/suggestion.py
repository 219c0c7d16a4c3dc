"""What somebody outside may suggest for a plan, and how far that goes.

A suggestion can do what the rules can and no more: other words to look for, terms that stand in
the question, kinds of answers, filters that narrow. It says nothing of scopes, channels, limits
or deadlines, a filter counts only where something visible fits it, and the question's own words
always stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from cluster.errors import InvalidFilter, InvalidRequest
from cluster.filters import Filter, fields_of, parse_filter
from cluster.text.terms import MAX_QUERY_TERMS, QueryTerm, query_terms
from rerank.verbatim import MAX_EXACT, ExactTerm
from serve.plan.exact_terms import BONUSES, weighted
from serve.plan.filter_json import filter_json, joined
from serve.plan.plan import Intent, QueryPlan

SUGGESTED_WEIGHT = 0.3
"""Of a term that is not the question's own, next to 1 for one that is."""

NARROWING = frozenset(
    {"source_type", "language", "author", "tags", "product", "published_at", "updated_at"}
    | {"said_at", "speaker", "kind"}
)
"""The fields that a suggested filter may look at."""

MAX_TOLD_CHARS = 500
"""Of a filter, in a note."""

Phrase = Annotated[str, Field(min_length=1, max_length=120)]


@with_config(ConfigDict(extra="forbid", strict=True))
@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """`rewrite` says the question in other words (or another language); `terms` are words to
    look up beside it; `exact` pieces of the question that are meant as they are written;
    `filter` in the form of `cluster.filters.parse_filter`."""

    rewrite: Annotated[str, Field(max_length=500)] | None = None
    terms: Annotated[tuple[Phrase, ...], Field(max_length=12)] = ()
    exact: Annotated[tuple[Phrase, ...], Field(max_length=8)] = ()
    intents: Annotated[tuple[Intent, ...], Field(max_length=4)] = ()
    filter: dict[str, Any] | None = None

    @property
    def where(self) -> Filter | None:
        return parse_filter(self.filter) if self.filter else None


_SUGGESTION: TypeAdapter[Suggestion] = TypeAdapter(Suggestion)


def suggestion_schema() -> dict[str, Any]:
    """The JSON schema of what may be suggested."""
    return _SUGGESTION.json_schema()


def read_suggestion(text: str) -> Suggestion:
    """Raises `InvalidRequest` (`InvalidFilter` for its filter) when it is anything else."""
    try:
        suggestion = _SUGGESTION.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the answer"
        raise InvalidRequest(f"{place}: {first['msg']}") from error
    beyond = fields_of(suggestion.where) - NARROWING
    if beyond:
        raise InvalidFilter(f"a suggested filter may not look at {min(beyond)!r}")
    return suggestion


def taken_up(plan: QueryPlan, suggestion: Suggestion, *, fitting: frozenset[Filter]) -> QueryPlan:
    """The plan with what the suggestion adds to it."""
    exact = _with_exact(plan, suggestion)
    return replace(
        plan,
        exact=exact,
        intents=_with_intents(plan, suggestion),
        terms=weighted(_with_terms(plan, suggestion), exact[len(plan.exact) :]),
        **_narrowed(plan, suggestion, fitting),
    )


def _with_exact(plan: QueryPlan, suggestion: Suggestion) -> tuple[ExactTerm, ...]:
    """Only what stands in the question."""
    question = plan.topic.casefold()
    known = {term.text.casefold() for term in plan.exact}
    more = [
        ExactTerm(text=text, kind="quoted", bonus=BONUSES["quoted"])
        for text in dict.fromkeys(suggestion.exact)
        if text.casefold() in question and text.casefold() not in known
    ]
    return (*plan.exact, *more)[:MAX_EXACT]


def _with_intents(plan: QueryPlan, suggestion: Suggestion) -> tuple[Intent, ...]:
    """What the rules saw goes first; that they saw nothing is no sight."""
    seen = tuple(each for each in plan.intents if each != "fact")
    return tuple(dict.fromkeys((*seen, *suggestion.intents))) or ("fact",)


def _with_terms(plan: QueryPlan, suggestion: Suggestion) -> tuple[QueryTerm, ...]:
    known = {term.term for term in plan.terms}
    words = " ".join(part for part in (suggestion.rewrite, *suggestion.terms) if part)
    more = [
        replace(term, weight=term.weight * SUGGESTED_WEIGHT)
        for term in query_terms(words)
        if term.term not in known
    ]
    return (*plan.terms, *more)[:MAX_QUERY_TERMS]


def _narrowed(
    plan: QueryPlan, suggestion: Suggestion, fitting: frozenset[Filter]
) -> Mapping[str, Any]:
    where = suggestion.where
    if where is None:
        return {}
    told = str(filter_json(where))
    told = told if len(told) <= MAX_TOLD_CHARS else f"{told[:MAX_TOLD_CHARS]}…"
    if where not in fitting:
        note = f"suggested filter {told} left out: nothing here fits it"
        return {"notes": (*plan.notes, note)}
    note = f"narrowed by a suggested filter: {told}"
    return {"where": joined(plan.where, where), "notes": (*plan.notes, note)}
