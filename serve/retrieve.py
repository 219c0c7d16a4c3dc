"""A plan becomes cited passages. This is the whole way of a question, in the order it is read:

    gather      the channels, checked with the ledger                       serve.candidates
    fuse        their rankings -> one order                                 rerank.fusion
    rerank      the best of that, scored anew                               serve.reranking
    stand       bonuses on a score of 0..1                                  rerank.priors
    select      merged, without repeats, diverse, within the budget         rerank.pipeline.select
    cite        exact texts, citations, reasons                             rerank.citations

Where more plugs in: whatever chooses between good candidates (roles, near copies, diversity,
token budget) is inside `rerank.pipeline.select`; whatever compares what is shown (conflicts
between passages) takes `cited` and goes into a field of `Retrieved`; views come after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.errors import InvalidRequest
from cluster.filters import fields_of
from cluster.model import ChannelFailure
from cluster.stores.protocols import Ledger
from rerank.citations import CitedPassage, cite
from rerank.dedup import Block, block_text, gaps
from rerank.fusion import Candidate
from rerank.matched import matched_in
from rerank.pipeline import fuse_rankings, pool_of, select, standing
from rerank.reranker import Asked, Reranked, Reranker
from serve.candidates import Candidates, Places, gather, rankings
from serve.plan.plan import QueryPlan
from serve.reranking import rerank
from serve.timings import Timings

SPARE_S = 0.05
"""What the rest of the answer needs after the reranker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources(Places):
    """What answers come from: the channels by name, the ledger that has the last word, and
    rerankers by name."""

    rerankers: Mapping[str, Reranker] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """An answer. `rankings`, `fused` and `ranked` are chunk ids, best first: per channel as it
    gave them, after fusion, and after the reranker and bonuses, before neighbouring chunks
    merge. `reranker` is the one whose scores made the order, "" where the fusion did.
    `timings_ms` has `channels`, each `channel:<name>`, `ledger`, `fuse`, `rerank`, `select`,
    `cite` and `total`. `generation` is the fingerprint of the encoder whose index was searched.
    """

    plan: QueryPlan
    passages: tuple[CitedPassage, ...]
    rankings: Mapping[str, tuple[str, ...]]
    fused: tuple[str, ...]
    ranked: tuple[str, ...]
    failures: tuple[ChannelFailure, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]
    reranker: str = ""
    generation: str = ""


async def retrieve(plan: QueryPlan, sources: Sources) -> Retrieved:
    """Raises `StoreUnavailable` or `DeadlineExceeded` if no channel gave an answer; the
    ledger's own errors pass through, as nothing may be shown unchecked."""
    if not plan.channels:
        raise InvalidRequest("the question has no words to look up; ask for the channel 'semantic'")
    timings = Timings()
    found = await gather(plan, sources, timings=timings)
    with timings.stage("fuse"):
        fused = _fused(plan, found)
    with timings.stage("rerank"):
        second = await _reranked(plan, sources, found, fused, timings=timings)
    reranked = second if isinstance(second, Reranked) else None
    with timings.stage("select"):
        blocks = standing(
            fused, passages=found.passages, reranked=reranked, now=plan.now, exact=plan.exact
        )
        selected = select(blocks, limit=plan.limit)
    with timings.stage("cite"):
        cited = _cite_all(plan, await _texts(plan, sources.ledger, selected.blocks))
    return Retrieved(
        plan=plan,
        passages=cited,
        rankings=found.found,
        fused=tuple(each.chunk_id for each in fused),
        ranked=tuple(block.chunk_ids[0] for block in blocks),
        failures=(*found.failures, *([second] if isinstance(second, ChannelFailure) else [])),
        notes=(*plan.notes, *([reranked.note] if reranked and reranked.note else [])),
        timings_ms=timings.read(),
        reranker=reranked.reranker if reranked else "",
    )


def _fused(plan: QueryPlan, found: Candidates) -> list[Candidate]:
    return fuse_rankings(
        rankings(plan, found),
        passages=found.passages,
        method=plan.fusion,
        language=plan.language,
    )


async def _reranked(
    plan: QueryPlan,
    sources: Sources,
    found: Candidates,
    fused: Sequence[Candidate],
    *,
    timings: Timings,
) -> Reranked | ChannelFailure | None:
    pool = pool_of(fused, rankings(plan, found), passages=found.passages, plan=plan.rerank)
    asked = Asked(
        text=plan.query,
        language=plan.language,
        terms=plan.terms,
        scope=plan.scope,
        plan=plan.rerank,
    )
    left_s = sources.deadline_s - timings.passed_s() - SPARE_S
    return await rerank(sources.rerankers, asked, pool, within_s=max(left_s, 0.0))


async def _texts(
    plan: QueryPlan, ledger: Ledger, blocks: Sequence[Block]
) -> list[tuple[Block, str]]:
    """Each block with its exact text. One that was deleted since the check is left out; one
    that was superseded is still the answer as of the check."""
    revision_ids = sorted({block.revision_id for block in blocks if gaps(block)})
    stored: dict[str, str] = {}
    if revision_ids:
        async with ledger.transaction() as tx:
            stored = await tx.documents.texts(plan.scope, revision_ids)
    return [
        (block, block_text(block, revision_text=stored.get(block.revision_id)))
        for block in blocks
        if block.revision_id in stored or not gaps(block)
    ]


def _cite_all(plan: QueryPlan, texts: Sequence[tuple[Block, str]]) -> tuple[CitedPassage, ...]:
    filters = sorted(fields_of(plan.where) | {"tenant"})

    def surfaces(text: str) -> tuple[str, ...]:
        return matched_in(text, terms=plan.terms)

    return tuple(
        cite(block, rank=place, text=text, surfaces=surfaces, filters=filters)
        for place, (block, text) in enumerate(texts, start=1)
    )
