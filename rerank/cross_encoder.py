"""How well does a passage answer, read together with the question?

A cross-encoder (Nogueira and Cho, 2019) sees both texts at once: better than comparing vectors,
and a pass for each passage. So it reads only the best of the pool, as that is handed to it, and
gives logits, a scale of its own (`rerank.reranker`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from rerank.reranker import Asked, Pooled, Reranked

NAME: Final = "cross_encoder"


class ScorePassages(Protocol):
    """Logits of each passage, in order. Raises `ModelError`, `Overloaded`, or
    `DeadlineExceeded` after `within_s` at the latest."""

    async def __call__(
        self, question: str, passages: Sequence[str], *, within_s: float
    ) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCrossEncoder:
    """Reads the first `pool` candidates."""

    score_passages: ScorePassages
    pool: int
    name: str = NAME

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked:
        read = pool[: self.pool]
        texts = [each.passage.chunk.indexed_text for each in read]
        logits = await self.score_passages(asked.text, texts, within_s=asked.within_s)
        scores = {each.chunk_id: float(logit) for each, logit in zip(read, logits, strict=True)}
        return Reranked(
            reranker=NAME,
            scale="logit",
            scores=scores,
            parts={chunk_id: {NAME: score} for chunk_id, score in scores.items()},
        )


def best_first(pool: Sequence[Pooled], reranked: Reranked) -> list[Pooled]:
    """The pool in the order of these scores; ties, and those without one, in the pool's."""
    scores = reranked.scores
    lowest = min(scores.values(), default=0.0)
    return sorted(pool, key=lambda each: -scores.get(each.chunk_id, lowest))


def after_first(first: Reranked, then: Reranked) -> Reranked:
    """`then` orders what it scored, `first` what stands behind; what is about the question at
    all is told by the evidence of `first`, on whose scale that was calibrated."""
    behind = sorted(
        (name for name in first.scores if name not in then.scores),
        key=lambda name: -first.scores[name],
    )
    note = "; ".join(filter(None, (first.note, then.note)))
    return replace(then, behind=tuple(behind), evidence=first.evidence, note=note)
