"""What kind of answer questions want, and what follows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.model import Scope
from rerank.selection import USUAL_QUOTAS, Quota, SelectionPlan
from serve.plan.intent import FOLLOWS, intents_of
from serve.plan.plan import QueryPlan
from serve.plan.planner import plan_question
from serve.plan.question import Known, Question

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def plan(text: str, **given: Any) -> QueryPlan:
    question = Question(
        text=text, scope=Scope(tenant="t"), limit=10, now=NOW, deadline_s=2.0, **given
    )
    return plan_question(question, known=Known())


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What is the difference between HNSW and IVF?", "comparison"),
        ("自增列和序列有什么区别", "comparison"),
        ("What changed in 7.5?", "change"),
        ("since which version is it on", "change"),
        ("哪个版本开始支持外键", "change"),
        ("error FIT-2024-0087 on start", "troubleshooting"),
        ("启动报错怎么办", "troubleshooting"),
        ("How do I rotate the key?", "how_to"),
        ("如何配置缓存", "how_to"),
        ("What is a tombstone?", "definition"),
        ("what does HNSW mean", "definition"),
        ("什么是墓碑", "definition"),
        ("墓碑是什么？", "definition"),
        ("what did we decide about the window", "memory"),
        ("我们上次聊到哪里了", "memory"),
        ("Summarise the incident", "summary"),
        ("总结一下这次事故", "summary"),
        ("List all supported indexes", "list"),
        ("列出支持的索引", "list"),
        ("latest news on tokens", "recent"),
        ("最近有什么消息", "recent"),
        ("which client would you recommend", "opinion"),
        ("哪种索引值得用", "opinion"),
        ("How long are access tokens valid?", "fact"),
        ("访问令牌的有效期是多久", "fact"),
        ("张世昌的职业是什么？", "fact"),
        ("What is the capital of France?", "fact"),
    ],
)
def test_the_main_intent(question: str, intent: str) -> None:
    assert intents_of(question)[0] == intent


def test_a_question_may_want_several_things() -> None:
    assert intents_of("What is new in the latest release?") == ("change", "recent")


def test_what_is_new_is_looked_for_among_what_came_last() -> None:
    names = [channel.name for channel in plan("latest changes in tokens").channels]
    assert "recent" in names
    assert "recent" not in [channel.name for channel in plan("tokens").channels]


def test_what_was_said_is_looked_for_with_its_neighbours() -> None:
    names = [channel.name for channel in plan("what did we decide about tokens").channels]
    assert "neighbours" in names


def test_several_passages_make_a_comparison() -> None:
    usual, wide = plan("tokens"), plan("difference between tokens and keys")
    limits = {channel.name: channel.limit for channel in wide.channels}
    assert limits == {channel.name: 2 * channel.limit for channel in usual.channels}
    assert wide.rerank.pool == 2 * usual.rerank.pool


def test_a_varied_selection_holds_the_evidence_that_the_intent_needs() -> None:
    varied = SelectionPlan(quotas=USUAL_QUOTAS)
    how_to = plan("How do I rotate the key?", selection=varied).selection
    assert how_to.quotas == FOLLOWS["how_to"].quotas != USUAL_QUOTAS
    assert how_to.quotas[0] == Quota(roles=("procedure",), at_least=2, at_most=3)


def test_a_caller_s_own_quotas_stay_and_plain_search_gets_none() -> None:
    own = (Quota(roles=("boundary",), at_least=1, at_most=1),)
    given = SelectionPlan(quotas=own)
    assert plan("How do I rotate the key?", selection=given).selection.quotas == own
    assert plan("How do I rotate the key?").selection.quotas == ()
