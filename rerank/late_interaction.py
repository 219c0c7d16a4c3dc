"""How well does a passage answer, judged token by token?

MaxSim (Khattab and Zaharia, SIGIR 2020): for each token of the question the highest cosine with
a token of the passage, then the mean over the tokens. Function words of the question are left
out: they find a match anywhere. Of the others those count more that the pool answers unequally,
by how far their best match stands above their usual one. A turn of a conversation is judged with
its neighbours, since an answer rarely repeats the words of the question before it. The score is

    similarity_weight * z(MaxSim) + keyword_weight * z(BM25) + cosine_weight * z(cosine)

with z over the pool; BM25 counts only for passages in the question's language. All is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster.model import EncodedQuery, StoredPassage, TokenVectors
from cluster.text.content_words import content_tokens
from rerank.reranker import Asked, Evidence, Pooled, Reranked

Matrix = NDArray[np.float32]
"""Shape `(passages, tokens of the question)`: the highest cosine of each token there."""

Numbers = NDArray[np.float64]

PREVIOUS, BEFORE_PREVIOUS, NEXT = 0.95, 0.9, 0.85
"""What a match in a neighbouring turn counts."""

UNKNOWN_LANGUAGES = ("und", "")

KEYWORD_PREVIOUS, KEYWORD_NEXT = 0.2, 0.1

WORST_SHARE = 1 / 3

NOWHERE = -1
SMALLEST = 1e-9


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
    content = content_tokens(asked.text, question.spans)
    found = highest_cosines(question.tokens[content], rows, lengths)
    around = neighbours_of([each.passage for each in pool])
    similarity = means(in_windows(found, around))
    cosine = _cosines(pool)
    z_similarity = np.where(np.isfinite(similarity), z_scores(similarity), z_scores(cosine))
    keyword = words_in_windows(np.array([each.keyword for each in pool]), around)
    parts = {
        "similarity": asked.plan.similarity_weight * z_similarity,
        "keyword": asked.plan.keyword_weight
        * z_scores(keyword, counted=same_language(pool, asked.language)),
        "cosine": asked.plan.cosine_weight * _turns_off(pool) * z_scores(cosine),
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
        evidence=evidence_of(found),
        note=_told(int(np.isnan(similarity).sum()), len(pool)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Positions in the pool of the turns around each passage, `NOWHERE` where there is none."""

    before_previous: NDArray[np.int64]
    previous: NDArray[np.int64]
    next: NDArray[np.int64]


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


def neighbours_of(passages: Sequence[StoredPassage]) -> Neighbours:
    """Turns that follow each other in a session, as far as they are in the pool; a long turn is
    several chunks that follow each other in the same way."""
    places = {_place(passage): at for at, passage in enumerate(passages) if passage.turn}
    order = sorted(places)
    previous = np.full(len(passages), NOWHERE, dtype=np.int64)
    following = np.full(len(passages), NOWHERE, dtype=np.int64)
    for left, right in pairwise(order):
        if left[:4] == right[:4] and right[4] - left[4] <= 1:
            previous[places[right]] = places[left]
            following[places[left]] = places[right]
    second = np.where(previous == NOWHERE, NOWHERE, previous[previous])
    return Neighbours(before_previous=second, previous=previous, next=following)


def in_windows(found: Matrix, around: Neighbours) -> Matrix:
    """Each token may match in a neighbouring turn as well, at a part of its similarity."""
    best = found
    for weight, places in (
        (PREVIOUS, around.previous),
        (BEFORE_PREVIOUS, around.before_previous),
        (NEXT, around.next),
    ):
        best = np.fmax(best, np.float32(weight) * _at(found, places))
    return best


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


def words_in_windows(keyword: Numbers, around: Neighbours) -> Numbers:
    """BM25 of a turn with a part of its neighbours'."""
    before = np.nan_to_num(_at(keyword, around.previous))
    after = np.nan_to_num(_at(keyword, around.next))
    total: Numbers = keyword + KEYWORD_PREVIOUS * before + KEYWORD_NEXT * after
    return total


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


def evidence_of(found: Matrix) -> Evidence | None:
    """Of the passage that matches best, without its neighbours; None when nothing is known."""
    means = found.mean(axis=1) if found.shape[1] else np.full(len(found), np.nan)
    if not np.isfinite(means).any():
        return None
    best = int(np.nanargmax(means))
    worst = np.sort(found[best])[: max(1, round(found.shape[1] * WORST_SHARE))]
    return Evidence(best=float(means[best]), worst_third=float(worst.mean()))


def same_language(pool: Sequence[Pooled], language: str) -> NDArray[np.bool_]:
    """Where nothing is known of a language, it is the same."""
    known = (language, *UNKNOWN_LANGUAGES)
    all_count = language in UNKNOWN_LANGUAGES
    return np.array(
        [all_count or each.passage.metadata.language in known for each in pool], dtype=np.bool_
    )


def _cosines(pool: Sequence[Pooled]) -> Numbers:
    """Who is not listed is below the last one listed: as near to it as is certain."""
    cosines = np.array([np.nan if each.cosine is None else each.cosine for each in pool])
    return cosines if np.isnan(cosines).all() else np.fmax(cosines, np.nanmin(cosines))


def _turns_off(pool: Sequence[Pooled]) -> float:
    """A turn's own vector says less than that of a passage: half, where most are turns."""
    turns = sum(each.passage.turn is not None for each in pool)
    return 0.5 if 2 * turns > len(pool) else 1.0


def _told(missing: int, count: int) -> str:
    if not missing:
        return ""
    return f"{missing} of {count} passages have no token vectors yet and were ranked without"


def _place(passage: StoredPassage) -> tuple[str, str, str, str, int, int]:
    turn = passage.turn
    if turn is None:
        return ("", "", "", "", 0, 0)
    owner = passage.owner or ""
    ordinal = passage.chunk.ordinal
    return (owner, passage.source, turn.conversation, turn.session, turn.ordinal, ordinal)


def _at(values: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """The rows at these places, NaN where there is none."""
    taken: NDArray[Any] = values[np.maximum(places, 0)]
    taken[places == NOWHERE] = np.nan
    return taken
