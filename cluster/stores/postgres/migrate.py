"""Bring a database to this version's schema: numbered files, once each, one process at a time.

`000N_topic.pre.sql` only adds: code of the version before goes on running beside it, so it is
applied whenever a ledger opens. `000N_topic.post.sql` takes away what that code used: it is
applied on demand, when no process of an older version is left. (`0001_ledger.sql` made the
first schema; it counts as a `pre`.)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import psycopg
from psycopg.conninfo import make_conninfo

from cluster.errors import StoreRejected, StoreUnavailable
from cluster.settings import PostgresSettings
from cluster.stores.postgres.statements import STORE, Connection, translated

LOCK_KEY = 0x70616C6D  # "palm"; leases use other keys

OLDEST_SERVER = 15

LOCK_TRIES = 5
"""How often a migration asks for its locks: between two tries others get through."""

PAUSE_S = 0.5

CONCURRENTLY = " CONCURRENTLY"
"""In a step that builds or drops indexes, and does nothing else."""

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer NOT NULL,
    name text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""

# The first version knew one step for each number.
_KEYED_BY_VERSION = """
SELECT EXISTS (
    SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
    WHERE indrelid = 'schema_migrations'::regclass AND indisprimary AND attname = 'version'
)
"""
_KEY_BY_NAME = """
ALTER TABLE schema_migrations DROP CONSTRAINT schema_migrations_pkey, ADD PRIMARY KEY (name)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    version: int
    step: Literal["pre", "post"]
    name: str
    text: str

    @property
    def statements(self) -> list[str]:
        """One by one, where the step builds or drops indexes while others write: that does not
        fit into a transaction. Such a step has nothing else and can be done again. Empty for all
        other steps."""
        if CONCURRENTLY not in self.text:
            return []
        return [one for one in self.text.split(";\n") if one.strip()]

    @property
    def in_one_transaction(self) -> str:
        """The same for a database that nobody else writes to."""
        return self.text.replace(CONCURRENTLY, "")


async def migrate(url: str, settings: PostgresSettings, *, finish: bool = False) -> list[str]:
    """Apply what is missing, in order, and name it; `post` steps only when `finish` is set,
    after all `pre` steps. Two callers at once: the second one waits.

    `StoreRejected`: a newer version has taken away what this one needs, or the server or the
    database is unusable. `StoreUnavailable`: not reached, or locks were not to be had.
    """
    async with _connection(url, settings) as connection:
        missing = _missing(await _applied(connection), finish=finish)
        if not missing:
            return []
        async with _alone(connection, within_s=settings.migration_timeout_s):
            await _prepare_table(connection)
            missing = _missing(await _applied(connection), finish=finish)
            for migration in missing:
                await _apply_with_patience(connection, migration)
            return [migration.name for migration in missing]


async def unfinished(url: str, settings: PostgresSettings) -> list[str]:
    """The steps, by name, that `migrate(finish=True)` would apply."""
    async with _connection(url, settings) as connection:
        applied = await _applied(connection)
        return [migration.name for migration in _missing(applied, finish=True)]


