"""A budget is never overdrawn, whatever there is to choose from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from passages import passages_of

from cluster.text.terms import query_terms
from rerank.budget import Measured, fit, measured, texts_to_count
from rerank.dedup import Block
from rerank.diversity import Choice, choice_of
from rerank.roles import ROLES
from rerank.selection import USUAL_QUOTAS, DynamicTopK, SelectionPlan

TERMS = query_terms("harbour relay 令牌")
WORDS = st.sampled_from(["harbour", "relay", "quota.", "令牌有效。", "v2.1", "\n\n", "not"])


@st.composite
def candidates(draw: st.DrawFn) -> list[Choice]:
    choices = []
    for at in range(draw(st.integers(0, 9))):
        text = " ".join(draw(st.lists(WORDS, min_size=1, max_size=200))).strip() or "x"
        (passage,) = passages_of(text, [(0, len(text))], revision=f"r{at}", document=f"d{at}")
        block = Block(passages=(passage,), score=1 - at / draw(st.integers(10, 99)), hits=())
        choices.append(choice_of(block, text, draw(st.sampled_from(ROLES))))
    return sorted(choices, key=lambda each: -each.score)


PLANS = st.builds(
    SelectionPlan,
    budget_tokens=st.integers(64, 1500),
    reserve=st.floats(0, 0.9),
    overhead_tokens=st.integers(0, 40),
    diversity=st.floats(0, 1),
    near_equal=st.floats(0, 1),
    quotas=st.sampled_from([(), USUAL_QUOTAS]),
    dynamic=st.sampled_from([None, DynamicTopK()]),
)


def counted(choices: list[Choice]) -> list[Measured]:
    texts, sentences = texts_to_count(choices, TERMS)
    return measured(choices, sentences, [len(text.split()) for text in texts])


@given(candidates(), PLANS, st.integers(1, 12))
def test_never_more_than_the_room_and_the_limit(
    choices: list[Choice], plan: SelectionPlan, limit: int
) -> None:
    fitted = fit(counted(choices), limit=limit, plan=plan)
    room = plan.room_tokens or 0
    assert sum(each.tokens + plan.overhead_tokens for each in fitted) <= room
    assert len(fitted) <= limit


@given(candidates(), PLANS, st.integers(1, 12))
def test_what_is_shown_is_a_span_of_whole_sentences_in_the_order_of_rank(
    choices: list[Choice], plan: SelectionPlan, limit: int
) -> None:
    found = counted(choices)
    fitted = fit(found, limit=limit, plan=plan)
    places = [next(at for at, c in enumerate(choices) if c is one.choice) for one in fitted]
    assert places == sorted(set(places))
    for one, at in zip(fitted, places, strict=True):
        assert one.text == one.choice.text[one.start : one.end]
        if one.shortened:
            assert one.start in {each.start for each in found[at].sentences}
            assert one.end in {each.end for each in found[at].sentences}
        assert one.whole_tokens == found[at].tokens


@given(candidates(), st.integers(1, 12))
def test_without_a_wish_the_best_stay_in_their_order(choices: list[Choice], limit: int) -> None:
    fitted = fit(counted(choices), limit=limit, plan=SelectionPlan())
    assert [one.choice for one in fitted] == choices[:limit]
