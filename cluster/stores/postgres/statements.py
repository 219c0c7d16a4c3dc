"""Run a named statement of `sql/*.sql` on a connection; the driver's errors become ours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from cluster.errors import InvalidRequest, StoreRejected, StoreUnavailable

STORE = "postgres"
Connection = psycopg.AsyncConnection[TupleRow]

_NAME = re.compile(r"^-- name: (\w+)(, reads)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statement:
    """`reads`: it neither writes nor locks."""

    text: str
    reads: bool


class Statements:
    """The statements of one file, bound to a connection that commits by itself.

    The transaction begins with the first statement that does more than read: at the isolation
    level "read committed" reads before it would see the same rows inside or outside, and a
    transaction that only reads costs one exchange with the server instead of three.
    """

    def __init__(self, connection: Connection, topic: str) -> None:
        self._connection = connection
        self._statements = load_statements(topic)

    async def rows(
        self, name: str, parameters: Mapping[str, object], *, where: str = ""
    ) -> list[tuple[Any, ...]]:
        """All rows. `where` is SQL of `filters.render`, put in place of `/* where */`."""
        text = await self._prepare(name)
        if where:
            text = text.replace("/* where */", f"AND {where}")
        with translated(), _storable_texts():
            cursor = self._connection.cursor(binary=True)
            await cursor.execute(text.encode(), parameters)
            return await cursor.fetchall()

    async def run(self, name: str, parameters: Mapping[str, object]) -> int:
        """How many rows it touched."""
        text = await self._prepare(name)
        with translated(), _storable_texts():
            cursor = await self._connection.execute(text.encode(), parameters)
            return cursor.rowcount

    async def _prepare(self, name: str) -> str:
        statement = self._statements[name]
        idle = self._connection.info.transaction_status == TransactionStatus.IDLE
        if idle and not statement.reads:
            with translated():
                await self._connection.execute("BEGIN")
        return statement.text


@cache
def load_statements(topic: str) -> Mapping[str, Statement]:
    """name -> statement, from `sql/<topic>.sql`: `-- name: take, reads`, then the SQL."""
    text = (files(__package__) / "sql" / f"{topic}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {name: Statement(text, reads is not None) for name, reads, text in found}


@contextmanager
def translated() -> Iterator[None]:
    """Driver errors by name: what a retry may cure is `StoreUnavailable`."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise StoreUnavailable(STORE, _first_line(error)) from error
    except psycopg.Error as error:
        raise StoreRejected(STORE, _first_line(error)) from error


@asynccontextmanager
async def translated_pool() -> AsyncIterator[None]:
    try:
        with translated():
            yield
    except (PoolTimeout, PoolClosed, TooManyRequests) as error:
        raise StoreUnavailable(STORE, _first_line(error)) from error


@contextmanager
def _storable_texts() -> Iterator[None]:
    """NUL and lone surrogates are refused before anything is sent."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidRequest("a lone surrogate cannot be stored; clean the text") from error
    except psycopg.DataError as error:
        if error.sqlstate is None:
            raise InvalidRequest(f"cannot be stored: {_first_line(error)}") from error
        raise


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
