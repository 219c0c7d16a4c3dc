"""From a shortlist to what is shown: exact texts, checked by their hashes, chosen for the room.

The edge around the pure parts of `rerank`: it reads texts from the ledger and asks the encoder
for token counts; nothing is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.errors import ModelError, Overloaded
from cluster.filters import fields_of
from cluster.model import ChannelFailure, StoredPassage
from cluster.stores.protocols import Ledger
from rerank.budget import (
    Fitted,
    Measured,
    Spent,
    as_stored,
    fit,
    measured,
    recounted,
    spent,
    texts_to_count,
    within,
)
from rerank.citations import CitedPassage, Shortened, cite, faithful, role_in
from rerank.dedup import Block, block_text, gaps
from rerank.diversity import Choice, choice_of
from rerank.matched import matched_in
from rerank.selection import SelectionPlan
from serve.counting import CountTokens
from serve.plan.plan import QueryPlan

LATE = "the encoder did not count in time"
STORED = "stored"
"""Who counted, where no encoder could be asked: the chunks came with their counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Each block with its exact text; `failures` names those whose stored text is not what was
    ingested."""

    found: tuple[tuple[Block, str], ...]
    failures: tuple[ChannelFailure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is shown, and what it took; `spent` is None where nothing had to be chosen."""

    passages: tuple[CitedPassage, ...]
    spent: Spent | None = None
    notes: tuple[str, ...] = ()


async def revision_texts(
    plan: QueryPlan, ledger: Ledger, blocks: Sequence[Block]
) -> Mapping[str, str]:
    """By revision id, the whole texts that `exact_texts` needs for blocks with gaps."""
    revision_ids = sorted({block.revision_id for block in blocks if gaps(block)})
    if not revision_ids:
        return {}
    async with ledger.transaction() as tx:
        return await tx.documents.texts(plan.scope, revision_ids)


def exact_texts(blocks: Sequence[Block], stored: Mapping[str, str]) -> Texts:
    """One that was deleted since the check is left out; one that was superseded is still the
    answer as of the check."""
    found: list[tuple[Block, str]] = []
    damaged: list[Block] = []
    for block in blocks:
        if gaps(block) and block.revision_id not in stored:
            continue
        whole = stored.get(block.revision_id)
        text = block_text(block, revision_text=whole)
        if faithful(block, text, revision_text=whole):
            found.append((block, text))
        else:
            damaged.append(block)
    return Texts(found=tuple(found), failures=tuple(_damaged(block) for block in damaged))


async def cite_stored(
    plan: QueryPlan, ledger: Ledger, passages: Sequence[StoredPassage]
) -> tuple[CitedPassage, ...]:
    """Passages that were not searched for, in the order given."""
    blocks = [Block(passages=(passage,), score=0.0, hits=()) for passage in passages]
    texts = exact_texts(blocks, await revision_texts(plan, ledger, blocks))
    return _cited(plan, [(block, text, None) for block, text in texts.found])


async def choose(
    plan: QueryPlan,
    texts: Sequence[tuple[Block, str]],
    *,
    count: CountTokens | None,
    counter: str,
    within_s: float,
) -> Chosen:
    """`counter` names the encoder that `count` asks; it may take `within_s`."""
    if not plan.selection.chooses:
        shown = [(block, text, None) for block, text in texts[: plan.limit]]
        return Chosen(passages=_cited(plan, shown))
    choices = [choice_of(block, text, role_in(block, text)) for block, text in texts]
    fitted, counted_by, notes = await _fitted(
        plan, choices, count=count, counter=counter, within_s=within_s
    )
    return Chosen(
        passages=_cited(plan, [(one.choice.block, one.text, one) for one in fitted]),
        spent=spent(fitted, candidates=len(choices), plan=plan.selection, counted_by=counted_by),
        notes=notes,
    )


async def _fitted(
    plan: QueryPlan,
    choices: Sequence[Choice],
    *,
    count: CountTokens | None,
    counter: str,
    within_s: float,
) -> tuple[list[Fitted], str, tuple[str, ...]]:
    if count is None or plan.selection.budget_tokens is None:
        return fit(as_stored(choices), limit=plan.limit, plan=plan.selection), STORED, ()
    try:
        async with asyncio.timeout(within_s):
            return await _exactly(plan, choices, count), counter, ()
    except (ModelError, Overloaded, TimeoutError) as error:
        note = f"tokens are counted as they were stored: {str(error) or LATE}"
        return fit(as_stored(choices), limit=plan.limit, plan=plan.selection), STORED, (note,)


async def _exactly(plan: QueryPlan, choices: Sequence[Choice], count: CountTokens) -> list[Fitted]:
    """Sentences count at least as much apart as together for nearly all encoders; what is shown
    is counted once more as it is shown."""
    wanted, sentences = texts_to_count(choices, plan.terms)
    candidates = measured(choices, sentences, await count(wanted)) if wanted else list[Measured]()
    fitted = fit(candidates, limit=plan.limit, plan=plan.selection)
    parts = [at for at, one in enumerate(fitted) if one.shortened]
    if not parts:
        return fitted
    exact = await count([fitted[at].text for at in parts])
    counted = recounted(fitted, dict(zip(parts, exact, strict=True)))
    return within(counted, plan.selection)


def _cited(
    plan: QueryPlan, shown: Sequence[tuple[Block, str, Fitted | None]]
) -> tuple[CitedPassage, ...]:
    filters = sorted(fields_of(plan.where) | {"tenant"})

    def surfaces(text: str) -> tuple[str, ...]:
        return matched_in(text, terms=plan.terms)

    return tuple(
        cite(
            block,
            rank=place,
            text=text,
            surfaces=surfaces,
            filters=filters,
            span=(block.start + one.start, block.start + one.end) if one else None,
            shortened=_shortened(block, one, plan.selection) if one else None,
            role=one.choice.role if one else None,
            limits=plan.selection.quotes,
            exact=plan.exact,
        )
        for place, (block, text, one) in enumerate(shown, start=1 + (plan.page - 1) * plan.limit)
    )


def _shortened(block: Block, one: Fitted, plan: SelectionPlan) -> Shortened | None:
    if not one.shortened:
        return None
    return Shortened(
        reason=f"the budget of {plan.budget_tokens} tokens has no room for all of it",
        start=block.start,
        end=block.end,
        whole_tokens=one.whole_tokens,
    )


def _damaged(block: Block) -> ChannelFailure:
    first = block.passages[0].chunk
    told = f"left out passage {first.chunk_id}: its stored text is not what was ingested"
    return ChannelFailure(channel="citations", reason=f"{told}; ingest it again")
