"""The second look without a model: what can be read off the text in a moment.

Added up in standard deviations over the pool: the fused score; the share of the question's words
that a passage has; the share of its neighbouring word pairs that stand there together; the share
that its title and headings have. Words count only for passages in the question's language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cluster.text.terms import QueryTerm, content_terms, document_terms
from rerank.late_interaction import same_language, z_scores
from rerank.reranker import Asked, Pooled, Reranked
from rerank.turns import Numbers

NAME = "rules"
POOL = 30
"""So many texts are read; those behind them keep their place."""

FUSED, WORDS, PAIRS, HEADINGS = 2.0, 0.25, 0.25, 0.1


class ByRules:
    """Never late, never fails."""

    name = NAME

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked:
        return rank_by_rules(asked, pool[:POOL])


def rank_by_rules(asked: Asked, pool: Sequence[Pooled]) -> Reranked:
    wanted = content_terms(asked.terms)
    counted = same_language(pool, asked.language)
    texts = [document_terms(each.passage.chunk.indexed_text) for each in pool]
    parts: dict[str, Numbers] = {
        "fused": FUSED * z_scores(np.array([each.fused for each in pool])),
        "words": WORDS
        * z_scores(np.array([_share(wanted, text) for text in texts]), counted=counted),
        "pairs": PAIRS
        * z_scores(np.array([_pairs(wanted, text) for text in texts]), counted=counted),
        "headings": HEADINGS
        * z_scores(np.array([_share(wanted, _head(each)) for each in pool]), counted=counted),
    }
    total = np.sum(list(parts.values()), axis=0)
    return Reranked(
        reranker=NAME,
        scale="z",
        scores={each.chunk_id: float(score) for each, score in zip(pool, total, strict=True)},
        parts={
            each.chunk_id: {name: float(values[at]) for name, values in parts.items()}
            for at, each in enumerate(pool)
        },
    )


def _share(wanted: Sequence[QueryTerm], text: Sequence[str]) -> float:
    held = frozenset(text)
    whole = math.fsum(term.weight for term in wanted)
    return math.fsum(term.weight for term in wanted if term.term in held) / whole if whole else 0.0


def _pairs(wanted: Sequence[QueryTerm], text: Sequence[str]) -> float:
    """Of the pairs of words that follow each other in the question, those that do here."""
    asked = set(pairwise(term.term for term in wanted))
    return len(asked & set(pairwise(text))) / len(asked) if asked else 0.0


def _head(each: Pooled) -> tuple[str, ...]:
    passage = each.passage
    return document_terms("\n".join((passage.metadata.title, *passage.chunk.heading_path)))
