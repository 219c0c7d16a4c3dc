"""A small filter language with one meaning: `matches`. Each store renders it, none adds to it.

A field that a row does not have (`None`, an empty tuple) matches no `Eq`, `In` or `Range`;
`Missing` finds exactly those rows, `Not` is plain negation. Texts compare by code point and
exactly: no case folding, no trimming. A list field (`tags`) matches when any element does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from cluster.errors import InvalidFilter
from cluster.model import FieldValue, Scope

FieldKind = Literal["text", "texts", "number", "moment", "flag"]
Scalar = str | int | float | bool | datetime

FIELDS: Mapping[str, FieldKind] = {
    "tenant": "text",
    "owner": "text",
    "agent": "text",
    "kind": "text",
    "document_id": "text",
    "source": "text",
    "path": "text",
    "source_type": "text",
    "source_url": "text",
    "language": "text",
    "author": "text",
    "product": "text",
    "product_version": "text",
    "version_key": "text",
    "api_version": "text",
    "license": "text",
    "quote_policy": "text",
    "tags": "texts",
    "conversation": "text",
    "session": "text",
    "speaker": "text",
    "authority": "number",
    "published_at": "moment",
    "updated_at": "moment",
    "said_at": "moment",
    "newest_edition": "flag",
}
"""Every field that can be filtered on, in every store. Stores keep moments as whole
milliseconds since the epoch, UTC; `matches` takes rows with either those or `datetime`."""

MAX_VALUES = 10_000
MAX_DEPTH = 8
MAX_TEXT_BYTES = 4096
MAX_INTEGER = 2**53
"""Stores keep numbers as doubles, which are exact up to here."""


@dataclass(frozen=True, slots=True)
class Eq:
    field: str
    value: Scalar

    def __post_init__(self) -> None:
        _check_value(self.field, self.value)


@dataclass(frozen=True, slots=True)
class In:
    field: str
    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidFilter(f"filter on {self.field!r}: an empty list matches nothing; drop it")
        if len(self.values) > MAX_VALUES:
            raise InvalidFilter(
                f"filter on {self.field!r}: {len(self.values)} values, at most {MAX_VALUES}"
            )
        for value in self.values:
            _check_value(self.field, value)


@dataclass(frozen=True, slots=True)
class Range:
    """`gte <= value < lt`; either side may be open. For numbers, moments and texts."""

    field: str
    gte: Scalar | None = None
    lt: Scalar | None = None

    def __post_init__(self) -> None:
        if self.gte is None and self.lt is None:
            raise InvalidFilter(f"filter on {self.field!r}: a range needs gte or lt")
        if field_kind(self.field) in ("flag", "texts"):
            raise InvalidFilter(f"filter on {self.field!r}: this field has no order")
        for bound in (self.gte, self.lt):
            if bound is not None:
                _check_value(self.field, bound)


@dataclass(frozen=True, slots=True)
class Missing:
    field: str

    def __post_init__(self) -> None:
        field_kind(self.field)


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_parts("all_of", self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_parts("any_of", self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    part: Filter


Filter = Eq | In | Range | Missing | AllOf | AnyOf | Not


def field_kind(name: str) -> FieldKind:
    kind = FIELDS.get(name)
    if kind is None:
        raise InvalidFilter(f"unknown filter field {name!r}; known: {', '.join(sorted(FIELDS))}")
    return kind


def matches(where: Filter, row: Mapping[str, FieldValue | datetime]) -> bool:
    """The meaning of a filter; every store must agree with it on every row."""
    match where:
        case Eq(name, value):
            return any(_same(held, value) for held in _held(row, name))
        case In(name, values):
            return any(_same(held, value) for held in _held(row, name) for value in values)
        case Range(name, gte, lt):
            return any(_within(held, gte, lt) for held in _held(row, name))
        case Missing(name):
            return not _held(row, name)
        case AllOf(parts):
            return all(matches(part, row) for part in parts)
        case AnyOf(parts):
            return any(matches(part, row) for part in parts)
        case Not(part):
            return not matches(part, row)


def scoped(scope: Scope, where: Filter | None) -> Filter:
    """`where`, inside the walls of `scope`. Stores apply this to every search."""
    walls: list[Filter] = [Eq("tenant", scope.tenant)]
    if scope.owner is None:
        walls.append(Missing("owner"))
    else:
        walls.append(AnyOf((Missing("owner"), Eq("owner", scope.owner))))
    return AllOf((*walls, where) if where is not None else tuple(walls))


def fields_of(where: Filter | None) -> frozenset[str]:
    """The names of all fields that the filter looks at."""
    match where:
        case None:
            return frozenset()
        case Eq(name, _) | In(name, _) | Missing(name):
            return frozenset({name})
        case Range(name, _, _):
            return frozenset({name})
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*(fields_of(part) for part in parts))
        case Not(part):
            return fields_of(part)


def epoch_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970-01-01T00:00Z, rounded down; stores hold moments so."""
    if moment.tzinfo is None:
        raise InvalidFilter(f"{moment.isoformat()} has no time zone; write e.g. +08:00 or Z")
    seconds = int(moment.replace(microsecond=0).timestamp())
    return seconds * 1000 + moment.microsecond // 1000


