"""Is anything that was found about the question, or is "nothing here" the answer?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cluster.model import Hit, StoredPassage
from cluster.text.languages import detect_language
from rerank.relevance import Relevance, calibration_of, relevance, signals_of
from rerank.reranker import Reranked
from rerank.verbatim import ExactKind, verbatim_bonus
from serve.candidates import Candidates
from serve.plan.plan import QueryPlan

READ = 3
"""So many of the best passages of the channel `keyword` are read for the question's words."""

TELLING: tuple[ExactKind, ...] = ("title", "quoted", "identifier", "error_code")
"""What a passage has for no other reason than being about it."""


def judge(
    plan: QueryPlan, found: Candidates, reranked: Reranked | None, *, fingerprint: str
) -> Relevance | None:
    """None where nothing can be said: without one of the signs, for a question of what is
    recent, or for a caller who wants no judgement."""
    recent = any(channel.name == "recent" for channel in plan.channels)
    if plan.rerank.min_relevance <= 0 or recent:
        return None
    read = _best_by_words(found)
    nearest = _nearest(found)
    signals = signals_of(
        reranked,
        cosine=nearest.score if nearest else None,
        terms=plan.terms,
        first=_first(found, reranked),
        texts=[passage.chunk.indexed_text for passage in read],
        other_language=nearest is not None
        and _in_other_language(found.passages[nearest.chunk_id], than=plan.language),
    )
    if signals is None:
        return None
    calibration = calibration_of(fingerprint, plan.language, other_language=signals.other_language)
    return relevance(signals, calibration, verbatim=_has_verbatim(plan, read))


def told(judged: Relevance, *, least: float) -> str:
    return (
        f"nothing that is stored is about this question (relevance {judged.value or 0.0:.2f}, "
        f"{least:.2f} is asked for); ask with min_relevance 0 to see what is nearest"
    )


def _nearest(found: Candidates) -> Hit | None:
    """The hit with the best cosine."""
    return max(_hits_of(found, "semantic"), key=lambda hit: hit.score, default=None)


def _first(found: Candidates, reranked: Reranked | None) -> str:
    """The indexed text of the passage that ranks first for the reranker whose signs these are."""
    evidence = reranked.evidence if reranked else None
    return found.passages[evidence.first].chunk.indexed_text if evidence else ""


def _in_other_language(passage: StoredPassage, *, than: str) -> bool:
    """Chinese where the question is English, or English where it is Chinese. The text of the
    passage tells, for a document in one language may quote another."""
    return {detect_language(passage.chunk.text), than} == {"zh", "en"}


def _best_by_words(found: Candidates) -> list[StoredPassage]:
    return [found.passages[hit.chunk_id] for hit in islice(_hits_of(found, "keyword"), READ)]


def _hits_of(found: Candidates, channel: str) -> Iterator[Hit]:
    """What a channel gave, as far as it may be shown; in the channel's order."""
    return (
        hit
        for answer in found.answers
        if answer.channel == channel
        for hit in answer.hits
        if hit.chunk_id in found.passages
    )


def _has_verbatim(plan: QueryPlan, read: list[StoredPassage]) -> bool:
    telling = [term for term in plan.exact if term.kind in TELLING]
    return bool(telling) and any(verbatim_bonus(each.chunk, telling) > 0 for each in read)
