"""A question as long as one may be takes no rule long, whatever it consists of."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from cluster.model import Scope
from serve.plan.plan import MAX_ASKED, MAX_EDITIONS
from serve.plan.planner import plan_question
from serve.plan.question import Known, Question
from serve.plan.versions import current_editions

CHARS = 8192
NOW = datetime(2026, 5, 1, tzinfo=UTC)
KNOWN = Known(editions=(("harbour", "1.0"), ("tidb", "7.5")))


@pytest.mark.parametrize(
    ("before", "piece", "behind"),
    [
        ("a", " ", "b"),
        ("a", "\t", "b"),
        ("a", "\n", "b"),
        ("a", "\u3000", "b"),
        ("a", " \t", "b"),
        ("", " ", "b"),
        ("a,", " ", "docs only"),
        ("", "," + " " * 60, "b"),
        ("valid in 2024", " ", "b"),
        ("2024年", "\u3000", "仍"),
        ("only official docs", "，", "b"),
        ("", "a ", ""),
        ("", "，", ""),
        ("", "1 ", ""),
        ("", '"', ""),
        ("", "'", ""),
        ("", "“", ""),
        ("", "`", ""),
        ("“", "。 ", "a”"),
        ("", "why does ", ""),
        ("", "Aa ", ""),
    ],
)
def test_a_long_question_is_planned_at_once(before: str, piece: str, behind: str) -> None:
    text = before + piece * ((CHARS - len(before + behind)) // len(piece)) + behind
    question = Question(text=text, scope=Scope(tenant="t"), limit=5, now=NOW, deadline_s=2.0)
    started = time.process_time()
    plan = plan_question(question, known=KNOWN)
    assert time.process_time() - started < 1
    assert plan.query == text


def test_many_versions_among_many_editions_are_planned_at_once() -> None:
    text = " ".join(f"v{number}.{number % 7}" for number in range(1200))[:CHARS]
    editions = tuple(("", f"{number}.{number % 9}") for number in range(300))
    question = Question(text=text, scope=Scope(tenant="t"), limit=5, now=NOW, deadline_s=2.0)
    started = time.process_time()
    plan = plan_question(question, known=Known(editions=editions))
    assert time.process_time() - started < 1
    assert plan.editions.asked[:2] == ("0.0", "1.1")
    assert len(plan.editions.asked) == MAX_ASKED
    assert sum("not here either" in note for note in plan.notes) == 1


def test_more_products_than_a_plan_has_room_for() -> None:
    known = [(f"p{n:05}", f"{e}.0") for n in range(MAX_EDITIONS) for e in (1, 2)]
    current = current_editions(known)
    assert sum(each.size for each in current) == MAX_EDITIONS
    assert current[0].chosen == ("2.0",)
