"""Questions in two languages and the plans that they become."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from cluster.filters import AllOf, AnyOf, Eq, In, parse_filter
from cluster.model import Scope
from serve.plan.as_json import plan_json
from serve.plan.filter_json import filter_json
from serve.plan.plan import QueryPlan
from serve.plan.planner import Known, Question, plan_question

NOW = datetime(2026, 5, 1, tzinfo=UTC)
KNOWN = (
    ("harbour", "1.0"),
    ("harbour", "2.0"),
    ("milvus", "v2.3.x"),
    ("tidb", "5.0"),
    ("tidb", "7.1"),
    ("tidb", "7.5"),
)


def plan(text: str, **given: object) -> QueryPlan:
    question = Question(
        text=text,
        scope=Scope(tenant="t"),
        limit=10,
        now=NOW,
        deadline_s=2.0,
        **given,  # type: ignore[arg-type]  # the table below names fields of Question
    )
    return plan_question(question, known=Known(editions=KNOWN))


@pytest.mark.parametrize(
    ("text", "product", "chosen"),
    [
        ("How does AUTO_INCREMENT work in 7.5?", None, ("7.5",)),
        ("在 7.5 版本中，自增列怎么用？", None, ("7.5",)),
        ("7.5 版本的自增列怎么用", None, ("7.5",)),
        ("v2.3 里怎么建索引", None, ("v2.3.x",)),
        ("how to build an index in Milvus v2.3", "milvus", ("v2.3.x",)),
        ("TiDB 7.1 的 auto increment 缓存", "tidb", ("7.1",)),
        ("TiDB v5.0 placement rules", "tidb", ("5.0",)),
        ("What changed since v7.1?", None, ("7.1", "7.5")),
        ("自 7.1 版本起有什么变化", None, ("7.1", "7.5")),
        ("7.1 以来有什么变化", None, ("7.1", "7.5")),
        ("v7.2 及以上版本的默认值", None, ("7.5",)),
        ("what is allowed in TiDB 7.1 and later", "tidb", ("7.1", "7.5")),
        ("the default before v7.1 in TiDB", "tidb", ("5.0",)),
        ("TiDB v7.1 之前的默认值", "tidb", ("5.0",)),
        ("since Harbour v1.0", "harbour", ("1.0", "2.0")),
        ("版本 7.5 支持什么", None, ("7.5",)),
        ("token lifetime in version 2.0", None, ("2.0",)),
        ("Harbour 1.0 的令牌有效期", "harbour", ("1.0",)),
        ("difference between 7.1 and 7.5", None, ("7.1", "7.5")),
        ("7.1 和 7.5 版本有什么区别", None, ("7.1", "7.5")),
        ("在7.5版本中，自增列怎么用", None, ("7.5",)),
        ("7.5版本的自增列", None, ("7.5",)),
        ("v7.5里怎么用自增列", None, ("7.5",)),
        ("从7.1升级到7.5有什么变化", None, ("7.1", "7.5")),
        ("tidb 的7.5版有什么变化", "tidb", ("7.5",)),
        ("版本7.5的默认值", None, ("7.5",)),
        ("TiDB 7.5的默认值", "tidb", ("7.5",)),
        ("TiDB7.5的默认值", "tidb", ("7.5",)),
        ("v7.5日志怎么看", None, ("7.5",)),
        ("upgrading to 7.5", None, ("7.5",)),
    ],
)
def test_a_version_in_the_question_chooses_editions(
    text: str, product: str | None, chosen: tuple[str, ...]
) -> None:
    planned = plan(text)
    assert planned.editions.chosen == chosen
    assert planned.editions.product == product
    assert not planned.editions.newest_only
    assert planned.notes == ()
    wanted = In("product_version", chosen)
    assert planned.where == (AllOf((Eq("product", product), wanted)) if product else wanted)


@pytest.mark.parametrize(
    "text",
    [
        "How long are access tokens valid?",
        "访问令牌的有效期是多久",
        "It takes 7.5 seconds in the worst case, why?",
        "in 2.0 seconds",
        "内存占用在 7.5 GB 以上怎么办",
        "error FIT-2024-0087",
        "what happened on 2024-05-01",
        "192.168.7.5 is not reachable",
        "set the ratio to 0.75",
        "top 5 tips",
        "why does 3 of 5 replicas fail",
        "section 7.5.3.1 of the contract",
        "an angle in 3.14 radians",
        "in 7.5 radians",
        "error rate under 7.5",
        "pay from 2.0 dollars",
        "latency for 7.5 requests per second",
        "releases in 2024",
        "图7.5里的箭头",
        "第7.5节中的规定",
        "since 7.5 hours",
        "7.5 以上怎么办",
        "在7.5秒内返回",
        "内存在7.5GB以上怎么办",
        "比率为7.5%时",
    ],
)
def test_other_numbers_are_no_versions(text: str) -> None:
    planned = plan(text)
    assert planned.editions.newest_only
    assert planned.where == Eq("newest_edition", True)
    assert planned.notes == ()


def test_a_version_that_does_not_exist_is_told_and_the_newest_answers() -> None:
    planned = plan("TiDB 9.9 的自增列")
    assert planned.where == Eq("newest_edition", True)
    assert planned.notes == (
        "there is no tidb 9.9 here; there are 7.5, 7.1, 5.0. Answered from the newest",
    )


def test_a_reach_that_holds_no_version_is_told() -> None:
    (note,) = plan("TiDB before v5.0").notes
    assert note.startswith("there is no tidb version before 5.0 here; there are 7.5, 7.1, 5.0.")
    assert "there is no tidb 9.0 here" in plan("what is new since TiDB v9.0").notes[0]


def test_each_named_product_has_its_own_versions() -> None:
    planned = plan("TiDB 7.5 vs Harbour 2.0")
    assert planned.editions.chosen == ("7.5", "2.0")
    assert planned.where == AnyOf(
        (
            AllOf((Eq("product", "tidb"), In("product_version", ("7.5",)))),
            AllOf((Eq("product", "harbour"), In("product_version", ("2.0",)))),
        )
    )


def test_a_version_belongs_to_that_named_product_which_has_it() -> None:
    planned = plan("moving from Harbour to TiDB, token lifetime in 1.0")
    assert planned.where == AnyOf(
        (
            AllOf((Eq("product", "harbour"), In("product_version", ("1.0",)))),
            AllOf((Eq("product", "tidb"), Eq("newest_edition", True))),
        )
    )


def test_every_spelling_of_a_product_is_meant() -> None:
    question = Question(text="TIDB 7.5", scope=Scope(tenant="t"), limit=10, now=NOW, deadline_s=2.0)
    planned = plan_question(question, known=Known(editions=[("TiDB", "7.5"), ("tidb", "7.5.1")]))
    assert planned.where == AllOf(
        (In("product", ("TiDB", "tidb")), In("product_version", ("7.5",)))
    )


def test_the_longest_name_counts() -> None:
    known = Known(editions=[("tidb", "7.5"), ("tidb cloud", "7.5")])
    question = Question(
        text="TiDB Cloud 7.5", scope=Scope(tenant="t"), limit=10, now=NOW, deadline_s=2.0
    )
    planned = plan_question(question, known=known)
    assert planned.where == AllOf((Eq("product", "tidb cloud"), In("product_version", ("7.5",))))


def test_a_mere_hint_at_a_version_that_is_not_stored_is_none() -> None:
    assert plan("how many sides in 9.9?").notes == ()


@pytest.mark.parametrize("version", ["latest", "Current"])
def test_the_latest_version_is_the_newest_edition(version: str) -> None:
    planned = plan("TiDB auto increment", version=version)
    assert planned.where == Eq("newest_edition", True)
    assert planned.notes == ()


def test_where_nothing_has_editions_the_indexes_need_not_look() -> None:
    question = Question(
        text="how in v7.5?", scope=Scope(tenant="t"), limit=10, now=NOW, deadline_s=2.0
    )
    planned = plan_question(question, known=Known())
    assert planned.where is None
    assert planned.editions.newest_only
    assert planned.notes == ()


def test_a_version_of_another_product_does_not_count() -> None:
    assert "there is no tidb 2.0 here" in plan("TiDB v2.0 tokens").notes[0]


def test_the_caller_s_version_wins_over_the_question_s() -> None:
    planned = plan("how in 7.5?", version="5.0")
    assert planned.editions.chosen == ("5.0",)


def test_a_filter_on_versions_or_dates_leaves_the_choice_to_the_ledger_check() -> None:
    for raw in ({"product_version": "7.1"}, {"published_at": {"lt": "2024-01-01"}}):
        where = parse_filter(raw)
        planned = plan("how in 7.5?", where=where)
        assert planned.where == where
        assert planned.editions.collapse
        assert not planned.editions.newest_only


def test_other_filters_are_joined_with_the_edition() -> None:
    planned = plan("tokens in 2.0", where=parse_filter({"language": "en"}))
    assert planned.where == AllOf((Eq("language", "en"), In("product_version", ("2.0",))))


@pytest.mark.parametrize("text", ["latest news on tokens", "最近有什么更新", "最新的接口是哪个"])
def test_recency_is_asked_when_the_question_asks_for_it(text: str) -> None:
    assert [channel.name for channel in plan(text).channels] == ["semantic", "keyword", "recent"]


def test_recency_is_not_asked_otherwise() -> None:
    assert [channel.name for channel in plan("令牌的有效期").channels] == ["semantic", "keyword"]


def test_a_question_without_words_has_no_keyword_channel_and_says_so() -> None:
    planned = plan("😀")
    assert [channel.name for channel in planned.channels] == ["semantic"]
    assert planned.notes == ("the question has no words to look up; meaning only",)


def test_weights_follow_the_fusion_method() -> None:
    weights = {channel.name: channel.weight for channel in plan("tokens").channels}
    assert weights == {"semantic": 1.0, "keyword": 0.5}
    by_rank = plan("tokens", fusion="reciprocal_rank").channels
    assert {channel.name: channel.weight for channel in by_rank} == {
        "semantic": 1.0,
        "keyword": 0.85,
    }


def test_a_plan_is_json_and_its_filter_can_be_read_back() -> None:
    raw = {
        "all_of": [
            {"product": "tidb"},
            {"any_of": [{"tags": ["a", "b"]}, {"not": {"owner": None}}]},
            {"published_at": {"gte": "2024-01-01T00:00:00+00:00"}},
            {"authority": {"lt": 0.5}},
        ]
    }
    planned = plan("tokens", where=parse_filter(raw))
    told = json.loads(json.dumps(plan_json(planned)))
    assert told["filter"] == raw
    assert planned.where is not None
    assert parse_filter(filter_json(planned.where)) == planned.where
    assert told["now"] == "2026-05-01T00:00:00+00:00"