def known_migrations() -> list[Migration]:
    """In the order in which they are applied: every `pre`, then every `post`, by number."""
    found = [
        Migration(
            version=int(entry.name.split("_")[0]),
            step="post" if entry.name.endswith(".post.sql") else "pre",
            name=entry.name,
            text=entry.read_text(encoding="utf-8"),
        )
        for entry in (files(__package__) / "migrations").iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(found, key=lambda one: (one.step == "post", one.version, one.name))


def _check_known(applied: Iterable[str]) -> None:
    """`StoreRejected` when something unknown was applied that was not only an addition."""
    known = {migration.name for migration in known_migrations()}
    foreign = sorted(set(applied) - known)
    fatal = [name for name in foreign if not name.endswith(".pre.sql")]
    if fatal:
        raise StoreRejected(
            STORE,
            f"the database was finished by a newer Palimpsest ({fatal[-1]}), and this version "
            f"knows up to {max(known)}; install the newer one",
        )


def _missing(applied: frozenset[str], *, finish: bool) -> list[Migration]:
    _check_known(applied)
    return [
        migration
        for migration in known_migrations()
        if migration.name not in applied and (finish or migration.step == "pre")
    ]


@asynccontextmanager
async def _connection(url: str, settings: PostgresSettings) -> AsyncIterator[Connection]:
    """With limits of its own: a step may take longer than a query, but must not keep others
    waiting behind the locks that it waits for."""
    limits = {
        "statement_timeout": round(settings.migration_timeout_s * 1000),
        "lock_timeout": round(settings.lock_timeout_s * 1000),
        "client_min_messages": "warning",
    }
    with translated():
        connection = await psycopg.AsyncConnection.connect(
            make_conninfo(url, application_name="palimpsest-migrate"),
            autocommit=True,
            connect_timeout=max(2, round(settings.connect_timeout_s)),
        )
    async with connection:
        with translated():
            for name, value in limits.items():
                await _set(connection, name, str(value))
            await _check_server(connection)
            yield connection


async def _check_server(connection: Connection) -> None:
    version = connection.info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise StoreRejected(
            STORE, f"the server is PostgreSQL {version}; {OLDEST_SERVER} or newer is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreRejected(
            STORE,
            f"the database is encoded in {encoding}; "
            "make one with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'",
        )


async def _applied(connection: Connection) -> frozenset[str]:
    cursor = await connection.execute("SELECT to_regclass('schema_migrations')")
    row = await cursor.fetchone()
    if row is None or row[0] is None:
        return frozenset()
    cursor = await connection.execute("SELECT name FROM schema_migrations")
    return frozenset(str(name) for (name,) in await cursor.fetchall())


@asynccontextmanager
async def _alone(connection: Connection, *, within_s: float) -> AsyncIterator[None]:
    """Asked for again and again: a blocking lock would run into the limit of locks."""
    for _ in range(max(1, round(within_s / PAUSE_S))):
        cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (LOCK_KEY,))
        if await cursor.fetchone() == (True,):
            break
        await asyncio.sleep(PAUSE_S)
    else:
        raise StoreUnavailable(STORE, f"another process has been migrating for {within_s:.0f} s")
    yield  # the lock goes with the connection


async def _prepare_table(connection: Connection) -> None:
    await connection.execute(_TABLE)
    cursor = await connection.execute(_KEYED_BY_VERSION)
    if await cursor.fetchone() == (True,):
        await connection.execute(_KEY_BY_NAME)


async def _apply_with_patience(connection: Connection, migration: Migration) -> None:
    for _ in range(LOCK_TRIES - 1):
        try:
            await _apply(connection, migration)
        except psycopg.errors.LockNotAvailable:
            await asyncio.sleep(PAUSE_S)
        else:
            return
    await _apply(connection, migration)


async def _apply(connection: Connection, migration: Migration) -> None:
    if migration.statements:
        async with _without_limits(connection):
            for statement in migration.statements:
                await connection.execute(statement.encode())
        await _note(connection, migration)
        return
    async with connection.transaction():
        await connection.execute(migration.text.encode())
        await _note(connection, migration)


@asynccontextmanager
async def _without_limits(connection: Connection) -> AsyncIterator[None]:
    """An index of a large table takes as long as it takes. What builds it waits for everybody who
    works on older rows, and nobody waits for that: it takes no lock that keeps others out. Cut
    off, it would leave an index that is not valid, and begin from the first row again."""
    limits = ("statement_timeout", "lock_timeout")
    former = [await _setting(connection, name) for name in limits]
    for name in limits:
        await _set(connection, name, "0")
    try:
        yield
    finally:
        if not connection.closed:
            for name, value in zip(limits, former, strict=True):
                await _set(connection, name, value)


async def _setting(connection: Connection, name: str) -> str:
    cursor = await connection.execute("SELECT current_setting(%s)", (name,))
    row = await cursor.fetchone()
    return str(row[0]) if row else "0"


async def _set(connection: Connection, name: str, value: str) -> None:
    await connection.execute("SELECT set_config(%s, %s, false)", (name, value))


async def _note(connection: Connection, migration: Migration) -> None:
    await connection.execute(
        "INSERT INTO schema_migrations (version, name) VALUES (%s, %s)",
        (migration.version, migration.name),
    )
