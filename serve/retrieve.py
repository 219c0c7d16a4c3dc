"""A plan becomes cited passages. This is the whole way of a question, in the order it is read:

    gather      the channels, checked with the ledger                       serve.candidates
    fuse        their rankings -> one order                                 rerank.fusion
    rerank      the best of that, scored anew                               serve.reranking
    judge       is any of it about the question?                            serve.judging
    stand       bonuses on a score of 0..1                                  rerank.priors
    shortlist   merged, without copies                                      rerank.selection
    choose      exact texts, diverse, within the budget, cited              serve.choosing
    oppose      what contradicts each other, told; who wins goes first      rerank.conflicts

Views come after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from cluster.errors import InvalidRequest
from cluster.model import ChannelFailure
from cluster.stores.protocols import Ledger
from rerank.budget import Spent
from rerank.citations import CitedPassage
from rerank.conflicts import with_conflicts
from rerank.dedup import Block
from rerank.fusion import Candidate
from rerank.kinds import shortlist_of_kinds
from rerank.pages import page_of
from rerank.pipeline import fuse_rankings, pool_of, standing
from rerank.priors import moment_of
from rerank.relevance import Relevance
from rerank.reranker import Asked, Pooled, Reranked, Reranker
from serve.candidates import Candidates, Places, gather, rankings
from serve.choosing import choose, exact_texts, revision_texts
from serve.copies import with_known_copies
from serve.counting import CountTokens
from serve.judging import judge, told
from serve.plan.constraints import left_nothing
from serve.plan.plan import QueryPlan
from serve.reranking import SecondLook, rerank
from serve.tasks import ended_with
from serve.timings import Timings

SPARE_S = 0.05
"""What the rest of the answer needs after the reranker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources(Places):
    """What answers come from: the channels by name, the ledger that has the last word, and
    rerankers by name; with `token_vectors` late interaction is one of these. `count` counts
    tokens of the encoder `counter`."""

    rerankers: Mapping[str, Reranker] = field(default_factory=dict)
    token_vectors: bool = True
    count: CountTokens | None = None
    counter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """An answer. `rankings`, `fused` and `ranked` are chunk ids, best first: per channel as it
    gave them, after fusion, and after the reranker and bonuses, before neighbouring chunks
    merge. `spent` is what a budget or quotas came to. `reranker` is the one whose scores made the
    order, "" where the fusion did. `relevant` is False when nothing that is stored is about the
    question, and then there are no passages; None where that cannot be told (`relevance`).
    `timings_ms` has `channels`, each `channel:<name>`, `ledger`, `fuse`, `rerank`, `judge`,
    `select`, `cite`, `oppose` and `total`. `generation` is the fingerprint of the encoder whose
    index was searched, `search_id` the name of this answer.
    """

    plan: QueryPlan
    passages: tuple[CitedPassage, ...]
    rankings: Mapping[str, tuple[str, ...]]
    fused: tuple[str, ...]
    ranked: tuple[str, ...]
    failures: tuple[ChannelFailure, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]
    spent: Spent | None = None
    reranker: str = ""
    relevant: bool | None = None
    relevance: Relevance | None = None
    generation: str = ""
    search_id: str = ""


