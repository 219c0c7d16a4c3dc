"""Filters -> Elasticsearch queries, built from objects: no value is ever parsed as a query.

A text field holds its values whole and ordered by UTF-8 bytes, which is the order of code
points; the field `absent` holds the names of the fields that a row does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from cluster.filters import (
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    Scalar,
    epoch_ms,
)

ABSENT = "absent"

Query = Mapping[str, Any]


def render(where: Filter) -> Query:
    """A query that matches exactly the rows for which `matches(where, row)` holds."""
    match where:
        case Eq(name, value):
            return {"term": {name: _stored(value)}}
        case In(name, values):
            return _any_of_values(name, values)
        case Range(name, gte, lt):
            bounds = {"gte": gte, "lt": lt}
            return {"range": {name: {k: _stored(v) for k, v in bounds.items() if v is not None}}}
        case Missing(name):
            return {"term": {ABSENT: name}}
        case AllOf(parts):
            return {"bool": {"filter": [render(part) for part in parts]}}
        case AnyOf(parts):
            return {"bool": {"should": _alternatives(parts), "minimum_should_match": 1}}
        case Not(part):
            return {"bool": {"must_not": [render(part)]}}


def _alternatives(parts: Iterable[Filter]) -> list[Query]:
    """Values of one field become one clause: the server bounds the clauses, not the values."""
    values: dict[str, list[Scalar]] = {}
    others: list[Query] = []
    for part in parts:
        match part:
            case Eq(name, value):
                values.setdefault(name, []).append(value)
            case In(name, several):
                values.setdefault(name, []).extend(several)
            case _:
                others.append(render(part))
    return [*(_any_of_values(name, held) for name, held in values.items()), *others]


def _any_of_values(name: str, values: Iterable[Scalar]) -> Query:
    """Up to 65,536 values, as the index is set up; a filter has at most 10,000."""
    return {"terms": {name: [_stored(value) for value in values]}}


def _stored(value: Scalar) -> str | int | float | bool:
    """A value as the index holds it."""
    if isinstance(value, datetime):
        return epoch_ms(value)
    if isinstance(value, str | bool):
        return value
    return as_double(value)


def as_double(number: int | float) -> float:
    """Exact for what filters allow; -0.0 is 0.0, as in `matches`."""
    return float(number) + 0.0
