"""Run a named statement of `sql/*.sql` on a connection; the driver's errors become ours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from cluster.errors import InvalidRequest, StoreRejected, StoreUnavailable

STORE = "postgres"
Connection = psycopg.AsyncConnection[TupleRow]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Statements:
    """The statements of one file, bound to a connection inside a transaction."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._connection = connection
        self._texts = load_statements(topic)

    async def rows(
        self, name: str, parameters: Mapping[str, object], *, where: str = ""
    ) -> list[tuple[Any, ...]]:
        """All rows. `where` is SQL of `filters.render`, put in place of `/* where */`."""
        text = self._texts[name]
        if where:
            text = text.replace("/* where */", f"AND {where}")
        with translated(), _storable_texts():
            cursor = self._connection.cursor(binary=True)
            await cursor.execute(text.encode(), parameters)
            return await cursor.fetchall()

    async def run(self, name: str, parameters: Mapping[str, object]) -> int:
        """How many rows it touched."""
        with translated(), _storable_texts():
            cursor = await self._connection.execute(self._texts[name].encode(), parameters)
            return cursor.rowcount


@cache
def load_statements(topic: str) -> Mapping[str, str]:
    """name -> statement, from `sql/<topic>.sql`."""
    text = (files(__package__) / "sql" / f"{topic}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


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
