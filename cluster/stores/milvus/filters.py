"""A filter -> a Milvus expression that means exactly `cluster.filters.matches`.

Milvus 2.3 has no null, so a missing value is a sentinel: the empty text, the lowest double,
a moment before all moments, -1 for a flag. Negation is pushed down to the comparisons,
because Milvus Lite uses its scalar indexes only for expressions without `not`.
"""

from __future__ import annotations

import hashlib
import math
import sys
from base64 import b32encode
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from cluster.filters import (
    MAX_TEXT_BYTES,
    AllOf,
    AnyOf,
    Eq,
    FieldKind,
    Filter,
    In,
    Missing,
    Not,
    Range,
    Scalar,
    epoch_ms,
    field_kind,
)

NO_NUMBER = -sys.float_info.max
NO_MOMENT = -(2**53)
NO_FLAG = -1
MAX_STORED_BYTES = MAX_TEXT_BYTES + 4

TagsAs = Literal["array", "digests"]

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def render(where: Filter, *, tags_as: TagsAs) -> str:
    return _render(where, negated=False, tags_as=tags_as)


def ids_in(chunk_ids: Iterable[str]) -> str:
    """The rows with these primary keys."""
    return f"chunk_id in [{', '.join(text_literal(chunk_id) for chunk_id in chunk_ids)}]"


def text_literal(text: str) -> str:
    """In double quotes, with the escapes that Milvus Lite and the servers both know."""
    return f'"{text.translate(_ESCAPES)}"'


def stored_text(text: str) -> str:
    """A text cut to what a VARCHAR field holds, such that no filter can tell.

    At least one byte more stays than a filter's value can have, so the rest neither equals
    such a value nor changes sides in a comparison with one.
    """
    raw = text.encode()
    if len(raw) <= MAX_TEXT_BYTES:
        return text
    whole = len(raw[: MAX_TEXT_BYTES + 1].decode(errors="ignore"))
    kept = text[:whole]
    return kept if len(kept.encode()) > MAX_TEXT_BYTES else text[: whole + 1]


def stored_tags(tags: Iterable[str], *, tags_as: TagsAs) -> str | list[str]:
    """An array, or `|digest|digest|`; of digests, no tag can look like a pattern."""
    if tags_as == "array":
        return [stored_text(tag) for tag in tags]
    digests = "|".join(dict.fromkeys(_digest(tag) for tag in tags))
    return f"|{digests}|" if digests else ""


def _render(where: Filter, *, negated: bool, tags_as: TagsAs) -> str:
    match where:
        case Not(part):
            return _render(part, negated=not negated, tags_as=tags_as)
        case AllOf(parts) | AnyOf(parts):
            word = " and " if isinstance(where, AllOf) is not negated else " or "
            rendered = (_render(part, negated=negated, tags_as=tags_as) for part in parts)
            return f"({word.join(rendered)})"
        case Eq(name, value) if field_kind(name) != "texts":
            return f"{name} {'!=' if negated else '=='} {_literal(name, value)}"
        case In(name, values) if field_kind(name) != "texts":
            listed = ", ".join(_literal(name, value) for value in values)
            return f"{name} {'not in' if negated else 'in'} [{listed}]"
        case Range(name, gte, lt):
            return _range(name, gte, lt, negated=negated)
        case Missing(name) if field_kind(name) != "texts":
            return f"{name} {'!=' if negated else '=='} {_sentinel(field_kind(name))}"
        case Eq() | In() | Missing():
            found = _tags(where, tags_as=tags_as)
            return f"(not {found})" if negated else found


def _range(name: str, gte: Scalar | None, lt: Scalar | None, *, negated: bool) -> str:
    sentinel = _sentinel(field_kind(name))
    low = f"{name} < {_literal(name, gte)}" if gte is not None else f"{name} == {sentinel}"
    high = [] if lt is None else [f"{name} >= {_literal(name, lt)}"]
    if negated:
        return f"({' or '.join([low, *high])})"
    low = f"{name} >= {_literal(name, gte)}" if gte is not None else f"{name} != {sentinel}"
    high = [] if lt is None else [f"{name} < {_literal(name, lt)}"]
    return f"({' and '.join([low, *high])})"


def _tags(where: Eq | In | Missing, *, tags_as: TagsAs) -> str:
    name = where.field
    match where:
        case Missing():
            return f'({name} == "")' if tags_as == "digests" else f"(array_length({name}) == 0)"
        case Eq(_, value):
            values: tuple[Scalar, ...] = (value,)
        case In(_, values):
            pass
    if tags_as == "digests":
        patterns = (f'{name} like "%|{_digest(str(value))}|%"' for value in values)
        return f"({' or '.join(patterns)})"
    return f"array_contains_any({name}, [{', '.join(text_literal(str(v)) for v in values)}])"


def _literal(name: str, value: Scalar) -> str:
    match field_kind(name):
        case "number":
            return _number(float(value))  # type: ignore[arg-type]  # checked by the filter
        case "flag":
            return "1" if value else "0"
        case "moment" if isinstance(value, datetime):
            return str(epoch_ms(value))
        case _:
            return text_literal(str(value))


def _number(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return "0.0"
    return repr(value)


def _sentinel(kind: FieldKind) -> str:
    held = {"number": _number(NO_NUMBER), "moment": str(NO_MOMENT), "flag": str(NO_FLAG)}
    return held.get(kind, '""')


def _digest(tag: str) -> str:
    return b32encode(hashlib.sha256(tag.encode()).digest()[:15]).decode().lower()
