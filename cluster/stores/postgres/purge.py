"""Make the database give back the bytes of rows that are gone: tables, then the write-ahead log.

`VACUUM` marks the space as free, and the bytes stay in the file until something is written over
them; `VACUUM FULL` writes each table anew and locks it meanwhile. Segments of the log are
removed when a checkpoint no longer needs them; by default the server renames them for later
use instead, with what is in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg import sql

from cluster.settings import PostgresSettings
from cluster.stores.postgres.statements import Connection, translated

LOCK_TIMEOUT_MS = 60_000
ROUNDS = 2
"""Of log switch and checkpoint: the first still needs the segment that the second lets go."""

_AHEAD = b"""
SELECT count(*) FROM pg_ls_waldir()
WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_insert_lsn())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgedDatabase:
    """`log`: what happened to the write-ahead log, in words."""

    tables: tuple[str, ...]
    full: bool
    log: str


async def purge_database(
    url: str, settings: PostgresSettings, *, full: bool, own_server: bool
) -> PurgedDatabase:
    """All tables of the schema. `own_server`: nobody else's settings are changed by dropping
    old segments of the log. `StoreUnavailable` when a table stays locked by others."""
    with translated():
        connection = await psycopg.AsyncConnection.connect(
            url, autocommit=True, connect_timeout=max(2, round(settings.connect_timeout_s))
        )
    async with connection:
        with translated():
            await connection.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}".encode())
            tables = await _tables(connection)
            how = sql.SQL("VACUUM (FULL, ANALYZE) {}" if full else "VACUUM (ANALYZE) {}")
            for table in tables:
                await connection.execute(how.format(sql.Identifier(table)))
            log = await _log(connection, drop=full and own_server)
    return PurgedDatabase(tables=tuple(tables), full=full, log=log)


async def _tables(connection: Connection) -> list[str]:
    cursor = await connection.execute(
        "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
    )
    return [row[0] for row in await cursor.fetchall()]


async def _log(connection: Connection, *, drop: bool) -> str:
    try:
        if not drop:
            await connection.execute("CHECKPOINT")
            return "a checkpoint was made; old segments go when the server recycles them"
        await connection.execute("ALTER SYSTEM SET wal_recycle = off")
        await connection.execute("SELECT pg_reload_conf()")
        try:
            await _write_through(connection)
            for _ in range(ROUNDS):
                await connection.execute("SELECT pg_switch_wal()")
                await connection.execute("CHECKPOINT")
        finally:
            await connection.execute("ALTER SYSTEM RESET wal_recycle")
            await connection.execute("SELECT pg_reload_conf()")
    except psycopg.errors.InsufficientPrivilege:
        return "not touched: this user may not make checkpoints; ask who administers the server"
    return "old segments were removed"


async def _write_through(connection: Connection) -> None:
    """Segments that were renamed before, for later use, are written over by using them."""
    cursor = await connection.execute(_AHEAD)
    row = await cursor.fetchone()
    for _ in range(int(row[0]) if row else 0):
        await connection.execute("SELECT pg_logical_emit_message(false, 'palimpsest', '')")
        await connection.execute("SELECT pg_switch_wal()")