async def retrieve(plan: QueryPlan, sources: Sources) -> Retrieved:
    """Raises `StoreUnavailable` or `DeadlineExceeded` if no channel gave an answer; the
    ledger's own errors pass through, as nothing may be shown unchecked."""
    if all(channel.name in sources.followers for channel in plan.channels):
        raise InvalidRequest("the question has no words to look up; ask for the channel 'semantic'")
    timings = Timings()
    found = await gather(plan, sources, timings=timings)
    with timings.stage("fuse"):
        fused = _fused(plan, found)
    with timings.stage("rerank"):
        second = await _reranked(plan, sources, found, fused, timings=timings)
    reranked = second.reranked
    with timings.stage("judge"):
        judged = judge(plan, found, reranked, fingerprint=sources.counter)
        refused = judged is not None and not judged.enough(plan.rerank.min_relevance)
    with timings.stage("select"):
        blocks = _standing(plan, found, fused, reranked)
        best = [] if refused else _page(plan, blocks)
    with timings.stage("cite"):
        (known, unknown), stored = await _read_on(plan, sources.ledger, best)
        texts = exact_texts(known, stored)
        chosen = await choose(
            plan,
            texts.found,
            count=sources.count,
            counter=sources.counter,
            within_s=max((sources.deadline_s - timings.passed_s()) / 2, 0.0),
        )
    with timings.stage("oppose"):
        passages = with_conflicts(plan.query, chosen.passages)
    return Retrieved(
        plan=plan,
        passages=passages,
        spent=chosen.spent,
        rankings=found.found,
        fused=tuple(each.chunk_id for each in fused),
        ranked=tuple(block.chunk_ids[0] for block in blocks),
        failures=(
            *found.failures,
            *second.failures,
            *unknown,
            *texts.failures,
        ),
        notes=(
            *plan.notes,
            *_left_out(plan, found),
            *_notes(reranked),
            *([told(judged, least=plan.rerank.min_relevance)] if judged and refused else []),
            *chosen.notes,
        ),
        relevant=None if judged is None or judged.value is None else not refused,
        relevance=judged,
        timings_ms=timings.read(),
        reranker=reranked.reranker if reranked else "",
    )


def _left_out(plan: QueryPlan, found: Candidates) -> tuple[str, ...]:
    """A constraint that leaves nothing is said, not dropped; so are pages of former editions."""
    demanded = any(each.where is not None for each in plan.constraints)
    notes = [left_nothing(plan.constraints)] if demanded and not found.passages else []
    if found.left_behind:
        editions = ", ".join(found.left_behind)
        notes.append(f"pages that only {editions} has are left out; name the version to see them")
    return tuple(notes)


def _standing(
    plan: QueryPlan, found: Candidates, fused: Sequence[Candidate], reranked: Reranked | None
) -> list[Block]:
    return standing(
        fused,
        passages=found.passages,
        reranked=reranked,
        now=plan.now,
        exact=plan.exact,
        times=plan.times,
        zone=ZoneInfo(plan.zone),
    )


def _page(plan: QueryPlan, blocks: Sequence[Block]) -> list[Block]:
    def shown(rest: Sequence[Block]) -> list[Block]:
        return shortlist_of_kinds(rest, plan.kinds, limit=plan.limit, plan=plan.selection)

    return page_of(blocks, page=plan.page, shown=shown)


async def _read_on(
    plan: QueryPlan, ledger: Ledger, blocks: Sequence[Block]
) -> tuple[tuple[list[Block], tuple[ChannelFailure, ...]], Mapping[str, str]]:
    """What else the ledger has for these blocks: who says the same elsewhere, and whole texts."""
    looking = asyncio.create_task(with_known_copies(plan, ledger, blocks))
    reading = asyncio.create_task(revision_texts(plan, ledger, blocks))
    async with ended_with(looking, reading):
        return await looking, await reading


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
) -> SecondLook:
    pool = pool_of(
        fused,
        rankings(plan, found),
        passages=found.passages,
        plan=plan.rerank,
        wide=any(time.placed for time in plan.times),
    )
    asked = Asked(
        text=plan.topic,
        language=plan.language,
        terms=plan.terms,
        scope=plan.scope,
        plan=plan.rerank,
        beside=_met_beside(plan, pool),
    )
    left_s = sources.deadline_s - timings.passed_s() - SPARE_S
    return await rerank(sources.rerankers, asked, pool, within_s=max(left_s, 0.0))


def _met_beside(plan: QueryPlan, pool: Sequence[Pooled]) -> tuple[tuple[int, int], ...]:
    """The times of the question in which something lies that was found."""
    if plan.topic != plan.query:
        return ()
    moments = [moment for each in pool if (moment := moment_of(each.passage)) is not None]
    return tuple(
        (time.start, time.end) for time in plan.times if any(time.holds(at) for at in moments)
    )


def _notes(reranked: Reranked | None) -> tuple[str, ...]:
    return (reranked.note,) if reranked and reranked.note else ()
