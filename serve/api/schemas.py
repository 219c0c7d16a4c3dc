"""The shapes of requests and answers over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from cluster.model import ChannelFailure, DocumentKind, ItemProblem
from cluster.stores.protocols import DocumentSummary
from rerank.budget import Spent
from rerank.citations import AlsoIn, Citation, CitedPassage, Shortened
from rerank.fusion import FusionMethod
from rerank.quoting import Quote
from rerank.reranker import LEAST, RerankerName
from rerank.roles import EvidenceRole
from rerank.selection import MAX_BUDGET, MIN_BUDGET, View
from rerank.views import Card, ClaimEvidence
from serve.context import ContextItem, LeftOut
from serve.plan.plan import MAX_PAGE

MAX_QUERY_CHARS = 8192
MAX_TOP_K = 100
MAX_CLAIMS = 8
MAX_CONSTRAINTS = 32
ChannelName = Literal[
    "semantic", "keyword", "facts", "time_range", "recent", "session", "neighbours"
]
BESIDE_A_PLAN = frozenset({"plan", "explain", "deadline_ms"})


def _question(text: str) -> str:
    if len(text) > MAX_QUERY_CHARS:
        raise ValueError(f"{len(text):,} characters; a question may have {MAX_QUERY_CHARS:,}")
    if not text.strip():
        raise ValueError("the question is blank; write one")
    return plain_text(text)


def plain_text(text: str) -> str:
    """What every store and every answer can hold."""
    if "\0" in text:
        raise ValueError("NUL is not allowed here; remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("half of a surrogate pair is no character; remove it") from error
    return text


Plain = Annotated[str, Field(max_length=1024), AfterValidator(plain_text)]


BudgetTokens = Annotated[
    int,
    Field(
        strict=True,
        ge=MIN_BUDGET,
        le=MAX_BUDGET,
        description="Tokens of the encoder for all texts; a part of them stays in reserve.",
    ),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchRequest(_Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"query": "How long are access tokens valid?", "top_k": 5},
                {
                    "query": "7.5 版本中自增列的缓存默认值是多少？",
                    "filter": {"product": "tidb", "language": "zh"},
                    "explain": True,
                },
            ]
        },
    )

    query: Annotated[
        Annotated[str, AfterValidator(_question)] | None,
        Field(description=f"The question, at most {MAX_QUERY_CHARS} characters."),
    ] = None
    plan: Annotated[
        dict[str, Any] | None,
        Field(description="In place of all but explain and deadline_ms: an answer's plan, again."),
    ] = None
    top_k: Annotated[int, Field(strict=True, ge=1, le=MAX_TOP_K)] = 10
    page: Annotated[
        int,
        Field(
            strict=True,
            ge=1,
            le=MAX_PAGE,
            description="Of `top_k` results each; none stands on two pages of one question.",
        ),
    ] = 1
    filter: Annotated[
        dict[str, Any] | None,
        Field(
            description='`{"product": "tidb"}`, lists mean any of, `{"gte": …, "lt": …}` ranges, '
            "`null` missing; `all_of`, `any_of`, `not` nest."
        ),
    ] = None
    version: Annotated[
        Plain | None, Field(description="The edition that must answer, such as 7.5.")
    ] = None
    as_of: Annotated[
        AwareDatetime | None,
        Field(description="Only what was there before that moment, by its edition of then."),
    ] = None
    channels: Annotated[
        list[ChannelName] | None,
        Field(
            min_length=1,
            max_length=7,
            description="Only these, as far as they have something to go by; default: as fits.",
        ),
    ] = None
    kinds: Annotated[
        list[DocumentKind] | None,
        Field(min_length=1, max_length=2, description="Only these; default: all."),
    ] = None
    budgets: Annotated[
        dict[DocumentKind, Annotated[int, Field(strict=True, ge=1, le=MAX_TOP_K)]] | None,
        Field(
            min_length=1,
            description="Passages of each kind, looked for apart, in the place of `top_k`: "
            '`{"document": 6, "turn": 4}`.',
        ),
    ] = None
    fusion: FusionMethod = "score"
    rerank: Annotated[
        RerankerName | None,
        Field(description="What scores the best candidates anew; `none`: nothing does."),
    ] = None
    min_relevance: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Below it, nothing is relevant and `results` is empty; 0: never.",
        ),
    ] = LEAST
    view: Annotated[
        View,
        Field(
            description="`researcher`: cards; `writer`: a context; `reviewer`: only the evidence "
            "of each claim."
        ),
    ] = "plain"
    budget_tokens: BudgetTokens | None = None
    claims: Annotated[
        list[Annotated[str, AfterValidator(_question)]] | None,
        Field(min_length=1, max_length=MAX_CLAIMS, description="Of a reviewer; else the query."),
    ] = None
    explain: Annotated[bool, Field(strict=True, description="Add the plan and rankings.")] = False
    deadline_ms: Annotated[
        int | None, Field(strict=True, ge=20, le=60_000, description="Time for the answer.")
    ] = None
    now: Annotated[
        AwareDatetime | None, Field(description="What counts as now; default: the clock.")
    ] = None
    timezone: Annotated[
        Plain,
        Field(
            description="In which times like yesterday are read; a name of the tz database.",
            examples=["Asia/Shanghai"],
        ),
    ] = "UTC"

    @model_validator(mode="after")
    def _question_or_plan(self) -> Self:
        if self.query is None and self.plan is None:
            raise ValueError("no question; write one as query, or send the plan of an answer")
        beside = sorted(self.model_fields_set - BESIDE_A_PLAN)
        if self.plan is not None and beside:
            raise ValueError(f"a plan says all; send no {beside[0]} beside it, or no plan")
        if self.budgets is not None and "top_k" in self.model_fields_set:
            raise ValueError("budgets say how many passages there are; send no top_k beside them")
        if self.page > 1 and (self.view != "plain" or self.budget_tokens or self.budgets):
            raise ValueError("pages are of plain results; send no view and no budget beside one")
        if self.claims is not None and self.view != "reviewer":
            raise ValueError("claims belong to the view reviewer; ask for it, or leave them out")
        return self


class Explanation(BaseModel):
    """`plan` is what was asked of whom; `rankings` chunk ids by channel, best first; `fused` and
    `ranked` those of all channels, before and after the reranker and bonuses."""

    plan: dict[str, Any]
    rankings: Mapping[str, tuple[str, ...]]
    fused: tuple[str, ...]
    ranked: tuple[str, ...]


class ContextReference(BaseModel):
    """What `[number]` in the context stands for; `line` is its line there."""

    number: int
    line: str
    citation: Citation
    quote: Quote
    role: EvidenceRole
    also_in: tuple[AlsoIn, ...]
    shortened: Shortened | None


class ContextText(BaseModel):
    """`text` has `tokens` of the encoder `counted_by`, at most `room_tokens`: the budget without
    its reserve. `items` are its lines, what binds first; `left_out` found no room."""

    text: str
    language: Literal["en", "zh"]
    tokens: int
    room_tokens: int
    budget_tokens: int
    counted_by: str
    items: tuple[ContextItem, ...]
    references: tuple[ContextReference, ...]
    left_out: tuple[LeftOut, ...]


class SearchAnswer(BaseModel):
    """`failures` names channels that gave nothing; then the answer is partial. `generation` is
    the fingerprint of the encoder whose vectors were searched, `search_id` what reports of usage
    name. `relevant` is false when nothing that is stored is about the question, then `results`
    is empty; null where that cannot be told, as `relevance` is (0 to 1, 0.5 at the calibrated
    threshold). `reranker` made the order; where it is empty the fusion did. `spent` is there
    where a budget or a view chose; `cards`, `context` or `evidence` stand in the place of
    `results` where a view asks for them."""

    query: str
    language: str
    results: tuple[CitedPassage, ...]
    notes: tuple[str, ...]
    failures: tuple[ChannelFailure, ...]
    timings_ms: Mapping[str, float]
    request_id: str
    search_id: str
    generation: str
    relevant: bool | None
    relevance: float | None
    reranker: str
    spent: Spent | None = None
    cards: tuple[Card, ...] | None = None
    context: ContextText | None = None
    evidence: tuple[ClaimEvidence, ...] | None = None
    explanation: Explanation | None = None


class DocumentPage(BaseModel):
    """Give `next_cursor` as `cursor` to get on; `null` at the end."""

    documents: list[DocumentSummary]
    next_cursor: str | None


class DocumentDetail(BaseModel):
    """All visible editions, newest first; `text` of one revision when asked for."""

    document_id: str
    editions: list[DocumentSummary]
    revision_id: str | None = None
    text: str | None = None


class PassageText(BaseModel):
    text: str
    citation: Citation


class PassageDetail(BaseModel):
    """A chunk with those around it, in reading order."""

    passage: PassageText
    before: list[PassageText]
    after: list[PassageText]


class TextUpload(_Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "notes/tokens.md",
                    "text": "# Tokens\n\nAccess tokens are valid for 30 minutes.",
                    "product": "harbour",
                    "version": "2.0",
                }
            ]
        },
    )

    text: Annotated[str, Field(min_length=1), AfterValidator(plain_text)]
    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1024,
            description="Path of the document; the same name replaces.",
        ),
        AfterValidator(plain_text),
    ]
    source: Annotated[Plain | None, Field(description="Where it belongs; a name in it.")] = None
    media_type: Plain | None = None
    title: Plain | None = None
    author: Plain | None = None
    language: Plain | None = None
    source_type: Plain | None = None
    source_url: Plain | None = None
    product: Plain | None = None
    version: Plain | None = None
    published_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None
    license: Plain | None = None
    tags: Annotated[list[Plain], Field(max_length=100)] = []
    derived_from: Annotated[
        list[Plain],
        Field(
            max_length=100,
            description="Document ids or origins that it was made of; when all of them are "
            "forgotten, so is this.",
        ),
    ] = []


class RunView(BaseModel):
    """One ingest run; `counts` per stage, `problems` names what was skipped or failed."""

    run_id: str
    state: Literal["queued", "running", "succeeded", "failed", "interrupted"]
    started_at: datetime
    finished_at: datetime | None
    counts: Mapping[str, int]
    arguments: Mapping[str, str]
    error: str | None
    problems: list[ItemProblem] = []


class RunList(BaseModel):
    runs: list[RunView]


class PartState(BaseModel):
    ok: bool
    detail: str
    took_ms: float


class Readiness(BaseModel):
    ready: bool
    parts: Mapping[str, PartState]


class Alive(BaseModel):
    status: Literal["ok"] = "ok"


class Problem(BaseModel):
    """RFC 9457, `application/problem+json`."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[dict[str, str]] | None = None


