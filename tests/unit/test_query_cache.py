"""Which answers are kept, under what, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passages import passages_of

from cluster.filters import Eq
from cluster.model import ChannelFailure, Scope
from cluster.stores.protocols import Standing
from rerank.citations import cite
from rerank.dedup import Block
from serve.plan.planner import Known, Question, plan_question
from serve.query_cache import MAX_AGE_S, QueryCache, key_of, size_of
from serve.retrieve import Retrieved

NOW = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
SCOPE = Scope(tenant="acme")
PLAN = plan_question(
    Question(text="q", scope=SCOPE, limit=5, now=NOW, deadline_s=1.0), known=Known()
)


def answer(text: str = "q", *, scope: Scope = SCOPE, body: str = "An answer.", **more: Any) -> Any:
    (passage,) = passages_of(body, [(0, len(body))])
    block = Block(passages=(passage,), score=1.0, hits=())
    return Retrieved(
        **{
            "plan": replace(PLAN, query=text, scope=scope),
            "passages": (cite(block, rank=1, text=body, surfaces=lambda _: (), filters=()),),
            "rankings": {"keyword": ("chk_a",)},
            "fused": ("chk_a",),
            "ranked": ("chk_a",),
            "failures": (),
            "notes": (),
            "timings_ms": {},
            "generation": "g",
            **more,
        }
    )


def at(writes: int, *, settled: bool = True) -> Standing:
    return Standing(writes=writes, settled=settled, has_usage=False)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_is_given_again_under_the_same_count_only() -> None:
    cache, found = QueryCache(entries=9), answer()
    for other in (6, 4):  # a write; a ledger that was restored from before
        cache.put(found, at(5))
        assert cache.get(found.plan, at(5), generation="g") == found
        assert cache.get(found.plan, at(other), generation="g") is None
        assert cache.get(found.plan, at(5), generation="g") is None
        assert (len(cache), cache.bytes, cache.tenants) == (0, 0, [])


def test_an_answer_that_was_begun_before_a_write_is_not_kept() -> None:
    cache, late, other = QueryCache(entries=9), answer("late"), answer("other")
    cache.put(other, at(6))
    cache.put(late, at(5))
    assert cache.get(late.plan, at(6), generation="g") is None
    assert cache.get(other.plan, at(6), generation="g") == other
    assert len(cache) == 1


def test_only_whole_answers_of_settled_stores_are_kept() -> None:
    cache = QueryCache(entries=9)
    cache.put(answer(failures=(ChannelFailure(channel="keyword", reason="late"),)), at(1))
    cache.put(answer(notes=("tokens are counted as they were stored",)), at(1))
    cache.put(answer(), at(1, settled=False))
    assert len(cache) == 0


def test_answers_go_when_they_are_old() -> None:
    clock = Clock()
    cache, found = QueryCache(entries=9, monotonic=clock), answer()
    cache.put(found, at(1))
    clock.now = MAX_AGE_S - 1
    assert cache.get(found.plan, at(1), generation="g") is not None
    clock.now = MAX_AGE_S
    assert cache.get(found.plan, at(1), generation="g") is None
    cache.put(found, at(1))
    clock.now = 3 * MAX_AGE_S
    cache.expire()
    assert (len(cache), cache.bytes, cache.tenants) == (0, 0, [])


def test_the_least_recently_asked_goes_first() -> None:
    cache = QueryCache(entries=2)
    first, second, third = answer("a"), answer("b"), answer("c")
    cache.put(first, at(1))
    cache.put(second, at(1))
    cache.get(first.plan, at(1), generation="g")
    cache.put(third, at(1))
    kept = [cache.get(one.plan, at(1), generation="g") for one in (first, second, third)]
    assert kept == [first, None, third]


def test_bytes_are_bounded_and_a_giant_is_not_kept() -> None:
    small, large = answer("a"), answer("b", body="x" * 20_000)
    assert size_of(large) > size_of(small) + 19_000
    cache = QueryCache(entries=9, max_bytes=size_of(large) + size_of(small) - 1)
    cache.put(small, at(1))
    cache.put(large, at(1))
    assert (len(cache), cache.bytes) == (1, size_of(large))
    cache.put(answer("c", body="x" * 200_000), at(1))
    assert cache.bytes == size_of(large)


def test_a_writing_tenant_leaves_the_others() -> None:
    ours, theirs = answer(), answer(scope=Scope(tenant="other"))
    cache = QueryCache(entries=9)
    cache.put(ours, at(1))
    cache.put(theirs, at(1))
    cache.see("acme", 2)
    assert len(cache) == 1
    assert cache.get(theirs.plan, at(1), generation="g") == theirs


@pytest.mark.parametrize(
    "other",
    [
        {"query": "another"},
        {"scope": Scope(tenant="acme", owner="ann")},
        {"scope": Scope(tenant="other")},
        {"where": Eq("product", "x")},
        {"limit": 6},
        {"fusion": "reciprocal_rank"},
        {"now": NOW + timedelta(minutes=1)},
        {"channels": ()},
        {"language": "zh"},
    ],
)
def test_whatever_changes_the_answer_changes_the_key(other: dict[str, Any]) -> None:
    plan = answer().plan
    assert key_of(replace(plan, **other), generation="g") != key_of(plan, generation="g")
    assert key_of(plan, generation="h") != key_of(plan, generation="g")


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_every_moment_has_a_key(now: str) -> None:
    plan = replace(PLAN, now=datetime.fromisoformat(now))
    assert key_of(plan, generation="g") != key_of(PLAN, generation="g")


def test_time_for_the_answer_and_seconds_are_no_part_of_it() -> None:
    plan = answer().plan
    same = replace(plan, deadline_s=0.5, now=NOW + timedelta(seconds=20))
    assert key_of(same, generation="g") == key_of(plan, generation="g")
    cache = QueryCache(entries=9)
    cache.put(answer(), at(1))
    found = cache.get(same, at(1), generation="g")
    assert found is not None
    assert found.plan == same


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "get", "write"]),
            st.sampled_from("abc"),
            st.sampled_from(["acme", "other"]),
        ),
        max_size=40,
    )
)
def test_no_history_gives_an_answer_from_before_a_write(steps: list[tuple[str, str, str]]) -> None:
    cache, writes = QueryCache(entries=2), {"acme": 0, "other": 0}
    for step, text, tenant in steps:
        made = answer(text, scope=Scope(tenant=tenant), body=f"{text}{writes[tenant]}")
        if step == "write":
            writes[tenant] += 1
        elif step == "put":
            cache.put(made, at(writes[tenant]))
        else:
            found = cache.get(made.plan, at(writes[tenant]), generation="g")
            assert found is None or found == made
    assert len(cache) <= 2
    assert cache.bytes >= 0
