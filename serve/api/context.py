"""POST /v1/context: a question, answered with one text that fits a model's window."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from cluster.filters import parse_filter
from serve.api.auth import Reader, TheService, scope_of
from serve.api.documented import problems
from serve.api.problems import passed_s, request_id_of
from serve.api.schemas import ContextAnswer, ContextRequest
from serve.api.search import context_text, deadline_of, explanation_of, in_utc, version_of
from serve.contexts import context_for
from serve.plan.planner import Question
from serve.plan.times import zone_named
from serve.selecting import selection_of

router = APIRouter(tags=["search"])


@router.post(
    "/v1/context",
    response_model=ContextAnswer,
    summary="Assemble a context",
    responses=problems(400, 401, 408, 413, 422, 503, 504),
)
async def context(
    request: Request, body: ContextRequest, key: Reader, service: TheService
) -> Response:
    """What must be followed, what was said in this session, who asks, then evidence and clues,
    each labelled, with numbered references; never more tokens than the budget leaves."""
    settings = service.settings
    question = Question(
        text=body.query.strip(),
        scope=scope_of(key),
        limit=body.top_k,
        now=in_utc(body.now or service.clock.now()),
        zone=zone_named(body.timezone).key,
        deadline_s=deadline_of(request, body.deadline_ms, most=settings.serve.deadline_s),
        where=parse_filter(body.filter) if body.filter is not None else None,
        version=version_of(body.version),
        selection=selection_of(
            "writer", budget_tokens=body.budget_tokens, settings=settings.selection
        ),
    )
    made = await context_for(
        service,
        question,
        constraints=[text.strip() for text in body.constraints],
        session=body.session,
        passed_s=passed_s(request),
    )
    answer = ContextAnswer(
        query=made.found.plan.query,
        language=made.found.plan.language,
        context=context_text(made),
        notes=made.found.notes,
        failures=made.failures,
        timings_ms=made.found.timings_ms,
        request_id=request_id_of(request),
        search_id=made.found.search_id,
        generation=made.found.generation,
        explanation=explanation_of(made.found) if body.explain else None,
    )
    text = answer.model_dump_json(exclude=None if body.explain else {"explanation"})
    return Response(text, media_type="application/json")
