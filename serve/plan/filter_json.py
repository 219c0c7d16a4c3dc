"""A filter as JSON: the inverse of `cluster.filters.parse_filter`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from cluster.filters import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    parse_filter,
)

PLANNED_DEPTH = 8
"""How much deeper than a caller's own a planned filter may be: the plan adds its parts, and what
was one object of several keys is written as a list."""


def planned_filter(raw: object) -> Filter:
    """The filter of a plan: from JSON, or as it is."""
    if isinstance(raw, Eq | In | Range | Missing | AllOf | AnyOf | Not):
        return raw
    return parse_filter(raw, depth=-MAX_DEPTH - PLANNED_DEPTH)


def joined(*parts: Filter | None) -> Filter | None:
    """All of them at once; those that are None demand nothing."""
    filters = tuple(part for part in parts if part is not None)
    if len(filters) > 1:
        return AllOf(filters)
    return filters[0] if filters else None


def filter_json(where: Filter) -> dict[str, Any]:
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


PlanFilter = Annotated[
    Filter, PlainValidator(planned_filter), PlainSerializer(filter_json, when_used="json")
]
"""A filter as a plan holds it."""
