"""The ledger's tables as streams of bytes, out of one snapshot and into an empty database.

PostgreSQL's own text form of COPY, which every server version reads; no client program of a
certain version is needed. A dump is of the schema that the database had: going in, that schema
is made first, by the same numbered steps, and today's steps follow after the rows.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from cluster.errors import StoreRejected
from cluster.stores.postgres.migrate import LOCK_KEY, Migration, known_migrations
from cluster.stores.postgres.statements import STORE, Connection, load_statements, translated

APPLIED = "schema_migrations"
MAY_HOLD_ROWS = frozenset(
    {APPLIED, "api_keys", "forget_key", "generations", "reconciliations", "rebuilds"}
)
"""What a stack that was only started has written; all else must be empty before a restore."""

KEYS = "api_keys"
ROW_VERSIONS = "row_versions"
AHEAD = 1_000_000_000
"""Row versions go on so far above those of the dump: indexes may hold rows that were written
after it was taken, and what is written next must win."""

_CREATED = re.compile(
    r"^\s*CREATE\s+(?:OR\s+REPLACE\s+)?(TABLE|SEQUENCE|FUNCTION)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns in their order, without those that the database computes."""

    name: str
    columns: tuple[str, ...]


class Snapshot:
    """One state of the whole ledger, however long reading it takes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.server_version = connection.info.server_version

    async def migrations(self) -> list[str]:
        """The steps that made this schema, in the order of their application."""
        return [name for (name,) in await _rows(self._connection, "migrations")]

    async def tables(self) -> list[Table]:
        """The ledger's own, each behind those that it refers to."""
        return await _own_tables(self._connection)

    async def rows(self, table: Table) -> AsyncIterator[bytes]:
        """COPY's text form: rows end with a line feed, which no value contains."""
        with translated():
            async with (
                self._connection.cursor() as cursor,
                cursor.copy(_copy(table, "TO STDOUT")) as copy,
            ):
                async for block in copy:
                    yield bytes(block)

    async def sequences(self) -> dict[str, int]:
        """Ask after the rows: then none of them has a number that will be given again."""
        return dict(await _rows(self._connection, "sequences"))


@asynccontextmanager
async def open_snapshot(url: str) -> AsyncIterator[Snapshot]:
    """`StoreRejected` when there is no ledger in the database."""
    async with _connection(url) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await connection.set_read_only(True)
        if await _rows(connection, "exists") != [(True,)]:
            raise StoreRejected(STORE, "there is no ledger in this database")
        yield Snapshot(connection)


class Loading:
    """A schema without rows, inside a transaction."""

    def __init__(self, connection: Connection, kept_keys: Sequence[str]) -> None:
        self._connection = connection
        self._kept_keys = kept_keys

    async def load(self, table: Table, blocks: Iterable[bytes]) -> int:
        """How many rows went in."""
        with translated():
            async with self._connection.cursor() as cursor:
                async with cursor.copy(_copy(table, "FROM STDIN")) as copy:
                    for block in blocks:
                        await copy.write(block)
                return cursor.rowcount

    async def finish(self, sequences: Mapping[str, int]) -> None:
        """Set the counters, and keep the keys that this instance had before."""
        for name, value in sequences.items():
            ahead = AHEAD if name == ROW_VERSIONS else 0
            await _rows(self._connection, "set_sequence", {"name": name, "value": value + ahead})
        for key in self._kept_keys:
            await _do(self._connection, "keep_key", {"key": key})

    async def tables(self) -> list[Table]:
        return await _own_tables(self._connection)


@asynccontextmanager
async def open_loading(url: str, migrations: Sequence[str]) -> AsyncIterator[Loading]:
    """Make the schema of these steps; all or nothing, committed when the block ends well.

    `StoreRejected` when the ledger that is there holds anything, or a step is unknown.
    """
    steps = _steps(migrations)
    async with _connection(url) as connection:
        await _rows(connection, "lock", {"key": LOCK_KEY})
        there = await _own_tables(connection)
        await _close(connection, there)
        await _refuse_contents(connection, there)
        keys = await _keys(connection, there)
        await _drop(connection)
        await _make(connection, steps)
        yield Loading(connection, keys)


def _steps(names: Sequence[str]) -> list[Migration]:
    known = {step.name: step for step in known_migrations()}
    for name in names:
        if name not in known:
            raise StoreRejected(
                STORE, f"the dump is of a newer schema ({name}); install the newer Palimpsest"
            )
    return [known[name] for name in names]


