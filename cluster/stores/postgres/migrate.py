"""Bring a database to this version's schema: numbered files, once each, one at a time."""

from __future__ import annotations

from importlib.resources import files

import psycopg

from cluster.errors import StoreRejected
from cluster.settings import PostgresSettings
from cluster.stores.postgres.statements import STORE, Connection, translated

LOCK_KEY = 0x70616C6D  # "palm"; the indexer's lease uses other keys

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""


async def migrate(url: str, settings: PostgresSettings) -> list[str]:
    """Apply what is missing and name it. Two callers at once: the second one waits.

    `StoreRejected` when the database already has a newer schema than this version knows.
    """
    with translated():
        connection = await psycopg.AsyncConnection.connect(
            url, autocommit=True, connect_timeout=max(2, round(settings.connect_timeout_s))
        )
    async with connection:
        with translated():
            await connection.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
            return await _apply_missing(connection)


def known_migrations() -> list[tuple[int, str, str]]:
    """(version, file name, SQL), in order."""
    found = [
        (int(entry.name.split("_")[0]), entry.name, entry.read_text(encoding="utf-8"))
        for entry in (files(__package__) / "migrations").iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(found)


async def _apply_missing(connection: Connection) -> list[str]:
    await connection.execute(_TABLE)
    cursor = await connection.execute("SELECT COALESCE(max(version), 0) FROM schema_migrations")
    row = await cursor.fetchone()
    at = int(row[0]) if row else 0
    migrations = known_migrations()
    if at > migrations[-1][0]:
        raise StoreRejected(
            STORE,
            f"the database has schema {at}, this version of Palimpsest knows up to "
            f"{migrations[-1][0]}; install the newer Palimpsest that made it",
        )
    applied = []
    for version, name, text in migrations:
        if version > at:
            async with connection.transaction():
                await connection.execute(text.encode())
                await connection.execute(
                    "INSERT INTO schema_migrations (version, name) VALUES (%s, %s)", (version, name)
                )
            applied.append(name)
    return applied
