"""Excerpts, dynamic top-k, quotas, marginal relevance and the budget, by example."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from passages import passages_of

from cluster.model import Metadata, QuotePolicy
from cluster.text.terms import query_terms
from rerank.budget import Fitted, Measured, as_stored, fit, measured, spent, texts_to_count
from rerank.dedup import Block
from rerank.diversity import Choice, choice_of, likeness, pick, standing_out
from rerank.excerpts import best_stretch, sentences_of, summary_spans
from rerank.roles import EvidenceRole
from rerank.selection import USUAL_QUOTAS, DynamicTopK, Quota, SelectionPlan, shortlist

TERMS = query_terms("How often is a failed job retried?")
TEXT = (
    "The scheduler keeps a list. Every failed job is retried eight times. The delay doubles. "
    "Weather is fine today. Nothing else matters."
)
VARIED = SelectionPlan(diversity=0.5, near_equal=0.5)


def choice(
    text: str,
    score: float,
    *,
    role: EvidenceRole = "other",
    policy: QuotePolicy = "citable",
) -> Choice:
    (passage,) = passages_of(
        text, [(0, len(text))], revision=text, document=text, metadata=Metadata(quote_policy=policy)
    )
    return choice_of(Block(passages=(passage,), score=score, hits=()), text, role)


def counted(choices: list[Choice]) -> list[Measured]:
    """A token is a word."""
    texts, sentences = texts_to_count(choices, TERMS)
    return measured(choices, sentences, [len(text.split()) for text in texts])


def take_all(_choice: Choice) -> bool:
    return True


def texts(fitted: list[Fitted]) -> list[str]:
    return [each.text for each in fitted]


def test_the_best_sentences_make_the_summary() -> None:
    spans = summary_spans(sentences_of(TEXT, TERMS), most=1)
    assert [TEXT[start:end] for start, end in spans] == ["Every failed job is retried eight times."]
    nothing = summary_spans(sentences_of("One. Two.", TERMS))
    assert nothing == ((0, 4),)
    assert summary_spans(()) == ()


def test_a_stretch_grows_around_the_best_sentence() -> None:
    sentences = [
        replace(each, tokens=len(TEXT[each.start : each.end].split()))
        for each in sentences_of(TEXT, TERMS)
    ]

    def stretch(room: int) -> str | None:
        span = best_stretch(sentences, room=room)
        return TEXT[span[0] : span[1]] if span else None

    assert stretch(6) is None
    assert stretch(7) == "Every failed job is retried eight times."
    assert stretch(10) == "Every failed job is retried eight times. The delay doubles."
    assert stretch(100) == TEXT
    assert best_stretch((), room=5) is None


def test_everything_that_fits_stays_whole() -> None:
    found = counted([choice("one two three", 0.9), choice("four five", 0.8)])
    plan = SelectionPlan(budget_tokens=64, reserve=0.3)
    fitted = fit(found, limit=10, plan=plan)
    assert texts(fitted) == ["one two three", "four five"]
    told = spent(fitted, candidates=2, plan=plan, counted_by="words")
    assert (told.tokens, told.room_tokens, told.budget_tokens) == (5, 44, 64)
    assert (told.shortened, told.left_out) == (0, 0)


def test_the_long_one_gives_way_to_the_others() -> None:
    long = " ".join(f"Sentence {at} has five words." for at in range(60))
    long = long.replace("Sentence 30 has", "Failed job retried")
    found = counted([choice(long, 0.9), choice("alpha " * 40, 0.8), choice("beta " * 20, 0.7)])
    fitted = fit(found, limit=10, plan=SelectionPlan(budget_tokens=400, reserve=0.5))
    first, second, third = fitted
    assert (second.shortened, third.shortened) == (False, False)
    assert first.shortened
    assert "Failed job retried five words." in first.text
    assert long[first.start : first.end] == first.text
    assert (first.tokens, first.whole_tokens) == (140, 300)
    assert sum(each.tokens for each in fitted) == 200


def test_no_passage_shrinks_below_a_paragraph_so_the_last_stay_out() -> None:
    found = counted([
        choice(" ".join(f"{name} number {at} stands here." for at in range(40)), 1 - place / 10)
        for place, name in enumerate(("alpha", "beta", "gamma"))
    ])  # fmt: skip
    fitted = fit(found, limit=10, plan=SelectionPlan(budget_tokens=250, reserve=0.0))
    assert [each.tokens for each in fitted] == [120, 120]
    assert spent(fitted, candidates=3, plan=SelectionPlan(), counted_by="").left_out == 1


def test_stored_counts_shorten_nothing() -> None:
    choices = [choice("x" * 50, 0.9), choice("y" * 40, 0.8), choice("z" * 10, 0.7)]
    fitted = fit(as_stored(choices), limit=10, plan=SelectionPlan(budget_tokens=64, reserve=0.0))
    assert [each.tokens for each in fitted] == [50, 10]


def test_dynamic_top_k() -> None:
    scores = [1.0, 0.9, 0.85, 0.8, 0.3, 0.2, 0.15, 0.1, 0.1, 0.1]
    policies: list[QuotePolicy] = [
        "clue",
        "clue",
        "citable",
        "clue",
        "clue",
        "project_fact",
        "do_not_quote",
        "citable_with_version",
        "citable",
        "clue",
    ]
    choices = [
        choice(f"text {at}", score, policy=policy)
        for at, (score, policy) in enumerate(zip(scores, policies, strict=True))
    ]

    def kept(**plan: int) -> list[int]:
        found = standing_out(choices, DynamicTopK(**plan))
        return [choices.index(each) for each in found]

    assert kept(hard_at_least=3, clues_at_most=2) == [0, 1, 2, 5, 7]
    assert kept(hard_at_least=1, clues_at_most=9) == [0, 1, 2, 3]
    assert kept(hard_at_least=9, clues_at_most=0) == [2, 5, 7, 8]
    assert standing_out([], DynamicTopK()) == []


def test_an_echo_gives_way_to_a_nearly_equal_other_one() -> None:
    first = choice("harbour relay keeps messages seven days", 1.0)
    echo = choice("harbour relay keeps messages seven days long", 0.9)
    other = choice("quota counts attachments of a sender", 0.85)
    poor = choice("something far below", 0.0)
    all_of_them = [first, echo, other, poor]
    assert likeness(first, echo) > 0.8
    assert pick(all_of_them, limit=2, plan=VARIED, take=take_all) == [first, other]
    plain = SelectionPlan()
    assert pick(all_of_them, limit=2, plan=plain, take=take_all) == [first, echo]
    strict = replace(VARIED, near_equal=0.01)
    assert pick(all_of_them, limit=2, plan=strict, take=take_all) == [first, echo]


def test_quotas_choose_among_nearly_equal_ones() -> None:
    roles: list[EvidenceRole] = [
        "definition",
        "definition",
        "definition",
        "mechanism",
        "boundary",
        "project_fact",
        "changelog",
        "other",
        "counter_example",
    ]
    choices = [
        choice(f"passage {at} {role}", 1 - at / 100, role=role) for at, role in enumerate(roles)
    ]
    far = choice("far", 0.0, role="project_fact")
    plan = SelectionPlan(quotas=USUAL_QUOTAS, near_equal=0.5)
    picked = pick([*choices, far], limit=5, plan=plan, take=take_all)
    assert [each.role for each in picked] == [
        "definition", "definition", "boundary", "project_fact", "changelog",
    ]  # fmt: skip
    assert picked == sorted(picked, key=lambda each: -each.score)
    narrow = pick([*choices, far], limit=5, plan=replace(plan, near_equal=0.001), take=take_all)
    assert narrow == choices[:5]


def test_a_full_quota_waits_behind_its_equals_but_is_not_refused() -> None:
    choices = [choice(f"definition {at}", 1.0, role="definition") for at in range(4)]
    choices.append(choice("other", 1.0))
    quota = Quota(roles=("definition",), at_least=1, at_most=2)
    plan = SelectionPlan(quotas=(quota,), near_equal=0.5)
    assert choices[4] in pick(choices, limit=3, plan=plan, take=take_all)
    assert len(pick(choices, limit=5, plan=plan, take=take_all)) == 5
    fitted = fit(as_stored(choices), limit=3, plan=plan)
    (met,) = spent(fitted, candidates=5, plan=plan, counted_by="stored").quotas
    assert (met.roles, met.at_least, met.at_most, met.found) == (("definition",), 1, 2, 2)


def test_a_shortlist_is_wider_where_there_is_a_choice() -> None:
    blocks: list[Any] = [choice(f"text {at} {at * 7}", 1 - at / 100).block for at in range(40)]
    assert len(shortlist(blocks, limit=5, plan=SelectionPlan())) == 5
    assert len(shortlist(blocks, limit=5, plan=VARIED)) == 20
    assert shortlist(blocks, limit=30, plan=VARIED)[:20] == shortlist(blocks, limit=5, plan=VARIED)
