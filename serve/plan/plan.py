"""What will be asked of whom: a question turned into a value that can be read and repeated."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.filters import AllOf, AnyOf, Eq, Filter, In, Missing, Not, Range
from cluster.model import Scope, StoredPassage
from cluster.text.terms import QueryTerm
from rerank.fusion import FusionMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlan:
    """`limit` hits at most; `weight` and `tail_cut` as in `rerank.fusion.Ranking`."""

    name: str
    weight: float
    limit: int
    tail_cut: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductEditions:
    """Of the product with any of these `names` (none: of everything) the `chosen` editions
    (none: the newest)."""

    names: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()

    def admit(self, passage: StoredPassage) -> bool:
        if self.names and passage.metadata.product not in self.names:
            return False
        return passage.edition in self.chosen if self.chosen else passage.newest_edition


@dataclass(frozen=True, slots=True, kw_only=True)
class Editions:
    """Which editions may answer. `asked` are the versions as the question or the caller wrote
    them, `chosen` the stored editions that they mean (empty: none such, or nothing asked),
    `parts` the same by product, `product` the first that is named."""

    asked: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    product: str | None = None
    parts: tuple[ProductEditions, ...] = ()
    newest_only: bool = False
    collapse: bool = False

    def admit(self, passage: StoredPassage) -> bool:
        if self.newest_only:
            return passage.newest_edition
        return not self.parts or any(part.admit(passage) for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """Same plan, same stores: same answer. `notes` are for the reader of the answer."""

    query: str
    scope: Scope
    language: str
    terms: tuple[QueryTerm, ...]
    where: Filter | None
    editions: Editions
    channels: tuple[ChannelPlan, ...]
    fusion: FusionMethod
    limit: int
    deadline_s: float
    now: datetime
    notes: tuple[str, ...] = ()


def plan_json(plan: QueryPlan) -> dict[str, Any]:
    """The plan as JSON; its filter in the form that `cluster.filters.parse_filter` reads. The
    scope stays out: who asks is told by the key."""
    return {
        "query": plan.query,
        "language": plan.language,
        "terms": [
            {"term": term.term, "weight": term.weight, "surface": term.surface}
            for term in plan.terms
        ],
        "filter": filter_json(plan.where) if plan.where is not None else None,
        "versions": {
            "asked": list(plan.editions.asked),
            "chosen": list(plan.editions.chosen),
            "product": plan.editions.product,
            "newest_only": plan.editions.newest_only,
            "collapse": plan.editions.collapse,
        },
        "channels": [
            {
                "name": channel.name,
                "weight": channel.weight,
                "limit": channel.limit,
                "tail_cut": channel.tail_cut,
            }
            for channel in plan.channels
        ],
        "fusion": plan.fusion,
        "top_k": plan.limit,
        "deadline_ms": round(plan.deadline_s * 1000),
        "now": plan.now.isoformat(),
    }


def filter_json(where: Filter) -> dict[str, Any]:
    """The inverse of `cluster.filters.parse_filter`."""
    match where:
        case Eq(name, value):
            return {name: _scalar(value)}
        case In(name, values):
            return {name: [_scalar(value) for value in values]}
        case Range(name, gte, lt):
            bounds = {"gte": gte, "lt": lt}
            return {name: {side: _scalar(b) for side, b in bounds.items() if b is not None}}
        case Missing(name):
            return {name: None}
        case AllOf(parts):
            return {"all_of": [filter_json(part) for part in parts]}
        case AnyOf(parts):
            return {"any_of": [filter_json(part) for part in parts]}
        case Not(part):
            return {"not": filter_json(part)}


def _scalar(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
