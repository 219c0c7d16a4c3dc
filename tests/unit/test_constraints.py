"""Which words of a question demand something of a passage, and which only look like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cluster.filters import Eq, In, Not, matches
from cluster.model import Scope
from serve.plan.constraints import Constraint, find_constraints, known_by, left_nothing, without
from serve.plan.planner import plan_question
from serve.plan.question import Known, Question
from serve.plan.times import find_times

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def found(question: str) -> tuple[Constraint, ...]:
    return find_constraints(question, times=find_times(question, now=NOW), now=NOW)


def at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "said", "where", "rest"),
    [
        (
            "only official docs: how to set it",
            "only official docs",
            Eq("source_type", "official_doc"),
            "how to set it",
        ),
        (
            "How to set it? Official docs only",
            "Official docs only",
            Eq("source_type", "official_doc"),
            "How to set it?",
        ),
        ("只看官方文档，怎么设置", "只看官方文档", Eq("source_type", "official_doc"), "怎么设置"),
        ("请只看更新日志", "只看更新日志", Eq("source_type", "changelog"), "请"),
        ("不要博客，怎么设置", "不要博客", Not(Eq("source_type", "blog")), "怎么设置"),
        (
            "How to set it? No forum posts please.",
            "No forum posts",
            Not(Eq("source_type", "forum")),
            "How to set it? please",
        ),
        ("只看中文资料，令牌是什么", "只看中文资料", Eq("language", "zh"), "令牌是什么"),
        ("English docs only: tokens?", "English docs only", Eq("language", "en"), "tokens?"),
        ("in English only, what is it", "in English only", Eq("language", "en"), "what is it"),
    ],
)
def test_a_demand_counts_whatever_is_stored(
    question: str, said: str, where: object, rest: str
) -> None:
    (constraint,) = found(question)
    assert (constraint.said, constraint.where, constraint.certain) == (said, where, True)
    assert question[constraint.start : constraint.end] == said
    assert without(question, [constraint]) == rest


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("What changed, according to the changelog?", Eq("source_type", "changelog")),
        ("From the release notes, what is new?", Eq("source_type", "changelog")),
        ("根据更新日志，什么时候引入的", Eq("source_type", "changelog")),
        ("论文里怎么说的", Eq("source_type", "paper")),
        ("中文资料里怎么写", Eq("language", "zh")),
        ("What is it? documents in English", Eq("language", "en")),
        (
            "notes by Mira Chen about tokens",
            In("author", ("Mira Chen", "mira chen", "MIRA CHEN")),
        ),
        ("张三写的文档里怎么说", In("author", ("张三",))),
        ("docs tagged security about it", In("tags", ("security", "Security", "SECURITY"))),
        ("标签为 security 的文档", In("tags", ("security", "Security", "SECURITY"))),
    ],
)
def test_a_mention_waits_for_something_that_fits(question: str, where: object) -> None:
    (constraint,) = found(question)
    assert (constraint.where, constraint.certain) == (where, False)


@pytest.mark.parametrize(
    "question",
    [
        "How do you say hello in English?",
        "Which book was published in English?",
        "What did he write in the paper yesterday?",
        "苹果英文怎么说",
        "这篇论文的作者是谁",
        "Who was king before 1066?",
        "Which papers were published in 2020?",
        "Which novels were written by Jane Austen?",
        "鲁迅写的小说有哪些",
        "2023年发布的手机有哪些",
        "What is the standard of living in Rome?",
        "Is there no issue with tests?",
        "他只看书不看电影",
        "这个工具只用官方文档吗？",
        "Does the crawler read only official docs?",
        "Is it true that he reads only blogs?",
        "Can I build it without source code?",
        "Which countries speak English only?",
        "只用英文的人多吗",
        "Only English and French are spoken where?",
        "What articles of the constitution were written by Madison?",
        "it holds only in 2024",
        "What was the population of Jacksonville as of 2010?",
        "What instrument is Noor learning as of 27 March, 2022?",
    ],
)
def test_other_words_demand_nothing(question: str) -> None:
    assert found(question) == ()


def test_times_bound_the_material_they_stand_beside() -> None:
    (constraint,) = found("docs published before March 2024 about tokens")
    assert constraint.kind == "date"
    where = constraint.where
    assert where is not None
    assert matches(where, {"published_at": at(2024, 2, 29)})
    assert not matches(where, {"published_at": at(2024, 3, 1)})
    assert matches(where, {"updated_at": at(2020)})
    assert not matches(where, {"published_at": at(2025), "updated_at": at(2020)})
    assert not matches(where, {})


def test_what_was_updated_goes_by_that_moment() -> None:
    (constraint,) = found("pages updated since 2024 about tokens")
    where = constraint.where
    assert where is not None
    assert matches(where, {"published_at": at(2020), "updated_at": at(2024, 5)})
    assert not matches(where, {"published_at": at(2025), "updated_at": at(2023)})


def test_as_of_a_past_moment_is_what_was_there_by_then() -> None:
    (constraint,) = found("the rules as of March 2024")
    assert constraint.where == known_by(at(2024, 4, 1))
    (valid,) = found("rules that are still valid in 2025")
    assert valid.where == known_by(at(2026))


def test_what_was_known_by_a_moment_has_no_later_date() -> None:
    where = known_by(at(2024, 4))
    assert matches(where, {"published_at": at(2024, 3, 31)})
    assert not matches(where, {"published_at": at(2024, 4)})
    assert not matches(where, {"said_at": at(2024, 4)})
    assert matches(where, {"said_at": at(2024, 3)})
    assert matches(where, {})


@pytest.mark.parametrize(
    ("question", "fits", "misses"),
    [
        ("2023年以后发布的文档里怎么说", {"published_at": at(2024)}, {"published_at": at(2023)}),
        ("2023年以后更新的资料怎么说", {"updated_at": at(2025)}, {"updated_at": at(2022)}),
        ("去年的邮件里提到的预算", {"said_at": at(2025, 3)}, {"said_at": at(2026, 3)}),
        ("上周的聊天记录里说了什么", {"said_at": at(2026, 4, 21)}, {"said_at": at(2026, 4, 28)}),
        ("截至2024年3月仍有效的规定", {"published_at": at(2024)}, {"published_at": at(2025)}),
        ("2024年时仍有效的规定", {"published_at": at(2024)}, {"published_at": at(2025)}),
    ],
)
def test_chinese_times_bound_the_material_beside_them(
    question: str, fits: dict[str, datetime], misses: dict[str, datetime]
) -> None:
    (constraint,) = found(question)
    assert constraint.where is not None
    assert matches(constraint.where, fits)
    assert not matches(constraint.where, misses)


def test_valid_this_year_is_what_is_valid_now() -> None:
    for question in ("rules still valid in 2026", "2026 年仍有效的规定"):
        (constraint,) = found(question)
        assert (constraint.kind, constraint.where) == ("valid", None)


def test_several_constraints_are_all_taken() -> None:
    question = "只看中文资料，不要博客，令牌是什么"
    first, second = found(question)
    assert (first.kind, second.kind) == ("language", "source_type")
    assert without(question, [first, second]) == "令牌是什么"


@pytest.mark.parametrize("question", ["2023年的中文资料里怎么说令牌", "2023年的英文文档怎么说令牌"])
def test_a_language_behind_a_time_is_taken_beside_it(question: str) -> None:
    date, language = found(question)
    assert (date.kind, language.kind) == ("date", "language")
    assert language.where == Eq("language", "zh" if "中文" in question else "en")
    assert without(question, [date, language]) == "怎么说令牌"


def test_a_question_of_nothing_else_stays_as_it_is() -> None:
    question = "只看官方文档"
    assert without(question, found(question)) == question


def test_a_plan_has_the_filter_and_says_so() -> None:
    asked = Question(
        text="只看官方文档，令牌怎么设置", scope=Scope(tenant="t"), limit=5, now=NOW, deadline_s=1.0
    )
    plan = plan_question(asked, known=Known())
    assert plan.where == Eq("source_type", "official_doc")
    assert plan.topic == "令牌怎么设置"
    assert plan.query == asked.text
    assert "官方" not in {term.surface for term in plan.terms}
    assert plan.notes == ("'只看官方文档': only what is from official documentation",)


def test_a_mention_that_nothing_fits_is_said_and_does_not_filter() -> None:
    asked = Question(
        text="tokens, according to the changelog",
        scope=Scope(tenant="t"),
        limit=5,
        now=NOW,
        deadline_s=1.0,
    )
    without_fit = plan_question(asked, known=Known())
    assert without_fit.where is None
    assert without_fit.constraints == ()
    assert without_fit.topic == asked.text
    assert without_fit.notes == (
        "'according to the changelog': nothing here is from changelogs; looked at everything",
    )
    wanted = Eq("source_type", "changelog")
    with_fit = plan_question(asked, known=Known(fitting=frozenset({wanted})))
    assert with_fit.where == wanted
    assert with_fit.topic == "tokens"


def test_a_bound_in_time_lets_the_newest_edition_of_then_answer() -> None:
    asked = Question(
        text="token rules as of March 2024",
        scope=Scope(tenant="t"),
        limit=5,
        now=NOW,
        deadline_s=1.0,
    )
    plan = plan_question(asked, known=Known(editions=(("tidb", "7.5"),)))
    assert plan.editions.collapse
    assert not plan.editions.newest_only


def test_the_note_of_an_empty_answer_names_what_was_demanded() -> None:
    assert left_nothing(found("只看中文资料，不要博客，令牌是什么")) == (
        "nothing here is in Chinese and not from blogs; "
        "leave that out of the question to look at everything"
    )