def _created(kind: str) -> list[str]:
    """The names of what our own steps ever made."""
    found = (_CREATED.findall(step.text) for step in known_migrations())
    return [name.lower() for made in found for what, name in made if what.upper() == kind]


async def _own_tables(connection: Connection) -> list[Table]:
    ours = set(_created("TABLE"))
    tables = {
        name: Table(name=name, columns=tuple(columns))
        for name, columns in await _rows(connection, "tables")
        if name in ours
    }
    return [tables[name] for name in _in_order(tables, await _rows(connection, "references"))]


def _in_order(names: Iterable[str], references: Sequence[tuple[Any, ...]]) -> list[str]:
    """Each name behind those that it refers to."""
    left, ordered = sorted(names), list[str]()
    while left:
        free = [
            name
            for name in left
            if not any(child == name and parent in left for child, parent in references)
        ]
        if not free:
            raise StoreRejected(STORE, f"the tables {', '.join(left)} refer to each other")
        ordered += free
        left = [name for name in left if name not in free]
    return ordered


async def _close(connection: Connection, tables: Sequence[Table]) -> None:
    """To everybody else, so that nothing comes in between the look at them and their end."""
    if tables:
        names = sql.SQL(", ").join(sql.Identifier(table.name) for table in tables)
        await _execute(connection, sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(names))


async def _refuse_contents(connection: Connection, tables: Sequence[Table]) -> None:
    for table in tables:
        if table.name in MAY_HOLD_ROWS:
            continue
        query = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(table.name))
        if await (await _execute(connection, query)).fetchone() == (True,):
            raise StoreRejected(
                STORE,
                f"the ledger is not empty (there are {table.name}); restore into an empty one: "
                "another PALIMPSEST_HOME, or another database in postgres.url",
            )


async def _keys(connection: Connection, tables: Sequence[Table]) -> list[str]:
    if not any(table.name == KEYS for table in tables):
        return []
    return [key for (key,) in await _rows(connection, "keys")]


async def _drop(connection: Connection) -> None:
    for kind in ("TABLE", "SEQUENCE", "FUNCTION"):
        for name in dict.fromkeys([*_created(kind), *([APPLIED] if kind == "TABLE" else [])]):
            drop = sql.SQL("DROP {} IF EXISTS {} CASCADE")
            await _execute(connection, drop.format(sql.SQL(kind), sql.Identifier(name)))


async def _make(connection: Connection, steps: Sequence[Migration]) -> None:
    await _do(connection, "make_applied")
    for step in steps:
        await _execute(connection, step.in_one_transaction.encode())
        await _do(connection, "note_applied", {"version": step.version, "name": step.name})
    for table in await _own_tables(connection):
        empty = sql.SQL("TRUNCATE {} CASCADE").format(sql.Identifier(table.name))
        await _execute(connection, empty)


def _copy(table: Table, direction: str) -> sql.Composed:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    name = sql.Identifier(table.name)
    return sql.SQL("COPY {} ({}) {}").format(name, columns, sql.SQL(direction))


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[Connection]:
    """One transaction, without limits of time; numbers and moments in one form everywhere."""
    form = "-c datestyle=ISO -c timezone=UTC -c extra_float_digits=3 -c bytea_output=hex"
    quiet = "-c client_min_messages=warning -c statement_timeout=0"
    with translated():
        connection = await psycopg.AsyncConnection.connect(
            make_conninfo(url, application_name="palimpsest-backup", options=f"{form} {quiet}")
        )
    async with connection:
        with translated():
            yield connection


async def _rows(
    connection: Connection, statement: str, values: Mapping[str, object] | None = None
) -> list[tuple[Any, ...]]:
    text = load_statements("dump")[statement].text
    return await (await _execute(connection, text.encode(), values)).fetchall()


async def _do(
    connection: Connection, statement: str, values: Mapping[str, object] | None = None
) -> None:
    await _execute(connection, load_statements("dump")[statement].text.encode(), values)


async def _execute(
    connection: Connection,
    query: bytes | sql.Composed,
    values: Mapping[str, object] | None = None,
) -> psycopg.AsyncCursor[TupleRow]:
    with translated():
        return await connection.execute(query, values)
