"""The end state of all stores, as values that can be compared id by id."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from chaos.house import active_of, ledger_of
from cluster.settings import Settings
from cluster.stores.open import milvus_uri, open_stores, postgres_url

State = dict[str, Any]

TABLES = {
    "revisions": "SELECT revision_id, document_id, path, edition, state, newest_edition "
    "FROM revisions ORDER BY revision_id",
    "chunks": "SELECT c.chunk_id, c.revision_id, c.ordinal, c.start_at, c.end_at FROM chunks c "
    "ORDER BY c.chunk_id",
    "embeddings": "SELECT vector_key, fingerprint FROM embeddings ORDER BY 1, 2",
    "uploads": "SELECT run_id FROM uploads",
    "outbox": "SELECT chunk_id, '' FROM outbox UNION ALL "
    "SELECT chunk_id, target FROM outbox_of_generation",
    "lineage": "SELECT revision_id, document_id, support FROM lineage ORDER BY 1, 2, 3",
    "forget jobs": "SELECT kind, state, count(*) FROM forget_jobs GROUP BY 1, 2 ORDER BY 1, 2",
    "forget work": "SELECT count(*) FROM forget_work",
    "tombstones": "SELECT count(*) FROM tombstones",
    "receipts": "SELECT count(*) FROM receipts",
    "kept apart": "SELECT path FROM revisions WHERE text LIKE '%vault code%' ORDER BY path",
    "rebuilds": "SELECT count(*) FROM rebuilds WHERE finished_at IS NULL",
    "generations": "SELECT fingerprint, state FROM generations ORDER BY fingerprint",
    "shown": "SELECT c.chunk_id, c.row_version FROM chunks c JOIN revisions r USING (revision_id) "
    "WHERE r.state = 'visible' ORDER BY c.chunk_id",
}
"""What is compared between runs, but for `shown`, whose versions differ from run to run."""


def snapshot(settings: Settings) -> State:
    """Tables of the ledger by name, and what each index lists."""
    state: State = {}
    with psycopg.connect(postgres_url(settings)) as connection:
        for name, query in TABLES.items():
            state[name] = [list(row) for row in connection.execute(query.encode()).fetchall()]
    state["collections"] = [[name] for name in _collections(settings)]
    return state | asyncio.run(_scans(settings))


def _collections(settings: Settings) -> list[str]:
    client = MilvusClient(milvus_uri(settings), timeout=30, dedicated=True)
    try:
        return sorted(client.list_collections())
    finally:
        client.close()


async def _scans(settings: Settings) -> State:
    async with ledger_of(settings) as ledger:
        active = await active_of(ledger)
    stores = await open_stores(settings, active, read_only_text=True)
    try:
        return {
            "vectors": await _listed(stores.vector_index.scan()),
            "texts": await _listed(stores.text_index.scan()),
        }
    finally:
        await stores.close()


async def _listed(scan: AsyncIterator[list[tuple[str, int]]]) -> list[list[Any]]:
    return sorted([list(row) async for batch in scan for row in batch])


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Chunks that an undisturbed run shows and this one lacks somewhere; that are somewhere
    although nothing shows them; that are listed twice, or in another version than the ledger's.
    `other`: rows of the ledger that differ from the undisturbed run's, by table."""

    lost: tuple[str, ...]
    ghosts: tuple[str, ...]
    duplicates: tuple[str, ...]
    stale: tuple[str, ...]
    other: Mapping[str, int]

    @property
    def none(self) -> bool:
        return not (self.lost or self.ghosts or self.duplicates or self.stale or self.other)


def compare(found: State, undisturbed: State) -> Difference:
    wanted = {chunk for chunk, _ in undisturbed["shown"]}
    version = dict(found["shown"])
    lost, ghosts, duplicates, stale = set(wanted - version.keys()), set(), set(), set()
    ghosts |= version.keys() - wanted
    for index in ("vectors", "texts"):
        rows = [(chunk, held) for chunk, held in found[index]]
        listed = Counter(chunk for chunk, _ in rows)
        lost |= wanted - listed.keys()
        ghosts |= listed.keys() - wanted
        duplicates |= {chunk for chunk, times in listed.items() if times > 1}
        stale |= {chunk for chunk, held in rows if version.get(chunk, held) != held}
    duplicates |= _shown_twice(found["revisions"])
    tables = ["collections", *(name for name in TABLES if name != "shown")]
    other = {name: len(_unlike(found[name], undisturbed[name])) for name in tables}
    return Difference(
        lost=tuple(sorted(lost)),
        ghosts=tuple(sorted(ghosts)),
        duplicates=tuple(sorted(duplicates)),
        stale=tuple(sorted(stale)),
        other={name: count for name, count in other.items() if count},
    )


def _shown_twice(revisions: Sequence[Sequence[Any]]) -> set[str]:
    """Paths of which two revisions of one edition are visible."""
    shown = Counter((row[2], row[3]) for row in revisions if row[4] == "visible")
    return {path for (path, _), times in shown.items() if times > 1}


def _unlike(one: Sequence[Sequence[Any]], other: Sequence[Sequence[Any]]) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in one} ^ {tuple(row) for row in other}
