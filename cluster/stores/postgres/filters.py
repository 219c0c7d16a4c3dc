"""A filter -> SQL over the table `revisions AS r`, with every value a bound parameter.

`WHERE` takes only TRUE, so a leaf may be NULL for a missing value; `Not` is written as
`IS NOT TRUE` and has two values again, as `cluster.filters.matches` wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

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

COLUMNS = {"version_key": "edition_key"}
"""Fields whose column has another name."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def render(where: Filter) -> tuple[str, dict[str, object]]:
    """SQL text with `%(f0)s`… and the values of those parameters."""
    values: dict[str, object] = {}
    return _render(where, values), values


def _render(where: Filter, values: dict[str, object]) -> str:
    match where:
        case Eq(name, value):
            return _any_of(name, (value,), values)
        case In(name, wanted):
            return _any_of(name, wanted, values)
        case Range(name, gte, lt):
            return _range(name, gte, lt, values)
        case Missing(name):
            return _missing(name)
        case AllOf(parts):
            return "(" + " AND ".join(_render(part, values) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(_render(part, values) for part in parts) + ")"
        case Not(part):
            return f"({_render(part, values)}) IS NOT TRUE"


def _any_of(name: str, wanted: Sequence[Scalar], values: dict[str, object]) -> str:
    column = _column(name)
    match field_kind(name):
        case "texts":
            return f"{column} && {_bind([str(one) for one in wanted], values)}::text[]"
        case "moment":
            moments = [_moment_text(one) for one in wanted]
            truncated = f"date_trunc('milliseconds', {column})"
            return f"{truncated} = ANY({_bind(moments, values)}::text[]::timestamptz[])"
        case "number":
            numbers = [_number(one) for one in wanted]
            return f"{column} = ANY({_bind(numbers, values)}::float8[])"
        case "flag":
            return f"{column} = ANY({_bind(list(wanted), values)}::boolean[])"
        case "text" if len(wanted) == 1:
            return f"{column} = {_bind(wanted[0], values)}"
        case "text":
            return f"{column} = ANY({_bind(list(wanted), values)}::text[])"


def _range(name: str, gte: Scalar | None, lt: Scalar | None, values: dict[str, object]) -> str:
    column = _column(name)
    parts = [f"{column} <> ''"] if field_kind(name) == "text" else []
    for sign, bound in ((">=", gte), ("<", lt)):
        if bound is not None:
            parts.append(f"{column} {sign} {_bound(name, bound, values)}")
    return "(" + " AND ".join(parts) + ")"


def _bound(name: str, bound: Scalar, values: dict[str, object]) -> str:
    match field_kind(name):
        case "moment":
            return f"{_bind(_moment_text(bound), values)}::text::timestamptz"
        case "number":
            return f"{_bind(_number(bound), values)}::float8"
        case _:
            return _bind(bound, values)


def _missing(name: str) -> str:
    column = _column(name)
    match field_kind(name):
        case "text":
            return f"COALESCE({column}, '') = ''"
        case "texts":
            return f"cardinality({column}) = 0"
        case _:
            return f"{column} IS NULL"


def _column(name: str) -> str:
    return f"r.{COLUMNS.get(name, name)}"


def _bind(value: object, values: dict[str, object]) -> str:
    name = f"f{len(values)}"
    values[name] = value
    return f"%({name})s"


def _moment_text(value: Scalar) -> str:
    """The moment, rounded down to a millisecond. A held moment lies before a bound exactly
    when it lies before the rounded bound, so the column needs no rounding there."""
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is not a moment")
    try:
        return (_EPOCH + epoch_ms(value) * _MILLISECOND).isoformat()
    except OverflowError:
        return "infinity" if value.year > _EPOCH.year else "-infinity"


def _number(value: Scalar) -> float:
    """Exact: filters take no whole number that a double cannot hold."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)
