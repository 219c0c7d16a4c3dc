"""A plan as JSON and back: the same plan, and nothing that it does not know."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.errors import InvalidFilter, InvalidRequest
from cluster.filters import parse_filter
from cluster.model import Scope
from serve.plan.as_json import plan_from_json, plan_json
from serve.plan.plan import QueryPlan
from serve.plan.planner import Known, Question, plan_question

SCOPE = Scope(tenant="t", owner="o")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
KNOWN = Known(editions=(("tidb", "7.1"), ("tidb", "7.5"), ("harbour", "2.0")))
DEEP: dict[str, Any] = {"any_of": [{"product": "a", "tags": None, "authority": {"gte": 0.5}}]}
for _ in range(6):
    DEEP = {"any_of": [DEEP, {"product": "b", "language": "zh"}]}


def plan(text: str, **given: Any) -> QueryPlan:
    question = Question(text=text, scope=SCOPE, limit=7, now=NOW, deadline_s=1.5, **given)
    return plan_question(question, known=KNOWN)


def told(made: QueryPlan) -> dict[str, Any]:
    """As it goes over the wire."""
    read: dict[str, Any] = json.loads(json.dumps(plan_json(made)))
    return read


@pytest.mark.parametrize(
    "made",
    [
        plan("How does AUTO_INCREMENT work in TiDB 7.5 or Harbour 2.0?"),
        plan("最近有什么更新", fusion="reciprocal_rank"),
        plan("TiDB 9.9 的自增列"),
        plan("😀"),
        plan("tokens", where=parse_filter(DEEP), channels=("keyword",)),
        plan("tokens", where=parse_filter({"said_at": {"lt": "2024-05-01"}})),
    ],
)
def test_a_plan_comes_back_as_it_was(made: QueryPlan) -> None:
    assert plan_from_json(told(made), scope=SCOPE) == made


def test_the_scope_is_the_reader_s_own() -> None:
    raw = told(plan("tokens"))
    assert "scope" not in raw
    other = Scope(tenant="u")
    assert plan_from_json(raw, scope=other).scope == other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scope": {"tenant": "u"}}, "plan.scope: unknown key"),
        ({"where": {"tenant": "u"}}, "plan.where: unknown key"),
        ({"colour": 1}, "plan.colour: unknown key"),
        ({"top_k": 0}, "plan.top_k: "),
        ({"top_k": "7"}, "plan.top_k: "),
        ({"top_k": 10**9}, "plan.top_k: "),
        ({"deadline_ms": 1}, "plan.deadline_ms: "),
        ({"deadline_ms": "long"}, "plan.deadline_ms: "),
        ({"deadline_ms": True}, "plan.deadline_ms: "),
        ({"now": "2024-05-01T00:00:00"}, "plan.now: a moment is a text with its zone"),
        ({"now": 5}, "plan.now: a moment is a text with its zone"),
        ({"now": "then"}, "plan.now: "),
        ({"fusion": "magic"}, "plan.fusion: "),
        ({"query": "a\0b"}, "NUL"),
        ({"query": "x" * 10_001}, "plan.query: "),
        ({"query": "\ud800"}, "plan"),
        ({"versions": {"newest": True}}, "plan.versions.newest: unknown key"),
        ({"channels": [{"name": "keyword", "limit": 5}]}, "plan.channels.0.weight: missing"),
        ({"channels": [{"name": "k", "limit": 5, "weight": -1}]}, "plan.channels.0.weight: "),
        ({"channels": [{"name": "k", "limit": 10**6, "weight": 1}]}, "plan.channels.0.limit: "),
        ({"terms": [{"term": "a", "weight": 1e9, "surface": "a"}]}, "plan.terms: a term is"),
        ({"terms": [{"term": "", "weight": 1, "surface": "a"}]}, "plan.terms: a term is"),
        ({"terms": None}, "plan.terms: "),
        ({"zone": "Nowhere/X"}, "plan.zone: timezone: 'Nowhere/X' is unknown; name one of"),
        ({"zone": "../../etc/passwd"}, "plan.zone: timezone: '../../etc/passwd' is unknown"),
        ({"zone": ""}, "plan.zone: timezone: '' is unknown"),
        ({"notes": ["x"] * 65}, "plan.notes: "),
        ({"versions": {"asked": ["x"] * 65}}, "plan.versions.asked: "),
        ({"versions": {"chosen": ["x"] * 40_001}}, "plan.versions.chosen: "),
        ({"versions": {"parts": [{}] * 17}}, "plan.versions.parts: "),
        ({"versions": {"current": [{}] * 40_001}}, "plan.versions.current: "),
        (
            {"versions": {"current": [{"chosen": ["x"] * 2000}] * 21}},
            "plan.versions.current: at most 40,000 names and editions together",
        ),
        ({"versions": {"parts": [{"names": ["x"] * 257}]}}, "plan.versions.parts.0.names: "),
        ({"versions": {"parts": [{"chosen": ["x"] * 2001}]}}, "plan.versions.parts.0.chosen: "),
        ({"selection": {"known_copies": 21}}, "plan.selection.known_copies: "),
        ({"selection": {"known_copies_s": 61}}, "plan.selection.known_copies_s: "),
    ],
)
def test_what_does_not_fit_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    raw = told(plan("tokens in TiDB 7.5")) | change
    with pytest.raises(InvalidRequest, match=message):
        plan_from_json(raw, scope=SCOPE)


def test_numbers_that_are_none_are_refused() -> None:
    raw = told(plan("tokens")) | {"terms": [{"term": "a", "weight": float("nan"), "surface": "a"}]}
    with pytest.raises(InvalidRequest, match=r"plan\.terms\.0\.weight"):
        plan_from_json(raw, scope=SCOPE)


def test_a_wrong_filter_is_refused_as_one() -> None:
    raw = told(plan("tokens")) | {"filter": {"colour": "red"}}
    with pytest.raises(InvalidFilter, match="unknown filter field 'colour'"):
        plan_from_json(raw, scope=SCOPE)


def test_a_missing_key_is_told() -> None:
    raw = told(plan("tokens"))
    del raw["now"]
    with pytest.raises(InvalidRequest, match=r"plan\.now: missing; send the plan as"):
        plan_from_json(raw, scope=SCOPE)
