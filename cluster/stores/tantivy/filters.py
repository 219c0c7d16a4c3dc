"""Filters -> Tantivy queries, built from objects: no value is ever parsed as a query.

A text field holds its values raw; the field `absent` holds the names of the fields that a row
does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from tantivy import FieldType, Occur, Query, Schema

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
    field_kind,
)

ABSENT = "absent"

Dictionary = Callable[[str], Iterable[str]]
"""Field name -> every value of that text field that any row holds."""


def render(where: Filter, *, schema: Schema, dictionary: Dictionary) -> Query:
    """A query that matches exactly the rows for which `matches(where, row)` holds."""
    match where:
        case Eq(name, value):
            return _any_of_values(schema, name, (value,))
        case In(name, values):
            return _any_of_values(schema, name, values)
        case Range(name, gte, lt):
            return _range(schema, name, gte, lt, dictionary)
        case Missing(name):
            return Query.term_query(schema, ABSENT, name)
        case AllOf(parts):
            return _combine(Occur.Must, parts, schema, dictionary)
        case AnyOf(parts):
            return _combine(Occur.Should, parts, schema, dictionary)
        case Not(part):
            inner = render(part, schema=schema, dictionary=dictionary)
            everything = Query.all_query()
            return Query.boolean_query([(Occur.Must, everything), (Occur.MustNot, inner)])


def _combine(
    occur: Occur, parts: tuple[Filter, ...], schema: Schema, dictionary: Dictionary
) -> Query:
    queries = (render(part, schema=schema, dictionary=dictionary) for part in parts)
    return Query.boolean_query([(occur, query) for query in queries])


def _any_of_values(schema: Schema, name: str, values: tuple[Scalar, ...]) -> Query:
    stored = [_stored(name, value) for value in values]
    if len(stored) == 1:
        return Query.term_query(schema, name, stored[0])
    return Query.term_set_query(schema, name, stored)


def _stored(name: str, value: Scalar) -> str | int | float | bool:
    """A value as the index holds it."""
    if isinstance(value, datetime):
        return epoch_ms(value)
    if field_kind(name) == "number" and isinstance(value, int | float):
        return as_double(value)
    return value


def _range(
    schema: Schema, name: str, gte: Scalar | None, lt: Scalar | None, dictionary: Dictionary
) -> Query:
    match field_kind(name):
        case "number":
            low, high = _double_bound(gte), _double_bound(lt)
            return _between(schema, name, FieldType.Float, low, high)
        case "moment":
            start, end = _moment_bound(gte), _moment_bound(lt)
            return _between(schema, name, FieldType.Integer, start, end)
        case _:
            inside = [value for value in dictionary(name) if _within(value, gte, lt)]
            return Query.term_set_query(schema, name, inside) if inside else Query.empty_query()


def _between(
    schema: Schema,
    name: str,
    kind: FieldType,
    gte: float | int | None,
    lt: float | int | None,
) -> Query:
    if gte is not None and lt is not None and gte >= lt:
        return Query.empty_query()
    return Query.range_query(
        schema,
        name,
        kind,
        lower_bound=gte,
        upper_bound=lt,
        include_lower=True,
        include_upper=lt is None,
        use_inverted_index=True,
    )


def _within(value: str, gte: Scalar | None, lt: Scalar | None) -> bool:
    return (gte is None or value >= str(gte)) and (lt is None or value < str(lt))


def _moment_bound(bound: Scalar | None) -> int | None:
    return epoch_ms(bound) if isinstance(bound, datetime) else None


def _double_bound(bound: Scalar | None) -> float | None:
    return as_double(bound) if isinstance(bound, int | float) else None


def as_double(number: int | float) -> float:
    """Exact for what filters allow; -0.0 is 0.0, as in `matches`."""
    return float(number) + 0.0
