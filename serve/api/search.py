"""POST /v1/search: a question, answered with cited passages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from cluster.errors import InvalidRequest
from cluster.filters import parse_filter
from cluster.model import Scope
from serve.api.auth import Reader, TheService, scope_of
from serve.api.documented import problems
from serve.api.problems import passed_s, request_id_of
from serve.api.schemas import Explanation, SearchAnswer, SearchRequest
from serve.plan.as_json import plan_from_json, plan_json
from serve.plan.plan import QueryPlan
from serve.plan.planner import Question
from serve.plan.times import zone_named
from serve.retrieve import Retrieved
from serve.service import Service

router = APIRouter(tags=["search"])
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
    found = await service.search(question, passed_s=passed_s(request))
    answer = answer_of(found, request_id=request_id_of(request), explain=body.explain)
    text = answer.model_dump_json(exclude={"explanation"} if not body.explain else None)
    return Response(text, media_type="application/json")


def answer_of(found: Retrieved, *, request_id: str, explain: bool) -> SearchAnswer:
    explanation = Explanation(
        plan=plan_json(found.plan), rankings=found.rankings, fused=found.fused
    )
    return SearchAnswer(
        query=found.plan.query,
        language=found.plan.language,
        results=found.passages,
        notes=found.notes,
        failures=found.failures,
        timings_ms=found.timings_ms,
        request_id=request_id,
        generation=found.generation,
        explanation=explanation if explain else None,
    )


def _asked(
    request: Request, body: SearchRequest, *, scope: Scope, service: Service
) -> Question | QueryPlan:
    """The scope comes from the key, also that of a plan."""
    most = service.settings.serve.deadline_s
    if body.plan is not None:
        plan = plan_from_json(body.plan, scope=scope)
        return replace(plan, deadline_s=_deadline_s(request, body, most=plan.deadline_s))
    return Question(
        text=(body.query or "").strip(),
        scope=scope,
        limit=body.top_k,
        now=_in_utc(body.now or service.clock.now()),
        zone=zone_named(body.timezone).key,
        deadline_s=_deadline_s(request, body, most=most),
        where=parse_filter(body.filter) if body.filter is not None else None,
        version=_version(body.version),
        channels=tuple(body.channels or ()),
        fusion=body.fusion,
    )


def _in_utc(now: datetime) -> datetime:
    try:
        return now.astimezone(UTC)
    except OverflowError as error:
        raise InvalidRequest("now: before the year 1 or after 9999 in UTC") from error


def _version(text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise InvalidRequest("version: blank; name one such as 7.5, or leave it out")
    return text.strip() if text is not None else None


def _deadline_s(request: Request, body: SearchRequest, *, most: float) -> float:
    asked_s = body.deadline_ms / 1000 if body.deadline_ms is not None else most
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
