"""Give token vectors to texts that have a vector alone: `palimpsest reembed --tokens`.

Such are those that were encoded by an older version, with `encoder.token_vectors` off, or by
another recipe for token vectors. What is made is in the ledger page by page, so that a run that
was killed goes on with what is still missing; nothing of the indexes changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from cluster.kill_points import reached
from cluster.model import Vector
from cluster.models.token_vectors import head_of
from lifecycle.reembed import LEASE, SAY_EVERY_S, Tools, active_generation, encode_page

PAGE_TEXTS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """`texts` of the active generation got token vectors."""

    active: str
    texts: int


async def fill_tokens(tools: Tools) -> Filled:
    """`InvalidRequest` while nothing is encoded, or a re-embedding is under way elsewhere."""
    async with tools.ledger.lease(LEASE) as lease:
        active = await active_generation(tools.ledger)
        embedder = await asyncio.to_thread(tools.open_embedder, active)
        head = head_of(embedder.token_recipe)
        done, after, told_at = 0, "", asyncio.get_running_loop().time()
        while True:
            await lease.check()
            async with tools.ledger.transaction() as tx:
                page = await tx.generations.tokenless(
                    active.fingerprint, head=head, after=after, limit=PAGE_TEXTS
                )
            if not page:
                return Filled(active=active.fingerprint, texts=done)
            after = page[-1].vector_key
            made = await asyncio.to_thread(encode_page, embedder, page)
            done += await _put(tools, active.fingerprint, *made)
            if asyncio.get_running_loop().time() - told_at > SAY_EVERY_S:
                told_at = asyncio.get_running_loop().time()
                tools.say(f"{done:,} texts have their token vectors")


async def _put(
    tools: Tools, fingerprint: str, vectors: Mapping[str, Vector], tokens: Mapping[str, bytes]
) -> int:
    """Of the texts that are still needed; how many those are."""
    async with tools.ledger.transaction() as tx:
        held = await tx.generations.hold(list(vectors))
        if held:
            await tx.vectors.put(
                {key: vectors[key] for key in held},
                fingerprint=fingerprint,
                tokens={key: tokens[key] for key in held},
            )
    reached("tokens.put")
    return len(held)
