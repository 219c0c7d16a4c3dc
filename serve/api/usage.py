"""/v1/usage: what became of the passages of an answer; what is known of a document's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from cluster.kill_points import reached
from cluster.stores.protocols import PassageUsage, UsageReport, Verdict
from serve.api.auth import Reader, TheService, Writer, scope_of
from serve.api.documented import problems
from serve.api.documents import known_form
from serve.api.schemas import Plain

router = APIRouter(tags=["usage"])
MAX_NAMED = 200
MAX_LISTED = 1000

ChunkId = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,64}$")]


class Correction(BaseModel):
    """What a reader says of a passage; a later verdict on it, in the same answer, replaces it."""

    model_config = ConfigDict(extra="forbid")

    chunk_id: ChunkId
    verdict: Literal["useful", "wrong", "outdated"]


class UsageBody(BaseModel):
    """Said again, it changes nothing."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "search_id": "srch_5kq2w7v6x4zd2c5b7a4eytm3k2",
                    "artifact": "handbook/chapter-3.md",
                    "used": ["chk_mzq3k2l3q5w7v6x4zd2c5b7a4e"],
                    "corrections": [
                        {"chunk_id": "chk_b7a4eytm3k2l3q5w7v6x4zd2c5", "verdict": "outdated"}
                    ],
                }
            ]
        },
    )

    search_id: Annotated[str, Field(pattern=r"^srch_[a-z0-9]{16,64}$")]
    artifact: Annotated[
        Plain, Field(max_length=160, description="What the passages went into; a name of yours.")
    ] = ""
    used: Annotated[
        list[ChunkId], Field(max_length=MAX_NAMED, description="`chunk_ids` of citations.")
    ] = []
    corrections: Annotated[list[Correction], Field(max_length=MAX_NAMED)] = []


class UsageAnswer(BaseModel):
    """`unknown` passages do not exist, or not for this key; nothing was kept of them."""

    search_id: str
    kept: list[str]
    unknown: list[str]


class PassageCounts(BaseModel):
    """`shown` in so many answers, `used` in so many of them, `unused` in the rest. `used_in`:
    the latest 20."""

    chunk_id: str
    shown: int
    used: int
    unused: int
    verdicts: Mapping[Verdict, int]
    used_in: tuple[str, ...]


class DocumentUsage(BaseModel):
    """The most shown passages; with `more` there are others, which were shown less."""

    document_id: str
    passages: list[PassageCounts]
    more: bool


@router.post(
    "/v1/usage",
    response_model=UsageAnswer,
    summary="Tell what became of an answer",
    responses=problems(400, 401, 403, 408, 413, 422, 503),
)
async def tell(body: UsageBody, key: Writer, service: TheService) -> UsageAnswer:
    """Which passages were used in what, and what is wrong with others. Citations tell it from
    then on (`used_in`)."""
    report = UsageReport(
        search_id=body.search_id,
        artifact=body.artifact.strip(),
        used=tuple(body.used),
        verdicts={each.chunk_id: each.verdict for each in body.corrections},
    )
    async with service.ledger.transaction() as tx:
        kept = await tx.usage.report(scope_of(key), report, now=service.clock.now())
    reached("usage.reported")
    named = dict.fromkeys([*report.used, *report.verdicts])
    return UsageAnswer(
        search_id=report.search_id,
        kept=[each for each in named if each in kept],
        unknown=[each for each in named if each not in kept],
    )


@router.get(
    "/v1/documents/{document_id}/usage",
    response_model=DocumentUsage,
    summary="How a document is used",
    responses=problems(401, 404, 503),
)
async def of_document(document_id: str, key: Reader, service: TheService) -> DocumentUsage:
    """Its passages that were ever shown or used, the 1,000 most shown first. Showing is counted a
    second later, and without a promise."""
    known_form(document_id, "document")
    scope = scope_of(key)
    async with service.ledger.transaction() as tx:
        await tx.documents.editions(scope, document_id)  # not there, or not for this key
        usages = await tx.usage.of_document(scope, document_id, limit=MAX_LISTED + 1)
    return DocumentUsage(
        document_id=document_id,
        passages=[_counts(each) for each in usages[:MAX_LISTED]],
        more=len(usages) > MAX_LISTED,
    )


def _counts(usage: PassageUsage) -> PassageCounts:
    return PassageCounts(
        chunk_id=usage.chunk_id,
        shown=usage.shown,
        used=usage.used,
        unused=usage.unused,
        verdicts=usage.verdicts,
        used_in=usage.used_in,
    )
