"""Names, times, kinds and neighbours: what the channels decide without a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passages import passages_of

from cluster.errors import InvalidRequest
from cluster.filters import AllOf, Eq, In, matches
from cluster.model import Hit, Scope
from cluster.stores.names import BREAKS, folded_name, is_named, ranges_of
from cluster.stores.protocols import Named
from rerank.dedup import Block
from rerank.kinds import KindBudget, shortlist_of_kinds
from rerank.selection import USUAL_SELECTION, shortlist
from serve.channels.facts import MAX_ALIKE, telling
from serve.channels.neighbours import SEEDS, seeds_of
from serve.channels.time_range import inside_of
from serve.plan.channels import CHANNELS, RANK_WEIGHTS, SCORE_WEIGHTS, names_in, session_of
from serve.plan.planner import Known, Question, plan_question
from serve.plan.time_mention import TimeMention

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SCOPE = Scope(tenant="acme")

letters = st.text(alphabet="aAbÉ红_ (（.", max_size=6)
hours = st.integers(-50, 50).map(lambda hour: NOW + timedelta(hours=hour))
moments = st.none() | hours


def question(text: str, **more: Any) -> Question:
    return Question(text=text, scope=SCOPE, limit=5, now=NOW, deadline_s=1.0, **more)


def asked(text: str, **more: Any) -> list[str]:
    plan = plan_question(question(text, **more), known=Known())
    return [channel.name for channel in plan.channels]


@settings(deadline=None)
@given(letters, letters.filter(bool))
def test_what_is_named_lies_in_a_range_of_the_name_and_nothing_else_does(
    heading: str, name: str
) -> None:
    """By code points, as both ledgers compare."""
    held = folded_name(heading)
    ways = [low == folded for folded, low, high in ranges_of([name]) if low <= held < high]
    named = is_named(heading, name)
    assert bool(ways) == (named is not None)
    assert (True in ways) == (named is True)


def test_a_break_must_follow_a_beginning() -> None:
    assert is_named("Max_Size", "max_size") is True
    assert {is_named(f"max_size{mark}new", "MAX_SIZE") for mark in BREAKS} == {False}
    assert is_named("max_size_limit", "max_size") is None
    assert is_named("the max_size", "max_size") is None
    assert is_named("É", "é") is None  # letters beyond ASCII keep their case


@settings(deadline=None)
@given(
    said=moments,
    updated=moments,
    published=moments,
    bounds=st.lists(st.tuples(moments, moments), max_size=3),
)
def test_inside_the_times_is_where_the_first_moment_of_a_passage_lies(
    said: datetime | None,
    updated: datetime | None,
    published: datetime | None,
    bounds: list[tuple[datetime | None, datetime | None]],
) -> None:
    times = [
        TimeMention(raw="t", start=0, end=1, kind="range", grain="hour", begins=begins, ends=ends)
        for begins, ends in bounds
    ]
    moment = said or updated or published
    wanted = moment is not None and any(time.holds(moment) for time in times)
    inside = inside_of(times)
    row = {"said_at": said, "updated_at": updated, "published_at": published}
    assert (inside is not None and matches(inside, row)) == wanted
    assert (inside is None) == (not any(time.placed for time in times))


@settings(deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["document", "turn"]), max_size=12),
    budgets=st.permutations(["document", "turn"]),
    limits=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_each_kind_has_at_most_its_budget_and_the_best_of_it(
    kinds: list[Any], budgets: list[Any], limits: tuple[int, int]
) -> None:
    blocks = []
    for place, kind in enumerate(kinds):
        (passage,) = passages_of(f"text {place} alone", [(0, 12)], revision=f"r{place}")
        passage = replace(passage, kind=kind, document_id=f"d{place}")
        blocks.append(Block(passages=(passage,), score=1.0 - place / 100, hits=()))
    planned = [
        KindBudget(kind=kind, limit=limit) for kind, limit in zip(budgets, limits, strict=True)
    ]
    chosen = shortlist_of_kinds(blocks, planned, limit=99, plan=USUAL_SELECTION)
    assert [block.score for block in chosen] == sorted((b.score for b in chosen), reverse=True)
    for budget in planned:
        of_kind = [block for block in blocks if block.passages[0].kind == budget.kind]
        wanted = shortlist(of_kind, limit=budget.limit, plan=USUAL_SELECTION)[: budget.limit]
        assert [b for b in chosen if b.passages[0].kind == budget.kind] == list(wanted)
    whole = shortlist(blocks, limit=5, plan=USUAL_SELECTION)
    assert shortlist_of_kinds(blocks, (), limit=5, plan=USUAL_SELECTION) == list(whole)


def test_names_that_very_many_have_tell_nothing() -> None:
    common = [Named(id=f"c{at}", name="overview", whole=True) for at in range(MAX_ALIKE + 1)]
    rare = [Named(id="c", name="max_size", whole=False)]
    assert telling([*common, *rare]) == rare
    assert telling(common[:-1]) == common[:-1]


def test_the_best_hits_of_each_channel_are_looked_around() -> None:
    hits = [Hit(chunk_id=f"c{at}", channel="a", rank=at, score=0.0) for at in range(1, SEEDS + 5)]
    hits.append(Hit(chunk_id="c4", channel="b", rank=1, score=0.0))
    seeds = seeds_of(hits)
    assert len(seeds) == SEEDS
    assert (seeds["c1"], seeds["c2"], seeds["c4"]) == (1.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("text", "more", "channels"),
    [
        ("how long are tokens valid", {}, ["semantic", "keyword"]),
        ("令牌的有效期是多久", {}, ["semantic", "keyword"]),
        ("what does `max_size` do", {}, ["semantic", "keyword", "facts"]),
        ("《红楼梦》的作者是谁", {}, ["semantic", "keyword", "facts"]),
        ("what happened in May 2024", {}, ["semantic", "keyword", "time_range"]),
        ("2024年5月发生了什么", {}, ["semantic", "keyword", "time_range"]),
        ("anything new lately", {}, ["semantic", "keyword", "recent"]),
        ("and then", {"where": Eq("session", "s")}, ["semantic", "keyword", "session"]),
        ("and then", {"where": In("session", ("s", "t"))}, ["semantic", "keyword"]),
        ("and then", {"kinds": ("turn",)}, ["semantic", "keyword", "neighbours"]),
        ("!!", {"channels": ("keyword", "facts", "session", "time_range")}, []),
    ],
)
def test_a_channel_is_asked_where_it_has_something_to_go_by(
    text: str, more: dict[str, Any], channels: list[str]
) -> None:
    assert asked(text, **more) == channels


def test_every_channel_has_its_weights() -> None:
    assert set(SCORE_WEIGHTS) == set(RANK_WEIGHTS) == set(CHANNELS)
    structured = [RANK_WEIGHTS[name] for name in ("facts", "semantic", "time_range", "keyword")]
    assert structured == [1.2, 1.0, 0.9, 0.85]


def test_a_session_is_the_one_that_scope_or_filter_demand() -> None:
    plan = plan_question(question("and then"), known=Known())
    assert session_of(plan) is None
    assert session_of(replace(plan, where=AllOf((Eq("kind", "turn"), Eq("session", "s"))))) == "s"
    assert session_of(replace(plan, scope=Scope(tenant="acme", session="t"))) == "t"
    assert names_in(plan) == ()


def test_budgets_say_how_many_and_of_what() -> None:
    both = (KindBudget(kind="document", limit=3), KindBudget(kind="turn", limit=2))
    plan = plan_question(question("tokens", budgets=both), known=Known())
    assert (plan.limit, plan.kinds, plan.where) == (5, both, None)
    one = plan_question(question("tokens", budgets=both[:1]), known=Known())
    assert (one.limit, one.kinds, one.where) == (3, (), Eq("kind", "document"))
    with pytest.raises(InvalidRequest, match="not among the kinds"):
        plan_question(question("tokens", kinds=("turn",), budgets=both[:1]), known=Known())
