"""Databases on a real PostgreSQL for tests."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cluster.settings import PostgresSettings
from cluster.stores.postgres.migrate import migrate

_COUNTER = itertools.count()


@pytest.fixture(scope="session")
def ledger_template(postgres_url: str) -> str:
    """Name of a migrated, empty database to copy."""
    return make_template(postgres_url)


@pytest.fixture(scope="session")
def oldest_template(oldest_postgres_url: str) -> str:
    """The same on the oldest supported server."""
    return make_template(oldest_postgres_url)


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


@pytest.fixture
def oldest_test_database_url(oldest_postgres_url: str, oldest_template: str) -> Iterator[str]:
    """URL of a fresh, migrated database on the oldest supported server."""
    with fresh_database(oldest_postgres_url, oldest_template) as url:
        yield url


@pytest.fixture(scope="module")
def oldest_database_url(oldest_postgres_url: str, oldest_template: str) -> Iterator[str]:
    """The same on the oldest supported server."""
    with fresh_database(oldest_postgres_url, oldest_template) as url:
        yield url


def wipe(url: str) -> None:
    """Empty all tables: much faster than a new database."""
    find = "SELECT string_agg(tablename, ', ') FROM pg_tables WHERE schemaname = 'public' AND "
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(find + "tablename <> 'schema_migrations'").fetchone()
        connection.execute(f"TRUNCATE {row[0] if row else ''}".encode())


def make_template(url: str) -> str:
    """Name of a migrated, empty database to copy."""
    name = _create(url, "TEMPLATE template0 ENCODING 'UTF8'")
    migration = migrate(make_conninfo(url, dbname=name), PostgresSettings(), finish=True)
    with ThreadPoolExecutor(1) as beside_any_loop:
        beside_any_loop.submit(asyncio.run, migration).result()
    return name


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
