"""How late interaction and a cross-encoder share the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from passages import passages_of

from cluster.model import Scope
from rerank.cross_encoder import ByCrossEncoder, after_first, best_first
from rerank.fusion import Candidate
from rerank.pipeline import standing
from rerank.reranker import USUAL_RERANK, Asked, Pooled, Reranked

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TEXT = "abcdef"
PASSAGES = passages_of(TEXT, [(at, at + 1) for at in range(len(TEXT))])
NAMES = {passage.chunk.text: passage.chunk.chunk_id for passage in PASSAGES}
POOL = [Pooled(passage=passage, fused=0.5, keyword=0.0) for passage in PASSAGES]
ASKED = Asked(
    text="which?", language="en", terms=(), scope=Scope(tenant="t"), plan=USUAL_RERANK, within_s=3.0
)


def reranked(scores: Mapping[str, float], **more: object) -> Reranked:
    return Reranked(
        reranker="late_interaction",
        scale="z",
        scores={NAMES[text]: score for text, score in scores.items()},
        **more,  # type: ignore[arg-type]  # fields by name
    )


def texts(pool: Sequence[Pooled]) -> str:
    return "".join(each.passage.chunk.text for each in pool)


def test_the_best_come_first_and_ties_stay() -> None:
    first = reranked({"a": -1.0, "b": 2.0, "c": 0.5, "d": 2.0, "e": -3.0})
    assert texts(best_first(POOL, first)) == "bdcaef"
    assert texts(best_first(POOL, reranked({}))) == TEXT


async def test_it_reads_so_many_and_hands_on_the_time_that_is_left() -> None:
    asked: list[tuple[str, list[str], float]] = []

    async def lengths(
        question: str, passages: Sequence[str], *, within_s: float
    ) -> Sequence[float]:
        asked.append((question, list(passages), within_s))
        return [float(at) for at in range(len(passages))]

    found = await ByCrossEncoder(score_passages=lengths, pool=2).score(ASKED, POOL)
    assert asked == [("which?", ["a", "b"], 3.0)]
    assert (found.reranker, found.scale) == ("cross_encoder", "logit")
    assert found.scores == {NAMES["a"]: 0.0, NAMES["b"]: 1.0}
    assert found.parts == {
        NAMES[text]: {"cross_encoder": float(at)} for at, text in enumerate("ab")
    }


def test_what_was_not_read_stands_behind_in_the_order_of_late_interaction() -> None:
    first = reranked({"a": 0.1, "b": 3.0, "c": 2.0, "d": 0.2, "e": 0.3}, note="one without tokens")
    then = Reranked(
        reranker="cross_encoder", scale="logit", scores={NAMES["b"]: -7.0, NAMES["c"]: -2.0}
    )
    both = after_first(first, then)
    assert both.behind == (NAMES["e"], NAMES["d"], NAMES["a"])
    assert (both.scale, both.note) == ("logit", "one without tokens")
    blocks = standing(
        [Candidate(chunk_id=each.chunk_id, score=0.5, hits=()) for each in POOL],
        passages={passage.chunk.chunk_id: passage for passage in PASSAGES},
        reranked=both,
        now=NOW,
    )
    order = [block.chunk_ids[0] for block in blocks]
    assert order == [NAMES[text] for text in "cbedaf"]
