"""Whatever a question says: its plan is JSON and comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.filters import AllOf, AnyOf, Eq, Filter, In, Missing, Not, Range, parse_filter
from cluster.model import Scope
from serve.plan.as_json import plan_from_json, plan_json
from serve.plan.constraints import find_constraints
from serve.plan.filter_json import filter_json
from serve.plan.planner import plan_question
from serve.plan.question import Known, Question
from serve.plan.times import find_times
from serve.plan.versions import KnownEdition

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


NUMBERS = st.integers(0, 40).flatmap(
    lambda major: st.integers(0, 999).map(lambda minor: f"{major}.{minor}")
)
BLANKS = st.sampled_from([" ", "\u2003", "\n", "\U000e0020"])


def _many(pieces: st.SearchStrategy[str], *, most: int) -> st.SearchStrategy[str]:
    """A long text of few draws: what is drawn is said again and again, each time numbered."""

    def said(parts: list[str], times: int) -> str:
        return "".join(f"{part} {n} " for n in range(times) for part in parts)

    return st.builds(said, st.lists(pieces, min_size=1, max_size=3), st.integers(1, most))


hostile = st.one_of(
    st.builds(lambda n: " ".join(f"v{k}.{k % 7}" for k in range(n)), st.integers(1, 900)),
    st.builds(lambda n: " and ".join(f"product{k} {k}.1" for k in range(n)), st.integers(1, 400)),
    st.builds(lambda number: f"since v{number}", NUMBERS),
    st.builds(lambda gap, n: f"only{gap * n}blogs{gap * n}, please", BLANKS, st.integers(1, 4000)),
    st.builds(lambda n: f"notes by A{'b' * n}", st.integers(1, 8000)),
    st.builds(lambda n: "只看" + "去年的" * n + "资料", st.integers(1, 2000)),
    _many(st.sampled_from(PIECES), most=200),
).map(lambda text: text[:8192])
stored = st.one_of(
    st.just(EDITIONS),
    st.builds(lambda n: tuple(("", f"{k}.{k % 9}") for k in range(n)), st.integers(1, 3000)),
    st.builds(
        lambda n: tuple((f"product{k}", f"{k}.{e}") for k in range(n) for e in (0, 1)),
        st.integers(1, 600),
    ),
    st.builds(lambda n: tuple(("tidb", f"{k}.0") for k in range(n)), st.integers(1, 3000)),
)


def nested(levels: int, where: Filter) -> Filter:
    """As deep as a caller may send it, with two keys in each object."""
    raw = filter_json(where)
    for _ in range(levels):
        raw = {"product": "tidb", "not": raw}
    return parse_filter(raw)


@settings(deadline=None, max_examples=15)
@given(text=hostile, now=moments, editions=stored, where=leaves, levels=st.integers(0, 8))
def test_whatever_is_planned_can_be_sent_again(
    text: str, now: datetime, editions: Sequence[KnownEdition], where: Filter, levels: int
) -> None:
    question = Question(
        text=text,
        scope=SCOPE,
        limit=10,
        now=now,
        deadline_s=2.0,
        where=nested(levels, where),
        as_of=now,
        kinds=("turn",),
    )
    found = find_constraints(text, times=find_times(text, now=now), now=now)
    fitting = frozenset(each.where for each in found if each.where is not None)
    for asked in (question, replace(question, where=None, as_of=None)):
        plan = plan_question(asked, known=Known(editions=editions, fitting=fitting))
        assert plan_from_json(json.loads(json.dumps(plan_json(plan))), scope=SCOPE) == plan


@settings(deadline=None, max_examples=60)
@given(text=questions, now=moments, where=st.none() | filters, limit=st.integers(1, 100))
def test_a_plan_comes_back_as_it_was(
    text: str, now: datetime, where: Filter | None, limit: int
) -> None:
    question = Question(text=text, scope=SCOPE, limit=limit, now=now, deadline_s=2.0, where=where)
    plan = plan_question(question, known=Known(editions=EDITIONS))
    wire = json.loads(json.dumps(plan_json(plan)))
    assert plan_from_json(wire, scope=SCOPE) == plan
