"""Which of the question's words does a text have? Quick, as it is asked for every result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from cluster.text.terms import QueryTerm, document_terms, matched_surfaces

WORD_CHARS = 40
"""Longer runs without white space (Chinese sentences, base64) do not repeat; not worth keeping."""


def matched_in(text: str, *, terms: Sequence[QueryTerm]) -> tuple[str, ...]:
    """The matching pieces of the question in its order (`cluster.text.terms.matched_surfaces`)."""
    return matched_surfaces(terms, terms_of(text))


def terms_of(text: str) -> frozenset[str]:
    """The set of `document_terms(text)`: no term spans white space, and words repeat."""
    found: set[str] = set()
    for word in set(text.split()):
        found.update(_terms_of_word(word) if len(word) <= WORD_CHARS else document_terms(word))
    return frozenset(found)


@lru_cache(maxsize=50_000)
def _terms_of_word(word: str) -> tuple[str, ...]:
    return document_terms(word)
