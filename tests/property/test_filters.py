"""What holds for every filter and every row, and that no value changes an expression's shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.errors import InvalidFilter
from cluster.filters import (
    FIELDS,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    Scalar,
    fields_of,
    matches,
    parse_filter,
    scoped,
)
from cluster.model import Scope
from cluster.stores.milvus.filters import render, stored_text, text_literal
from contract.filter_strategies import filters, scalars, stored_rows, texts

# A busy machine is no fault of the strategies.
busy = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_LITERAL = re.compile(r'"(?:[^"\\\n\r]|\\["\\nrt])*"')
_BARE = re.compile(r"[a-z_]+|-?\d+(\.\d+)?(e[+-]\d+)?|[=!<>]=?|[()\[\],]| ")


def as_json(where: Filter) -> dict[str, Any]:
    match where:
        case Eq(name, value):
            return {name: _plain(value)}
        case In(name, values):
            return {name: [_plain(value) for value in values]}
        case Range(name, gte, lt):
            sides = {"gte": gte, "lt": lt}
            return {name: {side: _plain(at) for side, at in sides.items() if at is not None}}
        case Missing(name):
            return {name: None}
        case AllOf(parts):
            return {"all_of": [as_json(part) for part in parts]}
        case AnyOf(parts):
            return {"any_of": [as_json(part) for part in parts]}
        case Not(part):
            return {"not": as_json(part)}


def _plain(value: Scalar) -> str | int | float | bool:
    return value.isoformat() if isinstance(value, datetime) else value


@busy
@given(where=filters)
def test_json_and_back_is_the_same_filter(where: Filter) -> None:
    assert parse_filter(json.loads(json.dumps(as_json(where)))) == where


@busy
@given(data=st.data())
def test_not_and_de_morgan(data: st.DataObject) -> None:
    one, other = data.draw(filters), data.draw(filters)
    held = data.draw(stored_rows(near=AllOf((one, other))))
    assert matches(Not(one), held) is not matches(one, held)
    assert matches(Not(AllOf((one, other))), held) == matches(AnyOf((Not(one), Not(other))), held)
    assert matches(AllOf((one, other)), held) == (matches(one, held) and matches(other, held))


@busy
@given(data=st.data())
def test_a_list_is_any_of_its_values(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    values = tuple(data.draw(st.lists(scalars(name), min_size=1, max_size=4)))
    held = data.draw(stored_rows(near=In(name, values)))
    each = AnyOf(tuple(Eq(name, value) for value in values))
    assert matches(In(name, values), held) == matches(each, held)


@busy
@given(where=filters, tenant=st.sampled_from(["a", "b"]), owner=st.sampled_from(["", "x", "y"]))
def test_no_filter_shows_a_foreign_row(where: Filter, tenant: str, owner: str) -> None:
    held = {"tenant": tenant, "owner": owner or None}
    inside = matches(scoped(Scope(tenant="a", owner="x"), where), held)
    assert not inside or (tenant == "a" and owner in ("", "x"))
    assert fields_of(where) <= set(FIELDS)


@busy
@given(where=filters, tags_as=st.sampled_from(["array", "digests"]))
def test_a_rendered_filter_is_known_words_around_whole_texts(where: Filter, tags_as: Any) -> None:
    """Texts taken out, only field names, operators and numbers are left, in balance."""
    left = _LITERAL.sub("", render(where, tags_as=tags_as))
    assert '"' not in left
    words = list(_words(left))
    functions = {"and", "or", "not", "in", "like", "array_contains_any", "array_length"}
    assert {word for word in words if word.isidentifier()} <= functions | set(FIELDS)
    assert words.count("(") == words.count(")")
    assert words.count("[") == words.count("]")


@busy
@given(text=texts)
def test_a_literal_reads_back_as_its_text(text: str) -> None:
    literal = text_literal(text)
    assert _LITERAL.fullmatch(literal)
    back = {"n": "\n", "r": "\r", "t": "\t"}
    assert re.sub(r"\\(.)", lambda m: back.get(m[1], m[1]), literal[1:-1]) == text


@busy
@given(
    head=st.integers(4080, 4100),
    tail=st.text(st.sampled_from("ab中🙂"), max_size=30),
    bound=st.integers(4070, 4096),
    last=st.sampled_from("ab中"),
)
def test_cutting_a_long_text_changes_no_comparison(
    head: int, tail: str, bound: int, last: str
) -> None:
    held = "a" * head + tail
    asked = ("a" * (bound - 3) + last)[:4096]
    kept = stored_text(held)
    assert (kept == asked, kept < asked) == (held == asked, held < asked)


@busy
@given(
    raw=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*sorted(FIELDS), "all_of", "any_of", "not", "gte", "lt", "x"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_is_a_filter_or_refused(raw: object) -> None:
    try:
        where = parse_filter(raw)
    except InvalidFilter:
        return
    assert matches(where, {}) is not matches(Not(where), {})


def test_the_shape_test_itself_can_fail() -> None:
    with pytest.raises(AssertionError):
        list(_words('product == "a'))


def _words(expression: str) -> Iterator[str]:
    at = 0
    while at < len(expression):
        found = _BARE.match(expression, at)
        assert found, expression[at:]
        yield found[0]
        at = found.end()
