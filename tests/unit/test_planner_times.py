"""The plan keeps the times of its question, also over the wire."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from serve.plan.as_json import plan_from_json, plan_json
from serve.plan.plan import QueryPlan
from serve.plan.planner import Known, Question, plan_question

SCOPE = Scope(tenant="t")
NOW = datetime(2026, 4, 15, 2, tzinfo=UTC)


def plan(text: str, **given: Any) -> QueryPlan:
    question = Question(text=text, scope=SCOPE, limit=5, now=NOW, deadline_s=1.0, **given)
    return plan_question(question, known=Known())


def told(made: QueryPlan) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(plan_json(made)))
    return read


def test_times_are_read_in_the_zone_of_the_question() -> None:
    (utc,) = plan("what did we say yesterday?").times
    (tokyo,) = plan("what did we say yesterday?", zone="Asia/Tokyo").times
    assert utc.begins == datetime(2026, 4, 14, tzinfo=UTC)
    assert tokyo.begins == datetime(2026, 4, 13, 15, tzinfo=UTC)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="timezone: 'Utopia'"):
        plan("yesterday", zone="Utopia")


def test_times_come_back_from_json_as_they_were() -> None:
    made = plan("比较去年国庆和 since March 2024 的记录, every Monday", zone="Asia/Shanghai")
    assert [each.kind for each in made.times] == ["relative", "range", "recurring"]
    again = plan_from_json(told(made), scope=SCOPE)
    assert again == made
    assert again.zone == "Asia/Shanghai"
    assert again.times[1].ends is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "holiday"}, r"plan\.times\.0\.kind"),
        ({"grain": "fortnight"}, r"plan\.times\.0\.grain"),
        ({"begins": "2024-01-01T00:00:00"}, r"plan\.times\.0\.begins: a moment is a text with"),
        ({"colour": 1}, r"plan\.times\.0\.colour: unknown key"),
    ],
)
def test_a_time_that_does_not_fit_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    raw = told(plan("in May 2024"))
    raw["times"][0] |= change
    with pytest.raises(InvalidRequest, match=message):
        plan_from_json(raw, scope=SCOPE)


@pytest.mark.parametrize("text", ["what is the limit right now?", "目前的限制是多少"])
def test_now_is_no_time_to_look_in(text: str) -> None:
    assert plan(text).times == ()


def test_a_plan_without_times_has_none() -> None:
    made = plan("How long are access tokens valid?")
    assert made.times == ()
    raw = told(made)
    del raw["times"], raw["zone"]
    assert plan_from_json(raw, scope=SCOPE) == made
