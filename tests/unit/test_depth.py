"""How far down the channels look."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cluster.filters import AllOf, AnyOf, Eq, Filter
from cluster.model import Scope
from serve.plan.depth import CONVERSATION_CANDIDATES, TIMED_CANDIDATES, inside_one_conversation
from serve.plan.planner import Known, Question, plan_question

HERE = Eq("conversation", "c1")


def limits(text: str, *, where: Filter | None = None, limit: int = 5) -> dict[str, int]:
    question = Question(
        text=text,
        scope=Scope(tenant="t"),
        limit=limit,
        now=datetime(2026, 5, 1, tzinfo=UTC),
        deadline_s=2.0,
        where=where,
        channels=("semantic", "keyword", "recent"),
    )
    plan = plan_question(question, known=Known())
    return {channel.name: channel.limit for channel in plan.channels}


def test_every_turn_of_one_conversation_is_looked_at() -> None:
    deep = limits("where did we go", where=AllOf((Eq("kind", "turn"), HERE)))
    assert deep == {
        "semantic": CONVERSATION_CANDIDATES,
        "keyword": CONVERSATION_CANDIDATES,
        "recent": 20,
    }


def test_a_question_about_a_time_looks_deeper() -> None:
    assert limits("what happened on 5 May 2025")["keyword"] == TIMED_CANDIDATES
    assert limits("what happened")["keyword"] == 50


def test_longer_lists_are_not_made_shorter() -> None:
    assert limits("what happened on 5 May 2025", limit=100)["keyword"] == 200


@pytest.mark.parametrize(
    ("where", "inside"),
    [
        (None, False),
        (HERE, True),
        (Eq("session", "s1"), True),
        (AllOf((Eq("kind", "turn"), HERE)), True),
        (AnyOf((HERE, Eq("kind", "turn"))), False),
        (Eq("kind", "turn"), False),
    ],
)
def test_which_filters_name_one_conversation(where: Filter | None, inside: bool) -> None:
    assert inside_one_conversation(where) is inside
