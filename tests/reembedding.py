"""A ledger, its indexes and an indexer at work, to be encoded anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cluster.clock import Clock, SystemClock
from cluster.ids import vector_key
from cluster.indexer import Indexer
from cluster.model import Generation, Scope
from cluster.models.hashing import HashingEmbedder
from cluster.models.open import describe
from cluster.models.protocols import Embedder
from cluster.models.token_vectors import pack
from cluster.settings import EncoderSettings, Settings
from cluster.stores.live_views import LiveViews
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.protocols import Collections, Ledger, Prepared
from contract.samples import NOW, chunk_ids, prepared
from lifecycle.reembed import Tools

ACME = Scope(tenant="acme")
WAIT_S = 20.0


def hashing(dim: int) -> Generation:
    return describe(Settings(encoder=EncoderSettings(backend="hashing", hashing_dim=dim)))


def document(number: int, *, fingerprint: str, pieces: int = 2, tenant: str = "acme") -> Prepared:
    words = " ".join(f"word{number}x{at}" for at in range(12))
    return prepared(
        f"{number}.md", f"{number} {words}", fingerprint=fingerprint, pieces=pieces, tenant=tenant
    )


@dataclass
class House:
    ledger: Ledger
    collections: Collections
    texts: MemoryTextIndex = field(default_factory=MemoryTextIndex)
    clock: Clock = field(default_factory=SystemClock)
    said: list[str] = field(default_factory=list)
    token_vectors: bool = False
    """Does `put` write them?"""

    def tools(self) -> Tools:
        return Tools(
            ledger=self.ledger,
            collections=self.collections,
            clock=self.clock,
            open_embedder=self.open_embedder,
            say=self.said.append,
            settle_s=0.0,
        )

    def open_embedder(self, generation: Generation) -> Embedder:
        return HashingEmbedder(generation.dim)

    async def activate(self, generation: Generation) -> None:
        async with self.ledger.transaction() as tx:
            await tx.generations.activate(generation)

    async def put(self, *batch: Prepared) -> None:
        """As an ingest does: by the encoder that the revisions name."""
        async with self.ledger.transaction() as tx:
            active = await tx.generations.active()
            assert active is not None
            texts = [chunk.indexed_text for one in batch for chunk in one.chunks]
            embedder = HashingEmbedder(active.dim)
            vectors, tokens = embedder.embed_documents_with_tokens(
                texts, languages=["en"] * len(texts)
            )
            keys = [vector_key("en", text) for text in texts]
            made = dict(zip(keys, vectors, strict=True))
            packed = {
                key: pack(matrix, recipe=embedder.token_recipe)
                for key, matrix in zip(keys, tokens, strict=True)
            }
            for fingerprint in {one.revision.fingerprint for one in batch}:
                await tx.vectors.put(
                    made, fingerprint=fingerprint, tokens=packed if self.token_vectors else None
                )
            await tx.documents.put(batch, now=NOW)

    async def shown(self, *batch: Prepared) -> None:
        """Wait until all of it is visible."""
        wanted = set(chunk_ids(*batch))
        async with asyncio.timeout(WAIT_S):
            while True:
                async with self.ledger.transaction() as tx:
                    found = await tx.documents.visible(ACME, sorted(wanted))
                if found.keys() == wanted:
                    return
                await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Wait until nothing is owed."""
        async with asyncio.timeout(WAIT_S):
            while True:
                async with self.ledger.transaction() as tx:
                    owed, _ = await tx.outbox.lag()
                if not owed:
                    return
                await asyncio.sleep(0.02)

    async def held_by(self, generation: Generation) -> dict[str, int]:
        """Chunk id -> version, as its index has it."""
        index = await self.collections.open(generation)
        try:
            return {chunk: version async for batch in index.scan() for chunk, version in batch}
        finally:
            await index.close()

    async def wanted(self) -> dict[str, int]:
        async with self.ledger.transaction() as tx:
            return dict(await tx.reconciling.page(after="", limit=100_000))

    async def states(self) -> dict[str, str]:
        async with self.ledger.transaction() as tx:
            return {one.fingerprint: one.state for one in await tx.generations.known()}

    async def nearest(self, generation: Generation, text: str) -> Sequence[str]:
        """Chunk ids, as a question would find them."""
        (vector,) = HashingEmbedder(generation.dim).embed_queries([text], languages=["en"])
        index = await self.collections.open(generation)
        try:
            hits = await index.search(vector, scope=ACME, where=None, limit=3)
            return [chunk for chunk, _ in hits]
        finally:
            await index.close()

    @asynccontextmanager
    async def indexing(self) -> AsyncIterator[None]:
        views = LiveViews(self.ledger, self.texts, self.collections.open)
        stop = asyncio.Event()
        indexer = asyncio.create_task(Indexer(self.ledger, views, self.clock).run(stop))
        try:
            yield
        finally:
            stop.set()
            await indexer
            await views.close()
