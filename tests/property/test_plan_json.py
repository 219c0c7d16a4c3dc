"""Whatever a question says: its plan is JSON and comes back as it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.filters import AllOf, AnyOf, Eq, Filter, In, Missing, Not, Range
from cluster.model import Scope
from serve.plan.as_json import plan_from_json, plan_json
from serve.plan.planner import plan_question
from serve.plan.question import Known, Question

SCOPE = Scope(tenant="t", owner="o")
EDITIONS = (("tidb", "7.1"), ("tidb", "7.5"), ("harbour", "2.0"), ("", "v2.3.x"))
PIECES = (
    "only official docs:",
    "只看中文资料，",
    "不要博客，",
    "according to the changelog",
    "notes by Mira Chen",
    "docs published before March 2024",
    "去年的记录",
    "《红楼梦》",
    "“a b”",
    "`max_open`",
    "metadata.filter",
    "FIT-2024-0087",
    "TiDB 7.5",
    "since v7.1",
    "before Harbour 2.0",
    "in 9.9",
    "昨天",
    "between 3 and 5 pm",
    "what is the difference",
    "如何",
    "latest",
    "the University of Chicago",
    "😀",
    "令牌",
    "tokens",
)
questions = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map(" ".join),
    st.text(min_size=1).filter(lambda text: "\0" not in text),
)
moments = st.integers(-2_000_000_000, 4_000_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)
leaves: st.SearchStrategy[Filter] = st.one_of(
    st.builds(Eq, st.just("product"), st.sampled_from(["tidb", "harbour"])),
    st.builds(Eq, st.just("newest_edition"), st.booleans()),
    st.builds(In, st.just("tags"), st.lists(st.sampled_from("abc"), min_size=1).map(tuple)),
    st.builds(Missing, st.sampled_from(["author", "said_at"])),
    st.builds(Range, st.just("published_at"), gte=moments),
    st.builds(Range, st.just("authority"), lt=st.floats(0, 1)),
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=60)
@given(text=questions, now=moments, where=st.none() | filters, limit=st.integers(1, 100))
def test_a_plan_comes_back_as_it_was(
    text: str, now: datetime, where: Filter | None, limit: int
) -> None:
    question = Question(text=text, scope=SCOPE, limit=limit, now=now, deadline_s=2.0, where=where)
    plan = plan_question(question, known=Known(editions=EDITIONS))
    wire = json.loads(json.dumps(plan_json(plan)))
    assert plan_from_json(wire, scope=SCOPE) == plan
