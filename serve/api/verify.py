"""POST /v1/verify: do the sources bear these claims out?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from cluster.errors import InvalidRequest
from cluster.filters import parse_filter
from serve.api.auth import Reader, TheService, scope_of
from serve.api.documented import problems
from serve.api.problems import passed_s, request_id_of
from serve.api.schemas import MAX_QUERY_CHARS, Plain, plain_text
from serve.api.search import deadline_of, in_utc, version_of
from serve.claims.splitting import claims_in
from serve.verify import Asking, Checked, ToCheck, verify

router = APIRouter(tags=["search"])

MAX_CLAIMS = 50
MAX_CLAIM_CHARS = 2048
DEADLINE_S = 10.0
"""Many searches: more than one question may take."""


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("blank; write what is claimed")
    return plain_text(text)


Said = Annotated[str, Field(max_length=MAX_CLAIM_CHARS), AfterValidator(_said)]


class ClaimBody(BaseModel):
    """`version`: the edition that the claim is about, unless it says so itself. `quote`: words
    that are said to stand in the source."""

    model_config = ConfigDict(extra="forbid")

    text: Said
    version: Plain | None = None
    quote: Said | None = None


class VerifyRequest(BaseModel):
    """Either `claims` or a `text` that is split into its sentences."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"claims": ["In tidepool 2.0 a failed job is retried 5 times."]},
                {
                    "claims": [
                        {
                            "text": "The `retry_limit` defaults to 5.",
                            "version": "2.0",
                            "quote": "A failed job is retried five times",
                        }
                    ],
                    "filter": {"product": "tidepool"},
                },
                {"text": "The port is 8730. 任务默认重试 5 次。"},
            ]
        },
    )

    claims: Annotated[list[Said | ClaimBody] | None, Field(min_length=1, max_length=MAX_CLAIMS)] = (
        None
    )
    text: Annotated[str | None, Field(max_length=4 * MAX_QUERY_CHARS)] = None
    version: Annotated[
        Plain | None, Field(description="What claims without a version are about.")
    ] = None
    filter: Annotated[
        dict[str, Any] | None, Field(description="Only these sources; as in a search.")
    ] = None
    deadline_ms: Annotated[
        int | None, Field(strict=True, ge=20, le=60_000, description="Time for all claims.")
    ] = None
    now: Annotated[
        AwareDatetime | None, Field(description="What counts as now; default: the clock.")
    ] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> VerifyRequest:
        if (self.claims is None) == (self.text is None):
            raise ValueError("give either claims or a text")
        return self


class VerifyAnswer(BaseModel):
    """One result for each claim, in order; `counts` by verdict. `unchecked`: there was no time,
    no store answered, or what had to be searched gave nothing; then the answer is partial."""

    results: tuple[Checked, ...]
    counts: Mapping[str, int]
    request_id: str


@router.post(
    "/v1/verify",
    response_model=VerifyAnswer,
    summary="Check claims",
    responses=problems(400, 401, 408, 413, 422, 503, 504),
)
async def check(
    request: Request, body: VerifyRequest, key: Reader, service: TheService
) -> Response:
    """For each claim: supported, contradicted or not found; by a primary source or second hand;
    of the newest version or outdated; whether a quote stands there and may be quoted; and the
    evidence. Figures, versions, dates and denials are compared as what they mean."""
    asking = Asking(
        scope=scope_of(key),
        now=in_utc(body.now or service.clock.now()),
        deadline_s=deadline_of(request, body.deadline_ms, most=DEADLINE_S),
        where=parse_filter(body.filter) if body.filter is not None else None,
    )
    results = await verify(service, _claims(body), asking, passed_s=passed_s(request))
    answer = VerifyAnswer(
        results=results,
        counts=Counter(each.verdict for each in results),
        request_id=request_id_of(request),
    )
    return Response(answer.model_dump_json(), media_type="application/json")


def _claims(body: VerifyRequest) -> list[ToCheck]:
    version = version_of(body.version)
    if body.claims is None:
        found = claims_in(plain_text(body.text or ""))
        if not found:
            raise InvalidRequest("text: no sentence in it states anything; write one")
        if len(found) > MAX_CLAIMS:
            raise InvalidRequest(f"text: {len(found)} claims in it; at most {MAX_CLAIMS} at once")
        return [ToCheck(text=each, version=version) for each in found]
    return [
        ToCheck(text=each.strip(), version=version)
        if isinstance(each, str)
        else ToCheck(
            text=each.text.strip(), version=version_of(each.version) or version, quote=each.quote
        )
        for each in body.claims
    ]