def parse_filter(raw: object, *, depth: int = 0) -> Filter:
    """JSON -> filter. The forms, freely nested:

    `{"field": "value"}` (several keys: all of them), `{"field": ["a", "b"]}` (any of these),
    `{"field": {"gte": …, "lt": …}}`, `{"field": null}` (missing), `{"all_of": [...]}`,
    `{"any_of": [...]}`, `{"not": {...}}`. Moments are ISO 8601 texts with a zone, or dates
    (midnight UTC).
    """
    if depth > MAX_DEPTH:
        raise InvalidFilter(f"a filter may be nested {MAX_DEPTH} deep, no deeper")
    if not isinstance(raw, Mapping) or not raw:
        raise InvalidFilter('a filter is a non-empty object such as {"product": "tidb"}')
    parts = tuple(_parse_entry(str(key), value, depth=depth) for key, value in raw.items())
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _parse_entry(key: str, value: Any, *, depth: int) -> Filter:
    if key in ("all_of", "any_of"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidFilter(f"{key} takes a list of filters")
        parts = tuple(parse_filter(part, depth=depth + 1) for part in value)
        return AllOf(parts) if key == "all_of" else AnyOf(parts)
    if key == "not":
        return Not(parse_filter(value, depth=depth + 1))
    kind = field_kind(key)
    if value is None:
        return Missing(key)
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - {"gte", "lt"})
        if unknown:
            raise InvalidFilter(f"filter on {key!r}: a range has gte and lt, not {unknown[0]!r}")
        bounds = {side: _parse_value(key, kind, bound) for side, bound in value.items()}
        return Range(key, bounds.get("gte"), bounds.get("lt"))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return In(key, tuple(_parse_value(key, kind, item) for item in value))
    return Eq(key, _parse_value(key, kind, value))


def _parse_value(name: str, kind: FieldKind, value: Any) -> Scalar:
    if kind != "moment":
        return value  # type: ignore[no-any-return]  # checked by the filter's constructor
    if not isinstance(value, str):
        raise InvalidFilter(f"filter on {name!r}: a moment is a text such as 2024-05-01T00:00:00Z")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidFilter(f"filter on {name!r}: {value!r} is no ISO 8601 moment") from error
    if moment.tzinfo is None and len(value) <= len("2024-05-01"):
        moment = datetime.fromisoformat(f"{value}T00:00:00+00:00")
    return moment


def _held(row: Mapping[str, FieldValue | datetime], name: str) -> tuple[Scalar, ...]:
    value = row.get(name)
    if value is None or value == "":
        return ()
    return tuple(value) if isinstance(value, tuple) else (value,)


def _same(held: Scalar, asked: Scalar) -> bool:
    if isinstance(held, bool) or isinstance(asked, bool):
        return held is asked
    return bool(_order(held) == _order(asked))


def _within(held: Scalar, gte: Scalar | None, lt: Scalar | None) -> bool:
    value = _order(held)
    return (gte is None or value >= _order(gte)) and (lt is None or value < _order(lt))


def _order(value: Scalar) -> Any:
    return epoch_ms(value) if isinstance(value, datetime) else value


def _check_parts(name: str, parts: tuple[Filter, ...]) -> None:
    if not parts:
        raise InvalidFilter(f"{name}: an empty list of filters has no meaning; drop it")
    if len(parts) > MAX_VALUES:
        raise InvalidFilter(f"{name}: {len(parts)} filters, at most {MAX_VALUES}")


def _check_value(name: str, value: object) -> None:
    kind = field_kind(name)
    fits = {
        "text": isinstance(value, str),
        "texts": isinstance(value, str),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "moment": isinstance(value, datetime),
        "flag": isinstance(value, bool),
    }[kind]
    if not fits:
        raise InvalidFilter(f"filter on {name!r}: {value!r} is not a {kind}")
    if isinstance(value, datetime):
        epoch_ms(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidFilter(f"filter on {name!r}: {value} is not a finite number")
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise InvalidFilter(f"filter on {name!r}: beyond {MAX_INTEGER}; no store is exact there")
    elif isinstance(value, str):
        _check_text(name, value)


def _check_text(name: str, value: str) -> None:
    if not value:
        raise InvalidFilter(f"filter on {name!r}: an empty text; use null for a missing field")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidFilter(f"filter on {name!r}: NUL and lone surrogates match nothing")
    if len(value.encode()) > MAX_TEXT_BYTES:
        raise InvalidFilter(f"filter on {name!r}: longer than {MAX_TEXT_BYTES} bytes")
