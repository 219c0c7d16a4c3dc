"""Text -> index terms, the one analysis that both full-text stores share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """`surface` is the piece of the question that it came from, for hit reasons."""

    term: str
    weight: float
    surface: str


def document_terms(text: str) -> tuple[str, ...]:
    """Terms of a text in reading order, repeats kept."""
    raise NotImplementedError


def query_terms(text: str) -> tuple[QueryTerm, ...]:
    """Terms of a question, each once; empty when the question has none (punctuation, emoji)."""
    raise NotImplementedError
