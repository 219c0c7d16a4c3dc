"""What does it cost to check the candidates of an answer with the ledger?

    python -m eval.bench.ledger_check [--url postgresql://…] [--chunks 20000] [--candidates 50]

Makes a database of its own on the server (of the settings, unless named), fills it with visible
documents, checks random candidates one answer after another, and drops it again. The empty round
trip beside it is `SELECT 1` on the same server: the share that no statement can save.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo

from cluster.ids import chunk_id, document_id, revision_id, sha256_hex, vector_key
from cluster.model import Chunk, Generation, Metadata, Revision, Scope, Vector
from cluster.settings import PostgresSettings, load_settings
from cluster.stores.open import postgres_url
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared
from eval.bench.corpus import sentence

TENANT = "bench"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CHUNKS_EACH = 8
DIM = 8
GENERATION = Generation(fingerprint="bench", dim=DIM, recipe={"bench": "bench"})
VECTOR: Vector = np.eye(1, DIM, dtype=np.float32)[0]
WARM_UP = 50


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds. `least` is what it takes when nothing else wants the machine."""

    least: float
    p50: float
    p95: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="server on which a database may be made")
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=1000)
    asked = parser.parse_args()
    url = asked.url or postgres_url(load_settings())
    check, empty = asyncio.run(
        measure(url, chunks=asked.chunks, candidates=asked.candidates, rounds=asked.rounds)
    )
    print(
        f"{asked.candidates} candidates of {asked.chunks:,} chunks, {asked.rounds:,} checks: "
        f"p50 {check.p50:.2f} ms, p95 {check.p95:.2f} ms, least {check.least:.2f} ms; "
        f"an empty round trip: p50 {empty.p50:.2f} ms, p95 {empty.p95:.2f} ms; "
        f"ratio at p50 {check.p50 / empty.p50:.1f}"
    )


async def measure(url: str, *, chunks: int, candidates: int, rounds: int) -> tuple[Spread, Spread]:
    """Of the check and of an empty round trip."""
    rng = random.Random(chunks)  # noqa: S311  # the point is to be repeatable
    async with _database(url) as own:
        ledger = await PostgresLedger.open(own, PostgresSettings())
        try:
            ids = await _fill(ledger, chunks=chunks)
            await _analyse(own)

            async def check() -> None:
                asked = rng.sample(ids, candidates)
                async with ledger.transaction() as tx:
                    found = await tx.documents.visible(Scope(tenant=TENANT), asked)
                if len(found) != candidates:
                    raise RuntimeError(f"{len(found)} of {candidates} candidates are visible")

            async with await psycopg.AsyncConnection.connect(own, autocommit=True) as connection:

                async def ask_nothing() -> None:
                    await (await connection.execute("SELECT 1")).fetchone()

                return await _spread(check, rounds), await _spread(ask_nothing, rounds)
        finally:
            await ledger.close()


async def _spread(act: Callable[[], Awaitable[None]], rounds: int) -> Spread:
    took = []
    for at in range(WARM_UP + rounds):
        started = time.perf_counter()
        await act()
        if at >= WARM_UP:
            took.append((time.perf_counter() - started) * 1000)
    return Spread(min(took), statistics.median(took), statistics.quantiles(took, n=20)[-1])


async def _fill(ledger: Ledger, *, chunks: int) -> list[str]:
    """Ids of the visible chunks, about `chunks`."""
    rng = random.Random(0)  # noqa: S311  # the point is to be repeatable
    batch = [_document(rng, number) for number in range(-(-chunks // CHUNKS_EACH))]
    async with ledger.transaction() as tx:
        await tx.generations.activate(GENERATION)
    for start in range(0, len(batch), 200):
        part = batch[start : start + 200]
        keys = [vector_key("en", chunk.indexed_text) for one in part for chunk in one.chunks]
        async with ledger.transaction() as tx:
            await tx.vectors.put(dict.fromkeys(keys, VECTOR), fingerprint=GENERATION.fingerprint)
            await tx.documents.put(part, now=NOW)
            await tx.documents.publish([one.revision.revision_id for one in part], now=NOW)
    return [chunk.chunk_id for one in batch for chunk in one.chunks][:chunks]


def _document(rng: random.Random, number: int) -> Prepared:
    path = f"page{number:06}.md"
    pieces = [sentence(rng, language="en", words=60) + "\n" for _ in range(CHUNKS_EACH)]
    text = "".join(pieces)
    document = document_id(tenant=TENANT, source="bench", path=path, language="en")
    revision = revision_id(
        document=document, edition="", content=sha256_hex(text), metadata="", recipe="bench"
    )
    made = Revision(
        revision_id=revision,
        document_id=document,
        tenant=TENANT,
        owner=None,
        kind="document",
        source="bench",
        path=path,
        edition="",
        edition_key="",
        origin=f"file:///bench/{path}",
        item_digest=sha256_hex(text),
        media_type="text/markdown",
        content_sha256=sha256_hex(text),
        text=text,
        metadata=Metadata(title=path, language="en"),
        turn=None,
        fingerprint=GENERATION.fingerprint,
        run_id="bench",
    )
    return Prepared(revision=made, chunks=tuple(_chunks(revision, pieces)))


def _chunks(revision: str, pieces: Sequence[str]) -> list[Chunk]:
    chunks, start = [], 0
    for ordinal, piece in enumerate(pieces):
        end = start + len(piece)
        chunks.append(
            Chunk(
                chunk_id=chunk_id(revision=revision, start=start, end=end, text=piece),
                revision_id=revision,
                ordinal=ordinal,
                start=start,
                end=end,
                text=piece,
                context="",
                heading_path=(),
                token_count=len(piece.split()),
            )
        )
        start = end
    return chunks


@asynccontextmanager
async def _database(url: str) -> AsyncIterator[str]:
    """URL of a new, empty database."""
    name = f"palimpsest_bench_{os.getpid()}"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as server:
        await server.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'".encode())
        try:
            yield make_conninfo(url, dbname=name)
        finally:
            await server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def _analyse(url: str) -> None:
    """As autovacuum does after a while."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("VACUUM ANALYZE")


if __name__ == "__main__":
    main()
