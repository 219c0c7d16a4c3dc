"""How well does a passage answer, judged token by token?

MaxSim (Khattab and Zaharia, SIGIR 2020): for each token of the question the highest cosine with
a token of the passage, then the mean over the tokens. Function words of the question are left
out: they find a match anywhere. Of the others those count more that the pool answers unequally,
by how far their best match stands above their usual one. The score is

    similarity_weight * z(MaxSim) + keyword_weight * z(BM25) + cosine_weight * z(cosine)

with z over the pool; BM25 counts only for passages in the question's language. A turn of a
conversation is judged with those around it (`rerank.turns`). All is pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.model import EncodedQuery, TokenVectors
from cluster.text.content_words import content_tokens
from rerank.reranker import Asked, Evidence, Pooled, Reranked, RerankPlan
from rerank.turns import (
    COSINE_OF_TURNS,
    KEYWORD_OF_TURNS,
    SMALLEST,
    Matrix,
    Numbers,
    in_windows,
    mostly_turns,
    neighbours_of,
    of_the_named_speaker,
    of_the_session,
    of_what_is_told,
    words_in_windows,
)

UNKNOWN_LANGUAGES = ("und", "")
WORST_SHARE = 1 / 3

NAME = "late_interaction"


def rank_by_tokens(
    asked: Asked,
    pool: Sequence[Pooled],
    *,
    question: EncodedQuery,
    rows: TokenVectors,
    lengths: NDArray[np.int64],
) -> Reranked:
    """`rows` and `lengths` are the token vectors of `pool`, in its order, as in `highest_cosines`.
    Where a passage has none, its cosine stands in for MaxSim, and the note counts them."""
    passages = [each.passage for each in pool]
    around = neighbours_of(passages)
    content = content_tokens(asked.text, question.spans)
    found = highest_cosines(question.tokens[content], rows, lengths)
    expected = found[:, in_texts(asked, question)[content]]
    similarity = means(in_windows(found, around))
    cosine = _cosines(pool)
    keyword = words_in_windows(np.array([each.keyword for each in pool]), around)
    weights = _weights(asked.plan, turns=mostly_turns(passages))
    parts = {
        "similarity": weights["similarity"]
        * np.where(np.isfinite(similarity), z_scores(similarity), z_scores(cosine)),
        "keyword": weights["keyword"]
        * z_scores(keyword, counted=same_language(pool, asked.language)),
        "cosine": weights["cosine"] * z_scores(cosine),
        "speaker": of_the_named_speaker(passages, asked.text),
        "told": of_what_is_told(passages),
    }
    parts["session"] = of_the_session(passages, np.sum(list(parts.values()), axis=0))
    total = np.sum(list(parts.values()), axis=0)
    return Reranked(
        reranker=NAME,
        scale="z",
        scores={each.chunk_id: float(score) for each, score in zip(pool, total, strict=True)},
        parts={
            each.chunk_id: {
                name: float(values[at]) for name, values in parts.items() if values.any()
            }
            for at, each in enumerate(pool)
        },
        evidence=evidence_of(
            expected if expected.shape[1] else found,
            first=pool[int(np.argmax(total))].chunk_id,
        ),
        note=_told(int((lengths == 0).sum()), len(pool)),
    )


def in_texts(asked: Asked, question: EncodedQuery) -> NDArray[np.bool_]:
    """Which tokens of the question only a text can have: a date stands beside it."""
    return np.array(
        [
            not any(start < end_beside and beside < end for beside, end_beside in asked.beside)
            for start, end in question.spans
        ],
        dtype=np.bool_,
    )


def highest_cosines(
    question: TokenVectors, rows: TokenVectors, lengths: Sequence[int] | NDArray[np.int64]
) -> Matrix:
    """`rows` are the tokens of all passages below each other, `lengths[i]` of passage `i`. A
    passage without any has NaN: nothing is known of it."""
    counts = np.asarray(lengths, dtype=np.int64)
    found = np.full((len(counts), len(question)), np.nan, dtype=np.float32)
    there = np.flatnonzero(counts)
    if len(there) and len(question):
        starts = np.cumsum(counts)[there] - counts[there]
        found[there] = np.maximum.reduceat(rows @ question.T, starts, axis=0)
    return found


def means(found: Matrix) -> Numbers:
    """Mean over the tokens of the question, each weighed by how far its best match in the pool
    stands above its mean there; NaN where nothing is known."""
    known = found[np.isfinite(found).all(axis=1)].astype(np.float64)
    if not known.size:
        return np.full(len(found), np.nan)
    weights = known.max(axis=0) - known.mean(axis=0)
    if weights.sum() <= SMALLEST:
        weights = np.ones(found.shape[1])
    mean: Numbers = found.astype(np.float64) @ (weights / weights.sum())
    return mean


def z_scores(values: Numbers, *, counted: NDArray[np.bool_] | None = None) -> Numbers:
    """Standard deviations from the mean of those `counted`; the others, and NaN, have 0."""
    there = np.isfinite(values) if counted is None else np.isfinite(values) & counted
    z = np.zeros(len(values))
    if there.any():
        part = values[there]
        spread = part.std()
        if spread > 1e-12 * max(1.0, abs(part.mean())):
            z[there] = (part - part.mean()) / spread
    return z


def evidence_of(found: Matrix, *, first: str) -> Evidence | None:
    """Of the passage that matches best, without its neighbours; None when nothing is known."""
    means = found.mean(axis=1) if found.shape[1] else np.full(len(found), np.nan)
    if not np.isfinite(means).any():
        return None
    best = int(np.nanargmax(means))
    worst = np.sort(found[best])[: max(1, round(found.shape[1] * WORST_SHARE))]
    return Evidence(best=float(means[best]), worst_third=float(worst.mean()), first=first)


def same_language(pool: Sequence[Pooled], language: str) -> NDArray[np.bool_]:
    """Where nothing is known of a language, it is the same."""
    known = (language, *UNKNOWN_LANGUAGES)
    all_count = language in UNKNOWN_LANGUAGES
    return np.array(
        [all_count or each.passage.metadata.language in known for each in pool], dtype=np.bool_
    )


def _weights(plan: RerankPlan, *, turns: bool) -> dict[str, float]:
    return {
        "similarity": plan.similarity_weight,
        "keyword": plan.keyword_weight * (KEYWORD_OF_TURNS if turns else 1.0),
        "cosine": plan.cosine_weight * (COSINE_OF_TURNS if turns else 1.0),
    }


def _cosines(pool: Sequence[Pooled]) -> Numbers:
    """Who is not listed is below the last one listed: as near to it as is certain."""
    cosines = np.array([np.nan if each.cosine is None else each.cosine for each in pool])
    return cosines if np.isnan(cosines).all() else np.fmax(cosines, np.nanmin(cosines))


def _told(missing: int, count: int) -> str:
    if not missing:
        return ""
    return f"{missing} of {count} passages have no token vectors yet and were ranked without"