class ForgetRequest(_Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"kind": "document", "value": "doc_ytm3k2l3q5w7v6x4zd2c5b7a4e", "dry_run": True},
                {"kind": "owner", "value": "ann"},
            ]
        },
    )

    kind: Annotated[
        Literal["item", "document", "source", "owner", "session", "conversation"],
        Field(
            description="An `item` is named by document id, origin or passage id, and its place "
            "stays open for other content; all others close the places, too."
        ),
    ]
    value: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(plain_text)]
    dry_run: Annotated[
        bool, Field(strict=True, description="Say what would go; change nothing.")
    ] = False


class ForgetPreview(BaseModel):
    """What would go. `derived` are made of nothing else and go with it, `needs_recompute` stay
    on other support; `shown` names the first documents. `of_others` documents were made of what
    would go, are not this owner's, and stay."""

    documents: int
    derived: list[str]
    needs_recompute: list[str]
    of_others: int
    revisions: int
    chunks: int
    tombstones: int
    shown: list[str]


class ForgetJobView(BaseModel):
    """`counts` are rows by table as they were; the receipt exists once `state` is finished."""

    job_id: str
    receipt_id: str
    kind: str
    state: Literal["draining", "scanning", "finished"]
    counts: Mapping[str, int]
    waits_for: str
    asked_at: datetime
    finished_at: datetime | None
    lifted_at: datetime | None


