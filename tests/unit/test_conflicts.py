"""Passages that contradict each other are told, and who wins is told by their sources."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passages import passages_of

from cluster.model import Metadata
from rerank.citations import CitedPassage, cite
from rerank.conflicts import (
    Conflict,
    conflicts_in,
    difference_of,
    order_by_winners,
    with_conflicts,
)
from rerank.dedup import Block
from rerank.replaced_values import Difference, differ_in_fact

QUESTION = "How many lamps does the harbour of Ostmark have?"
ONE = "The old harbour of Ostmark was rebuilt after the storm and has 340 lamps along its quay."
TWO = "The old harbour of Ostmark was rebuilt after the storm and has 290 lamps along its quay."
ASIDE = "Gulls nest on the roofs of the town all summer long."


def shown(
    rank: int,
    text: str,
    *,
    authority: float = 0.5,
    published: datetime | None = None,
    document: str | None = None,
    edition: str = "",
) -> CitedPassage:
    name = document or f"doc_{rank}"
    (passage,) = passages_of(
        text,
        [(0, len(text))],
        revision=f"rev_{rank}",
        document=name,
        edition=edition,
        metadata=Metadata(title=name, authority=authority, published_at=published),
    )
    block = Block(passages=(passage,), score=1.0 / rank, hits=())
    return cite(block, rank=rank, text=text, surfaces=lambda _: (), filters=())


@pytest.mark.parametrize(
    ("question", "one", "other", "values"),
    [
        (QUESTION, ONE, TWO, ("340", "290")),
        (
            "Who designed the lighthouse of Ostmark?",
            "The lighthouse of Ostmark was designed by Mira Holt and opened in spring.",
            "The lighthouse of Ostmark was designed by Jonas Weil and opened in spring.",
            ("Mira Holt", "Jonas Weil"),
        ),
        (
            "东港灯塔的设计者是谁？",
            "东港灯塔始建于去年春天，设计者是林远山，耗时两年完成。",
            "东港灯塔始建于去年春天，设计者是赵明，耗时两年完成。",
            ("林远山", "赵明"),
        ),
        (
            "东港大桥什么时候通车？",
            "东港大桥于2021年7月23日正式通车，当天有数千人到场。",
            "东港大桥于2021年1月23日正式通车，当天有数千人到场。",
            ("7", "1"),
        ),
        (
            "What is the population of Ostmark?",
            "As of the last census the population of Ostmark was 4,120, most of them fishers.",
            "Ostmark is a quiet place. The population of Ostmark is 9,800.",
            ("4,120", "9,800"),
        ),
    ],
)
def test_another_value_in_the_same_place_is_a_conflict(
    question: str, one: str, other: str, values: tuple[str, str]
) -> None:
    assert difference_of(one, other, question=question) == Difference(
        left=values[0], right=values[1]
    )
    assert difference_of(other, one, question=question) == Difference(
        left=values[1], right=values[0]
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ONE, ONE),
        (ONE, ASIDE),
        (ONE, ONE.replace("340", "340.")),
        (
            "In 2018 the harbour of Ostmark had 340 lamps along its old quay.",
            "In 2017 the harbour of Ostmark had 290 lamps along its old quay.",
        ),
        (
            "The old harbour of Ostmark in Nordland has 340 lamps along its quay.",
            "The old harbour of Ostmark in Westland has 290 lamps along its quay.",
        ),
        (
            "May 3, 2021 ... The harbour of Ostmark has 340 lamps along its quay.",
            "May 9, 2021 ... The harbour of Ostmark has 340 lamps along its quay.",
        ),
        (
            "The old harbour of Ostmark was rebuilt quickly and has lamps along its quay.",
            "The old harbour of Ostmark was rebuilt slowly and has lamps along its quay.",
        ),
    ],
)
def test_what_is_no_conflict(one: str, other: str) -> None:
    assert difference_of(one, other, question=QUESTION) is None


def test_what_the_question_names_itself_is_another_subject() -> None:
    one = "The harbour of Ostmark has many lamps along its old quay and two cranes."
    other = one.replace("Ostmark", "Sundvik")
    assert differ_in_fact(one, other)
    assert difference_of(one, other, question=QUESTION) is None


def test_texts_that_differ_in_a_fact_are_no_copies() -> None:
    assert differ_in_fact(ONE, TWO)
    assert not differ_in_fact(ONE, ONE)
    assert not differ_in_fact(ONE, ASIDE)


@pytest.mark.parametrize("better_first", [True, False])
def test_the_higher_authority_wins_whichever_came_first(better_first: bool) -> None:
    low, high = shown(1, TWO, authority=0.2), shown(1, ONE, authority=0.9)
    pair = (high, low) if better_first else (low, high)
    passages = [replace(each, rank=at) for at, each in enumerate(pair, start=1)]
    first, second = with_conflicts(QUESTION, passages)
    assert (first.text, second.text) == (ONE, TWO)
    assert (first.rank, second.rank) == (1, 2)
    (won,), (lost,) = first.conflicts_with, second.conflicts_with
    assert (won.standing, lost.standing, won.by) == ("wins", "loses", "authority")
    assert (won.mine, won.theirs, won.rank) == ("340", "290", 2)
    assert (lost.mine, lost.theirs, lost.rank) == ("290", "340", 1)
    assert lost.chunk_id == first.citation.chunk_ids[0]


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_equal_authority_the_later_wins(newer_first: bool) -> None:
    old = shown(1, TWO, published=datetime(2020, 1, 1, tzinfo=UTC))
    new = shown(1, ONE, published=datetime(2024, 1, 1, tzinfo=UTC))
    pair = (new, old) if newer_first else (old, new)
    passages = [replace(each, rank=at) for at, each in enumerate(pair, start=1)]
    first, second = with_conflicts(QUESTION, passages)
    assert (first.text, second.conflicts_with[0].standing) == (ONE, "loses")
    assert second.conflicts_with[0].by == "date"


def test_without_metadata_nobody_wins_and_both_stay() -> None:
    passages = [shown(1, TWO), shown(2, ONE), shown(3, ASIDE)]
    found = with_conflicts(QUESTION, passages)
    assert [each.text for each in found] == [TWO, ONE, ASIDE]
    assert [len(each.conflicts_with) for each in found] == [1, 1, 0]
    assert {each.standing for one in found for each in one.conflicts_with} == {"open"}


def test_editions_of_one_document_rightly_say_different_things() -> None:
    one = shown(1, ONE, document="manual", edition="1.0")
    assert conflicts_in(QUESTION, [one, shown(2, TWO, document="manual", edition="2.0")]) == ()
    assert len(conflicts_in(QUESTION, [one, shown(2, TWO, document="other", edition="2.0")])) == 1


def test_answers_without_conflict_stay_as_they_are() -> None:
    passages = (shown(1, ONE), shown(2, ASIDE))
    assert with_conflicts(QUESTION, passages) == passages


@given(st.integers(min_value=2, max_value=8), st.data())
def test_whoever_loses_stands_behind_the_winner(count: int, data: st.DataObject) -> None:
    ranked = data.draw(st.permutations(range(count)))
    chain = list(pairwise(ranked[: data.draw(st.integers(2, count))]))
    conflicts = [
        Conflict(
            left=min(pair),
            right=max(pair),
            difference=Difference(left="1", right="2"),
            winner=pair[0],
            by="authority",
        )
        for pair in chain
    ]
    order = order_by_winners(count, conflicts)
    assert sorted(order) == list(range(count))
    if len(chain) == 1:
        assert order.index(chain[0][0]) < order.index(chain[0][1])
