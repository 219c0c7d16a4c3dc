"""Which selection does a caller's wish mean? A view, a budget, and the settings of the house."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.settings import SelectionSettings
from rerank.quoting import QuoteLimits
from rerank.selection import RECALL, USUAL_QUOTAS, DynamicTopK, SelectionPlan, View

DYNAMIC: Mapping[View, DynamicTopK] = {
    "writer": DynamicTopK(hard_at_least=6, clues_at_most=3),
    "reviewer": DynamicTopK(hard_at_least=3, clues_at_most=2),
}
REFERENCE_TOKENS = 48
"""What a passage takes in a context beside its text: its mark and its reference."""


def selection_of(
    view: View, *, budget_tokens: int | None, settings: SelectionSettings
) -> SelectionPlan:
    """Plain search and researchers get the best in their order; a budget, a writer and a reviewer
    get a choice."""
    limits = QuoteLimits(
        clue_words=settings.clue_words,
        clue_characters=settings.clue_characters,
        words=settings.quote_words,
        characters=settings.quote_characters,
    )
    if view == "writer" and budget_tokens is None:
        budget_tokens = settings.context_tokens
    varied = budget_tokens is not None
    return SelectionPlan(
        view=view,
        similar=settings.similar,
        budget_tokens=budget_tokens,
        reserve=settings.reserve,
        overhead_tokens=REFERENCE_TOKENS if view == "writer" else 0,
        quotas=USUAL_QUOTAS if varied else (),
        dynamic=DYNAMIC.get(view),
        diversity=settings.diversity if varied else 0.0,
        near_equal=settings.near_equal,
        quotes=limits,
    )


def limit_of(view: View, top_k: int | None) -> int:
    """How many passages at most; views look wider unless the caller says how wide."""
    return top_k or (10 if view == "plain" else RECALL)