class ForgetAnswer(BaseModel):
    """A `preview` for a dry run, else the `job`."""

    job: ForgetJobView | None = None
    preview: ForgetPreview | None = None


class Lifted(BaseModel):
    receipt_id: str
    tombstones: int


class SignedReceipt(BaseModel):
    """What is signed (Ed25519) is the canonical JSON of `schema`, `key_id` and `digests`; each
    digest is the SHA-256 of the part of its name. There is no content and no name in it."""

    format: Annotated[str, Field(alias="schema")]
    key_id: str
    signature: str
    digests: Mapping[str, str]
    subject: Mapping[str, Any]
    counts: Mapping[str, Any]
    search: Mapping[str, Any]
    stays: Mapping[str, Any]


class ReceiptKey(BaseModel):
    """`public_key`: 32 bytes of Ed25519 in hex."""

    key_id: str
    algorithm: str = "Ed25519"
    public_key: str
    pem: str


class ContextRequest(_Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "query": "How often is a failed job retried?",
                    "budget_tokens": 1500,
                    "constraints": ["Answer in two sentences."],
                    "filter": {"product": "tidepool"},
                }
            ]
        },
    )

    query: Annotated[str, AfterValidator(_question)]
    budget_tokens: BudgetTokens | None = None
    constraints: Annotated[
        list[Annotated[str, AfterValidator(_question)]],
        Field(max_length=MAX_CONSTRAINTS, description="What must be kept to; they come first."),
    ] = []
    session: Annotated[
        Plain | None, Field(description="Whose last turns are facts of this session.")
    ] = None
    top_k: Annotated[int, Field(strict=True, ge=1, le=MAX_TOP_K)] = 20
    filter: Annotated[dict[str, Any] | None, Field(description="As of a search.")] = None
    version: Annotated[Plain | None, Field(description="As of a search.")] = None
    explain: Annotated[bool, Field(strict=True, description="Add the plan and rankings.")] = False
    deadline_ms: Annotated[
        int | None, Field(strict=True, ge=20, le=60_000, description="Time for the answer.")
    ] = None
    now: Annotated[
        AwareDatetime | None, Field(description="What counts as now; default: the clock.")
    ] = None
    timezone: Annotated[
        Plain,
        Field(
            description="In which times like yesterday are read; a name of the tz database.",
            examples=["Asia/Shanghai"],
        ),
    ] = "UTC"


class ContextAnswer(BaseModel):
    """`failures` names what gave nothing; then the context is partial."""

    query: str
    language: str
    context: ContextText
    notes: tuple[str, ...]
    failures: tuple[ChannelFailure, ...]
    timings_ms: Mapping[str, float]
    request_id: str
    search_id: str
    generation: str
    explanation: Explanation | None = None
