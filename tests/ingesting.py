"""Runs of the ingest side on the reference stores, and pages to ingest."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cluster.clock import FixedClock
from cluster.indexer import Indexer
from cluster.model import Generation, Scope, Vectors
from cluster.models.hashing import HashingEmbedder
from cluster.models.open import describe
from cluster.settings import (
    EncoderSettings,
    IngestSettings,
    PostgresSettings,
    RaySettings,
    Settings,
)
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.protocols import DocumentSummary, Transaction
from cluster.stores.views import FixedViews
from ingest.claims import LocalClaims
from ingest.link import LedgerLink
from ingest.loop import Once, run_in_loop
from ingest.prepare import Plan
from ingest.progress import Silent, Summary
from ingest.run import Request, Surroundings, ingest
from ingest.sources import Unit
from ingest.stages import Bundle

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DIM = 64
TENANT = "acme"
CLOCK = FixedClock(NOW)


class CountingEmbedder(HashingEmbedder):
    """Remembers what it was asked to encode."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self.encoded: list[str] = []

    def embed_documents(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        self.encoded.extend(texts)
        return super().embed_documents(texts, languages=languages)


def settings_for(**ingest_settings: Any) -> Settings:
    return Settings(
        encoder=EncoderSettings(backend="hashing", hashing_dim=DIM),
        ingest=IngestSettings(**ingest_settings),
    )


@dataclass
class Bench:
    """One ledger, both indexes and an indexer that works when it is told to."""

    settings: Settings = field(default_factory=settings_for)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    embedder: CountingEmbedder = field(default_factory=CountingEmbedder)

    waits: bool = False
    """Whether runs wait until what they wrote is visible."""

    def __post_init__(self) -> None:
        self.vectors = MemoryVectorIndex(DIM)
        self.texts = MemoryTextIndex()
        self.link = LedgerLink(self.open)
        self.opened = Once(lambda: self.embedder)

    async def open(self) -> MemoryLedger:
        return self.ledger

    def ingest(
        self, *targets: str | Path, generation: Generation | None = None, **request: Any
    ) -> Summary:
        """A run in a loop; afterwards what it wrote is visible."""
        on = Surroundings(
            settings=self.settings,
            link=self.link,
            clock=CLOCK,
            generation=generation or describe(self.settings),
            few=self._loop,
            many=self._loop,
            wait_until_visible=self.waits,
        )
        wanted = Request(targets=tuple(map(str, targets)), **{"tenant": TENANT, **request})
        summary = ingest(wanted, on, Silent())
        self.index()
        return summary

    def index(self) -> None:
        async def work() -> None:
            views = FixedViews(
                by_fingerprint={self.embedder.fingerprint: self.vectors}, text_index=self.texts
            )
            indexer = Indexer(self.ledger, views, CLOCK)
            while await indexer.drain() or await indexer.publish_found():
                pass

        asyncio.run(work())

    def documents(self, tenant: str = TENANT) -> list[DocumentSummary]:
        async def ask(tx: Transaction) -> list[DocumentSummary]:
            page, _ = await tx.documents.page(
                Scope(tenant=tenant), where=None, after=None, limit=1000
            )
            return page

        return self.link.call(ask)

    def indexed(self) -> set[str]:
        async def scan() -> set[str]:
            return {chunk async for batch in self.texts.scan() for chunk, _ in batch}

        return asyncio.run(scan())

    def counts(self) -> Mapping[str, int]:
        async def ask(tx: Transaction) -> dict[str, int]:
            return await tx.documents.counts(TENANT)

        return self.link.call(ask)

    def _loop(
        self, plan: Plan, units: Sequence[Unit], *, claims: LocalClaims, dry_run: bool
    ) -> Iterator[Bundle]:
        return run_in_loop(
            plan,
            units,
            link=self.link,
            clock=CLOCK,
            opened=self.opened,
            claims=claims,
            dry_run=dry_run,
        )


def write_pages(folder: Path, count: int, *, words: int = 120) -> None:
    """Markdown pages of three sections, no two alike."""
    for number in range(count):
        sections = [
            f"## Part {part}\n\n"
            + " ".join(f"word{number}x{part}x{at}" for at in range(words))
            + "."
            for part in range(3)
        ]
        page = f"# Page {number}\n\n" + "\n\n".join(sections) + "\n"
        (folder / f"page{number:03}.md").write_text(page, encoding="utf-8")


def ray_settings(*, postgres_url: str, address: str, home: str | Path) -> Settings:
    """A real ledger and a Ray that runs; units of four pages, so that there are many."""
    return Settings(
        home=Path(home),
        encoder=EncoderSettings(backend="hashing", hashing_dim=DIM),
        postgres=PostgresSettings(url=postgres_url),
        ray=RaySettings(address=address),
        ingest=IngestSettings(block_items=4),
    )
