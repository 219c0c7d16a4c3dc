"""The same search for four readers: plain results, cards, a context, the evidence of claims."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cluster.text.languages import detect_language
from cluster.text.terms import query_terms
from rerank.views import Card, ClaimEvidence, card_of, evidence_for
from serve.contexts import Context, context_for
from serve.plan.plan import QueryPlan
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service
from serve.tasks import ended_with


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """`found` is the search; beside it what its view asks for. Of several claims each was
    searched; `found` is the first one's."""

    found: Retrieved
    cards: tuple[Card, ...] | None = None
    context: Context | None = None
    evidence: tuple[ClaimEvidence, ...] | None = None


async def view(
    service: Service,
    question: Question | QueryPlan,
    *,
    claims: Sequence[str] = (),
    passed_s: float = 0.0,
) -> Viewed:
    """`claims` are a reviewer's; without any, the question is the claim."""
    wanted = question.selection.view
    if wanted == "writer":
        context = await context_for(service, question, passed_s=passed_s)
        return Viewed(found=context.found, context=context)
    if wanted == "reviewer":
        return await _reviewed(service, question, claims=claims, passed_s=passed_s)
    found = await service.search(question, passed_s=passed_s)
    if wanted == "researcher":
        cards = tuple(card_of(passage, found.plan.terms) for passage in found.passages)
        return Viewed(found=found, cards=cards)
    return Viewed(found=found)


async def _reviewed(
    service: Service, question: Question | QueryPlan, *, claims: Sequence[str], passed_s: float
) -> Viewed:
    asked = [_about(question, claim) for claim in claims] or [question]
    searches = [asyncio.create_task(service.search(one, passed_s=passed_s)) for one in asked]
    async with ended_with(*searches):
        answers = await asyncio.gather(*searches)
    evidence = tuple(_evidence(answer) for answer in answers)
    return Viewed(found=_together(answers), evidence=evidence)


def _about(question: Question | QueryPlan, claim: str) -> Question | QueryPlan:
    """The same question, with a claim in its place."""
    if isinstance(question, Question):
        return replace(question, text=claim)
    return replace(question, query=claim, language=detect_language(claim), terms=query_terms(claim))


def _evidence(found: Retrieved) -> ClaimEvidence:
    plan = found.plan
    return evidence_for(plan.query, found.passages, terms=plan.terms, language=plan.language)


def _together(answers: Sequence[Retrieved]) -> Retrieved:
    """The first answer, with what all of them have to say."""
    failures = dict.fromkeys(failure for answer in answers for failure in answer.failures)
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    return replace(answers[0], failures=tuple(failures), notes=tuple(notes))
