"""Material and a key for a bench, on the running local stack."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rich.console import Console

from cluster.clock import SystemClock
from cluster.settings import Settings
from cluster.stores.open import open_ledger
from eval.bench.corpus import write_conversation, write_jsonl
from ingest.open import open_surroundings
from ingest.progress import Summary, Watcher, watcher
from ingest.run import Request, ingest
from serve.secret import new_key, secret_digest


def ingest_made_up(
    settings: Settings,
    *,
    tenant: str,
    count: int,
    words: int,
    salt: str,
    watching: Watcher | None = None,
) -> Summary:
    """Ingest `count` made-up passages; doing it again with the same salt costs nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{salt}.jsonl"
        write_jsonl(path, count=count, words=words, salt=salt)
        return _ingest(path, settings, tenant=tenant, source=salt, watching=watching)


def ingest_conversation(settings: Settings, *, tenant: str, turns: int) -> Summary:
    """One made-up conversation `bench-TURNS` in one session; again, it costs nothing."""
    name = f"bench-{turns}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.jsonl"
        write_conversation(path, turns=turns, name=name)
        return _ingest(path, settings, tenant=tenant, source=name, watching=None)


def _ingest(
    path: Path, settings: Settings, *, tenant: str, source: str, watching: Watcher | None
) -> Summary:
    request = Request(targets=(os.fspath(path),), tenant=tenant, source=source)
    shown = watching or watcher(Console())
    with open_surroundings(settings) as around, shown:
        return ingest(request, around, shown)


async def visible_chunks(settings: Settings, *, tenant: str) -> int:
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            return (await tx.documents.counts(tenant))["chunks"]
    finally:
        await ledger.close()


async def new_reader_key(settings: Settings, *, tenant: str) -> str:
    """A fresh key that may read `tenant`."""
    secret, key = new_key(tenant=tenant, role="read", name="bench", now=SystemClock().now())
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            await tx.keys.put(key, secret_sha256=secret_digest(secret))
    finally:
        await ledger.close()
    return secret
