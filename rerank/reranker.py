"""The seam of the second look: a pool of fused candidates is scored anew, slower and better.

A reranker has a scale of its own. Scores of different scales meet nowhere: the order is made of
one reranker's scores, and a threshold belongs to one scale (`rerank.relevance`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

from pydantic import Field

from cluster.model import Scope, StoredPassage
from cluster.text.terms import QueryTerm

Scale = Literal["z", "logit"]
"""`z`: standard deviations within the pool, so that nothing follows from a value alone; `logit`:
a cross-encoder's own, comparable between questions."""

RerankerName = Literal["late_interaction", "rules", "cross_encoder", "none"]

WIDE_POOL = 600
MOST_S = 60.0

LEAST = 0.5
"""The relevance at the calibrated threshold (`rerank.relevance`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankPlan:
    """Which reranker (`none`: the fused order stays), how many candidates, how long. A
    cross-encoder reads the best by late interaction, whose order stands where it does not answer.

    `wide_pool` is the pool where turns of conversations answer, or where the question names a
    time: an answer among these rarely repeats the words of its question, so that the first look
    misses more of them. The weights are those of late interaction. Below `min_relevance`
    (`rerank.relevance`) nothing is shown; 0 shows what is nearest in any case.
    """

    name: RerankerName = "late_interaction"
    pool: Annotated[int, Field(ge=1, le=1000)] = 60
    wide_pool: Annotated[int, Field(ge=1, le=1000)] = WIDE_POOL
    keyword_weight: Annotated[float, Field(ge=0, le=1000)] = 0.5
    similarity_weight: Annotated[float, Field(ge=0, le=1000)] = 1.5
    cosine_weight: Annotated[float, Field(ge=0, le=1000)] = 0.5
    deadline_s: Annotated[float, Field(gt=0, le=MOST_S)] = 0.4
    min_relevance: Annotated[float, Field(ge=0, le=1)] = LEAST


USUAL_RERANK = RerankPlan()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question as rerankers need it; `terms` are those of the text index, `within_s` is what
    is left of its time for this reranker. `beside` are the characters of the text that some
    candidate meets beside its own text: times that its date lies in."""

    text: str
    language: str
    terms: tuple[QueryTerm, ...]
    scope: Scope
    plan: RerankPlan
    within_s: float = MOST_S
    beside: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """One candidate of the pool. `keyword` is its score of the channel `keyword`, the channel's
    floor where it was not listed; `cosine` that of the channel `semantic`, None where it was
    not listed; `fused` 0 to 1."""

    passage: StoredPassage
    fused: float
    keyword: float
    cosine: float | None = None

    @property
    def chunk_id(self) -> str:
        return self.passage.chunk.chunk_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What late interaction saw, on the encoder's absolute scale: the best passage's mean
    similarity over the question's tokens, and the mean of the worst third of them there.
    `first` is the chunk that it ranks first, all in all."""

    best: float
    worst_third: float
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """`scores` by chunk id, all on `scale`, higher is better; `parts` say what each is made of.
    A candidate without a score stands behind those with one: first those of `behind`, in that
    order. `note` is for the reader of the answer: what was missing."""

    reranker: str
    scale: Scale
    scores: Mapping[str, float]
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    evidence: Evidence | None = None
    behind: tuple[str, ...] = ()
    note: str = ""


class Reranker(Protocol):
    """Raises `StoreError`, `ModelError`, `Overloaded` or `DeadlineExceeded`; then the fused
    order answers, and the answer says so. May be cancelled at its deadline."""

    @property
    def name(self) -> str: ...

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked: ...
