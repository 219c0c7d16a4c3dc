"""Random rows, filters and histories of a text index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from cluster.filters import AllOf, AnyOf, Eq, Filter, In, Missing, Not, Range, epoch_ms
from cluster.model import Scope
from cluster.stores.protocols import TextIndex, TextRow
from contract.text_index import ACME, asked, row

TEXTS = st.one_of(
    st.sampled_from(["a", "A", "ab", "b", "中", 'a"', "a\\", "*", "😀", " a"]),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4
    ),
)
MOMENTS = st.integers(-3, 3).map(
    lambda ms: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(0, 0, ms * 500)
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "path": TEXTS,
    "tags": TEXTS,
    "owner": st.sampled_from(["ann", "bob"]),
    "authority": st.one_of(st.integers(-2, 2), st.sampled_from([0.5, -0.0, 1e-300])),
    "said_at": MOMENTS,
    "newest_edition": st.booleans(),
}
NAMES = st.sampled_from(sorted(VALUES))
ORDERED = st.sampled_from(["path", "authority", "said_at"])


@st.composite
def leaves(draw: st.DrawFn) -> Filter:
    name = draw(NAMES)
    match draw(st.sampled_from(["eq", "in", "range", "missing"])):
        case "eq":
            return Eq(name, draw(VALUES[name]))
        case "in":
            return In(name, tuple(draw(st.lists(VALUES[name], min_size=1, max_size=4))))
        case "range":
            ordered = draw(ORDERED)
            low, high = draw(VALUES[ordered]), draw(st.none() | VALUES[ordered])
            return Range(ordered, low, high) if draw(st.booleans()) else Range(ordered, lt=low)
        case _:
            return Missing(name)


def branches(below: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    parts = st.lists(below, min_size=1, max_size=3).map(tuple)
    return st.one_of(parts.map(AllOf), parts.map(AnyOf), below.map(Not))


FILTERS: st.SearchStrategy[Filter] = st.recursive(leaves(), branches, max_leaves=6)
TERMS = st.lists(st.sampled_from("abcde"), max_size=8)


@st.composite
def rows(draw: st.DrawFn) -> TextRow:
    fields: dict[str, Any] = {}
    for name, values in VALUES.items():
        value = draw(st.none() | values)
        if name == "tags":
            value = tuple(draw(st.lists(values, max_size=3)))
        fields[name] = epoch_ms(value) if isinstance(value, datetime) else value
    name = f"c{draw(st.integers(0, 6))}"
    return row(name, draw(TERMS), version=draw(st.integers(1, 99)), **fields)


STEPS = st.lists(
    st.one_of(
        st.lists(rows(), min_size=1, max_size=6).map(tuple),
        st.lists(st.integers(0, 6).map(lambda n: f"c{n}"), min_size=1, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


async def run(index: TextIndex, steps: list[tuple[Any, ...]]) -> None:
    for step in steps:
        if isinstance(step[0], str):
            await index.delete(step)
        else:
            await index.upsert(step)


async def same_answers(
    reference: TextIndex, real: TextIndex, where: list[Filter], *, limit: int
) -> None:
    """Both find the same rows, and the real one gives the best of them, best first."""
    for wall in [None, *where]:
        for scope in (ACME, Scope(tenant="acme", owner="ann")):
            expected, found = [
                dict(await index.search(asked("a", "b"), scope=scope, where=wall, limit=100))
                for index in (reference, real)
            ]
            assert found.keys() == expected.keys()
            best = await real.search(asked("a", "b"), scope=scope, where=wall, limit=limit)
            assert best == sorted(found.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]
