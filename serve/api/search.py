"""POST /v1/search: a question, answered with cited passages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from cluster.errors import InvalidRequest
from cluster.filters import parse_filter
from cluster.model import Scope
from rerank.kinds import KindBudget
from serve.api.auth import Reader, TheService, scope_of
from serve.api.documented import problems
from serve.api.problems import passed_s, request_id_of
from serve.api.schemas import (
    ContextReference,
    ContextText,
    Explanation,
    SearchAnswer,
    SearchRequest,
)
from serve.contexts import Context
from serve.plan.as_json import plan_from_json, plan_json
from serve.plan.plan import QueryPlan
from serve.plan.planner import Question
from serve.plan.times import zone_named
from serve.retrieve import Retrieved
from serve.selecting import limit_of, selection_of
from serve.service import Service
from serve.viewing import Viewed, view

router = APIRouter(tags=["search"])
ONLY_SOMETIMES = ("spent", "cards", "context", "evidence", "explanation")
MARGIN = 0.9
"""Answer a little before Ray's proxy, which reads the same header, gives up."""


@router.post(
    "/v1/search",
    response_model=SearchAnswer,
    summary="Ask a question",
    responses=problems(400, 401, 408, 413, 422, 503, 504),
)
async def search(
    request: Request, body: SearchRequest, key: Reader, service: TheService
) -> Response:
    """Passages that answer the question, each with the exact place it comes from, its
    version and date, whether it may be quoted, and why it was found."""
    question = _asked(request, body, scope=scope_of(key), service=service)
    viewed = await view(
        service, question, claims=tuple(body.claims or ()), passed_s=passed_s(request)
    )
    answer = answer_of(viewed, request_id=request_id_of(request), explain=body.explain)
    absent = {name for name in ONLY_SOMETIMES if getattr(answer, name) is None}
    return Response(answer.model_dump_json(exclude=absent), media_type="application/json")


def answer_of(viewed: Viewed, *, request_id: str, explain: bool) -> SearchAnswer:
    found, context = viewed.found, viewed.context
    plain = viewed.cards is None and viewed.evidence is None and context is None
    return SearchAnswer(
        query=found.plan.query,
        language=found.plan.language,
        results=found.passages if plain else (),
        notes=found.notes,
        failures=context.failures if context else found.failures,
        timings_ms=found.timings_ms,
        request_id=request_id,
        search_id=found.search_id,
        generation=found.generation,
        relevant=found.relevant,
        relevance=found.relevance.value if found.relevance else None,
        reranker=found.reranker,
        spent=found.spent,
        cards=viewed.cards,
        context=context_text(context) if context else None,
        evidence=viewed.evidence,
        explanation=explanation_of(found) if explain else None,
    )


def explanation_of(found: Retrieved) -> Explanation:
    return Explanation(
        plan=plan_json(found.plan),
        rankings=found.rankings,
        fused=found.fused,
        ranked=found.ranked,
    )


def context_text(context: Context) -> ContextText:
    made = context.assembled
    return ContextText(
        text=made.text,
        language=made.language,
        tokens=context.tokens,
        room_tokens=context.room_tokens,
        budget_tokens=context.budget_tokens,
        counted_by=context.counted_by,
        items=made.items,
        references=tuple(
            ContextReference(
                number=each.number,
                line=each.line,
                citation=each.passage.citation,
                quote=each.passage.quote,
                role=each.passage.role,
                also_in=each.passage.also_in,
                shortened=each.passage.shortened,
            )
            for each in made.references
        ),
        left_out=made.left_out,
    )


def _asked(
    request: Request, body: SearchRequest, *, scope: Scope, service: Service
) -> Question | QueryPlan:
    """The scope comes from the key, also that of a plan."""
    most = service.settings.serve.deadline_s
    if body.plan is not None:
        plan = plan_from_json(body.plan, scope=scope)
        return replace(
            plan, deadline_s=deadline_of(request, body.deadline_ms, most=plan.deadline_s)
        )
    return Question(
        text=(body.query or "").strip(),
        scope=scope,
        limit=limit_of(body.view, body.top_k if "top_k" in body.model_fields_set else None),
        now=in_utc(body.now or service.clock.now()),
        page=body.page,
        zone=zone_named(body.timezone).key,
        deadline_s=deadline_of(request, body.deadline_ms, most=most),
        where=parse_filter(body.filter) if body.filter is not None else None,
        as_of=in_utc(body.as_of, "as_of") if body.as_of else None,
        version=version_of(body.version),
        channels=tuple(body.channels or ()),
        kinds=tuple(body.kinds or ()),
        budgets=tuple(
            KindBudget(kind=kind, limit=limit) for kind, limit in (body.budgets or {}).items()
        ),
        fusion=body.fusion,
        rerank=replace(service.rerank_plan(body.rerank), min_relevance=body.min_relevance),
        selection=selection_of(
            body.view, budget_tokens=body.budget_tokens, settings=service.settings.selection
        ),
    )


def in_utc(moment: datetime, name: str = "now") -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidRequest(f"{name}: before the year 1 or after 9999 in UTC") from error


def version_of(text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise InvalidRequest("version: blank; name one such as 7.5, or leave it out")
    return text.strip() if text is not None else None


def deadline_of(request: Request, deadline_ms: int | None, *, most: float) -> float:
    asked_s = deadline_ms / 1000 if deadline_ms is not None else most
    header = request.headers.get("x-request-timeout-seconds")
    if header is None:
        return asked_s
    try:
        header_s = float(header)
    except ValueError:
        header_s = -1.0
    if not 0 < header_s < float("inf"):
        raise InvalidRequest("x-request-timeout-seconds must be a number above 0, such as 1.5")
    return min(asked_s, header_s * MARGIN)
