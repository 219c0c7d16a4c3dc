"""Copies of what is shown that were no candidates: the ledger knows which passages are alike."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from cluster.errors import StoreError
from cluster.filters import matches
from cluster.model import ChannelFailure, StoredPassage
from cluster.stores.fields import passage_fields
from cluster.stores.protocols import Ledger
from rerank.dedup import Block
from rerank.near_copies import with_others
from serve.plan.plan import QueryPlan


async def with_known_copies(
    plan: QueryPlan, ledger: Ledger, blocks: Sequence[Block]
) -> tuple[list[Block], tuple[ChannelFailure, ...]]:
    """The same blocks, each with its copies in `also_in`. Sketches only propose; whether it is
    a copy the texts say. What cannot be read in time is a failure in the answer."""
    chunk_ids = [chunk_id for block in blocks for chunk_id in block.chunk_ids]
    if not chunk_ids or not plan.selection.known_copies:
        return list(blocks), ()
    try:
        async with asyncio.timeout(plan.selection.known_copies_s):
            alike, seen = await _alike(plan, ledger, chunk_ids)
    except (StoreError, TimeoutError) as error:
        reason = str(error) or "the look for copies was late"
        return list(blocks), (ChannelFailure(channel="copies", reason=reason),)
    stored = {other: passage for other, passage in seen.items() if _admitted(plan, passage)}
    if not stored:
        return list(blocks), ()
    made = [
        with_others(
            block,
            [stored[each] for each in _others(block, alike) if each in stored],
            similar=plan.selection.similar,
        )
        for block in blocks
    ]
    return made, ()


async def _alike(
    plan: QueryPlan, ledger: Ledger, chunk_ids: Sequence[str]
) -> tuple[Mapping[str, list[str]], Mapping[str, StoredPassage]]:
    """Who is like each of these, and those of them that are not among these."""
    async with ledger.transaction() as tx:
        alike = await tx.documents.alike(plan.scope, chunk_ids, limit=plan.selection.known_copies)
        wanted = sorted({other for others in alike.values() for other in others} - {*chunk_ids})
        seen = await tx.documents.visible(plan.scope, wanted) if wanted else {}
    return alike, seen


def _admitted(plan: QueryPlan, passage: StoredPassage) -> bool:
    """As every channel would have it: within the question's filters and editions."""
    fields = passage_fields(passage, tenant=plan.scope.tenant)
    return plan.editions.admit(passage) and (plan.where is None or matches(plan.where, fields))


def _others(block: Block, alike: Mapping[str, list[str]]) -> list[str]:
    found = (other for chunk_id in block.chunk_ids for other in alike.get(chunk_id, []))
    return list(dict.fromkeys(found))
