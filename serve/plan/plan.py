"""What will be asked of whom: a question turned into a value that can be read and repeated.

A part of a plan is a frozen dataclass of plain values (texts, numbers, flags, moments, literals,
filters, tuples and other parts). `serve.plan.as_json` writes and reads it by its annotations, so
a new field or part needs nothing there; a field with a default may be missing in the JSON.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    with_config,
)

from cluster.errors import InvalidRequest
from cluster.model import Scope, StoredPassage
from cluster.text.terms import MAX_QUERY_TERMS, QueryTerm
from rerank.fusion import FusionMethod
from rerank.kinds import KindBudget
from rerank.reranker import USUAL_RERANK, RerankPlan
from rerank.selection import USUAL_SELECTION, SelectionPlan
from rerank.verbatim import MAX_EXACT, ExactTerm
from serve.plan.constraints import MAX_CONSTRAINTS, Constraint
from serve.plan.filter_json import PlanFilter
from serve.plan.moment import Moment
from serve.plan.time_mention import TimeMention
from serve.plan.times import zone_named

MAX_CHANNELS = 16
MAX_KINDS = 8
MAX_CANDIDATES = 1000
MAX_TIMES = 32
MAX_LIMIT = 1000
MAX_PAGE = 50
MAX_DEADLINE_S = 60.0
MAX_WEIGHT = 1000.0
MAX_TEXT_CHARS = 10_000
MAX_ASKED = 64
"""Versions that a question names."""

MAX_PRODUCTS = 16
"""Products that a question names."""

MAX_NAMES = 256
"""Spellings of a product."""

MAX_CHOSEN = 2000
"""Stored editions of a product."""

MAX_EDITIONS = 40_000
"""Names and editions of all products together: each passage is compared with all of them."""

MAX_NOTES = 64


def _weighed(terms: tuple[QueryTerm, ...]) -> tuple[QueryTerm, ...]:
    for term in terms:
        if not term.term or not 0 <= term.weight <= MAX_WEIGHT:
            raise ValueError(f"a term is a text with a weight from 0 to {MAX_WEIGHT:.0f}")
    return terms


def _known_zone(name: str) -> str:
    try:
        return zone_named(name).key
    except InvalidRequest as error:
        raise ValueError(str(error)) from error


Weight = Annotated[float, Field(ge=0, le=MAX_WEIGHT)]
Share = Annotated[float, Field(ge=0, le=1)]
Terms = Annotated[
    tuple[QueryTerm, ...], Field(max_length=MAX_QUERY_TERMS), AfterValidator(_weighed)
]
Names = Annotated[tuple[str, ...], Field(max_length=MAX_NAMES)]
Chosen = Annotated[tuple[str, ...], Field(max_length=MAX_CHOSEN)]


Intent = Literal[
    "comparison",
    "change",
    "troubleshooting",
    "how_to",
    "definition",
    "memory",
    "summary",
    "list",
    "recent",
    "opinion",
    "fact",
]
"""What kind of answer a question wants; `fact` where nothing else shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlan:
    """`limit` hits at most; `weight` and `tail_cut` as in `rerank.fusion.Ranking`."""

    name: str
    weight: Weight
    limit: Annotated[int, Field(ge=1, le=MAX_CANDIDATES)]
    tail_cut: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductEditions:
    """Of the product with any of these `names` (none: of everything) the `chosen` editions
    (none: the newest)."""

    names: Names = ()
    chosen: Chosen = ()

    @property
    def size(self) -> int:
        return len(self.names) + len(self.chosen)

    def admit(self, passage: StoredPassage) -> bool:
        if self.names and passage.metadata.product not in self.names:
            return False
        return passage.edition in self.chosen if self.chosen else passage.newest_edition


def _few(products: tuple[ProductEditions, ...]) -> tuple[ProductEditions, ...]:
    if sum(each.size for each in products) > MAX_EDITIONS:
        raise ValueError(f"at most {MAX_EDITIONS:,} names and editions together")
    return products


@dataclass(frozen=True, slots=True, kw_only=True)
class Editions:
    """Which editions may answer. `asked` are the versions as the question or the caller wrote
    them, `chosen` the stored editions that they mean (empty: none such, or nothing asked),
    `parts` the same by product, `product` the first that is named. `current`: of each product
    with several editions the newest, where only the newest answer."""

    asked: Annotated[tuple[str, ...], Field(max_length=MAX_ASKED)] = ()
    chosen: Annotated[tuple[str, ...], Field(max_length=MAX_EDITIONS)] = ()
    product: str | None = None
    parts: Annotated[
        tuple[ProductEditions, ...], Field(max_length=MAX_PRODUCTS), AfterValidator(_few)
    ] = ()
    newest_only: bool = False
    collapse: bool = False
    current: Annotated[
        tuple[ProductEditions, ...], Field(max_length=MAX_EDITIONS), AfterValidator(_few)
    ] = ()

    def admit(self, passage: StoredPassage) -> bool:
        if self.newest_only:
            return passage.newest_edition
        return not self.parts or any(part.admit(passage) for part in self.parts)

    def left_behind(self, passages: Collection[StoredPassage]) -> frozenset[str]:
        """Chunks of pages that the newest edition of their product no longer has, while other
        pages of that edition, in the same language, are among these."""
        gone: set[str] = set()
        for part in self.current:
            mine = [each for each in passages if each.metadata.product in part.names]
            there = {each.metadata.language for each in mine if each.edition in part.chosen}
            gone.update(
                each.chunk.chunk_id
                for each in mine
                if each.edition not in ("", *part.chosen) and each.metadata.language in there
            )
        return frozenset(gone)


@with_config(
    ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, str_max_length=MAX_TEXT_CHARS)
)
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """Same plan, same stores: same answer. `notes` are for the reader of the answer. `scope` is
    told by the caller's key and no part of the JSON. `times` are read in `zone`, a name of the
    tz database; `exact` is what is meant as it is written, `about` the question without the
    words of its `constraints` (empty: all of it), `intents` what kind of answer it wants, the
    main one first. With `kinds` each of these is looked for apart, within its own budget."""

    query: str
    scope: Scope
    language: str
    terms: Terms
    where: PlanFilter | None
    editions: Editions
    channels: Annotated[tuple[ChannelPlan, ...], Field(max_length=MAX_CHANNELS)]
    fusion: FusionMethod
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)]
    deadline_s: Annotated[float, Field(ge=0.02, le=MAX_DEADLINE_S)]
    now: Moment
    zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    times: Annotated[tuple[TimeMention, ...], Field(max_length=MAX_TIMES)] = ()
    exact: Annotated[tuple[ExactTerm, ...], Field(max_length=MAX_EXACT)] = ()
    constraints: Annotated[tuple[Constraint, ...], Field(max_length=MAX_CONSTRAINTS)] = ()
    about: str = ""
    intents: Annotated[tuple[Intent, ...], Field(min_length=1, max_length=16)] = ("fact",)
    kinds: Annotated[tuple[KindBudget, ...], Field(max_length=MAX_KINDS)] = ()
    notes: Annotated[tuple[str, ...], Field(max_length=MAX_NOTES)] = ()
    rerank: RerankPlan = USUAL_RERANK
    page: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 1
    selection: SelectionPlan = USUAL_SELECTION

    @property
    def topic(self) -> str:
        """What channels and rerankers look for."""
        return self.about or self.query
