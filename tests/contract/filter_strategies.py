"""Random filters, and rows that they have a chance to meet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from cluster.filters import (
    FIELDS,
    MAX_INTEGER,
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
from cluster.model import FieldValue

_LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
_ANY_TEXT = st.text(_LETTERS, min_size=1, max_size=6)
_FEW_TEXTS = st.sampled_from(["a", "ab", "b", "A", '"', "\\", "'", "%", "_", "\n", "中", "🙂", "0"])
texts = _FEW_TEXTS | _ANY_TEXT
numbers = st.sampled_from([0, 1, -1, 0.5, -0.5, MAX_INTEGER]) | st.floats(
    allow_nan=False, allow_infinity=False, width=64
).filter(lambda x: abs(x) < 1e300)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.sampled_from([_EPOCH, datetime(2024, 1, 1, tzinfo=UTC)]) | st.integers(
    -(10**12), 10**13
).map(lambda ms: _EPOCH + timedelta(milliseconds=ms))


def scalars(name: str) -> st.SearchStrategy[Scalar]:
    kinds: dict[str, st.SearchStrategy[Scalar]] = {
        "number": numbers,
        "moment": moments,
        "flag": st.booleans(),
    }
    return kinds.get(FIELDS[name], texts)


def _fields(*kinds: str) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(name for name, kind in FIELDS.items() if kind in kinds))


_ALL = _fields("text", "texts", "number", "moment", "flag")


@st.composite
def _ranges(draw: st.DrawFn) -> Range:
    name = draw(_fields("text", "number", "moment"))
    gte, lt = draw(scalars(name)), draw(scalars(name))
    sides = draw(st.sampled_from([(gte, None), (None, lt), (gte, lt)]))
    return Range(name, *sides)


_LEAVES: st.SearchStrategy[Filter] = st.one_of(
    _ALL.flatmap(lambda name: st.builds(Eq, st.just(name), scalars(name))),
    _ALL.flatmap(
        lambda name: st.builds(
            In, st.just(name), st.lists(scalars(name), min_size=1, max_size=4).map(tuple)
        )
    ),
    _ranges(),
    st.builds(Missing, _ALL),
)


def _combined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.builds(AllOf, several) | st.builds(AnyOf, several) | st.builds(Not, parts)


filters: st.SearchStrategy[Filter] = st.recursive(_LEAVES, _combined, max_leaves=6)


@st.composite
def stored_rows(draw: st.DrawFn, *, near: Filter | None = None) -> dict[str, FieldValue]:
    """Fields as indexes get them (moments in milliseconds), without tenant and owner. Values
    come often from `near`, so that filters match at all."""
    asked = _values(near) if near is not None else {}
    row: dict[str, FieldValue] = {}
    others = draw(st.sets(_ALL, max_size=3))
    for name in sorted((asked.keys() | others) - {"tenant", "owner"}):
        row[name] = draw(_value(name, asked.get(name, [])))
    return row


def _value(name: str, asked: list[Scalar]) -> st.SearchStrategy[FieldValue]:
    one = scalars(name) if not asked else st.sampled_from(asked) | scalars(name)
    if FIELDS[name] == "texts":
        return st.lists(one.map(str), max_size=3).map(tuple)
    return st.none() | one.map(lambda at: epoch_ms(at) if isinstance(at, datetime) else at)


def _values(where: Filter) -> dict[str, list[Scalar]]:
    found: dict[str, list[Scalar]] = {}
    match where:
        case Eq(name, value):
            found[name] = [value]
        case In(name, values):
            found[name] = list(values)
        case Range(name, gte, lt):
            found[name] = [bound for bound in (gte, lt) if bound is not None]
        case Missing(name):
            found[name] = []
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                for name, held in _values(part).items():
                    found.setdefault(name, []).extend(held)
        case Not(part):
            found = _values(part)
    return found
