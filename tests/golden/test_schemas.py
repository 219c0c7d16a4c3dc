"""Every schema that was ever released is brought to today's, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from cluster.settings import PostgresSettings
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.migrate import known_migrations, migrate, unfinished
from contract.postgres import fresh_database
from golden.content import check, check_life

pytestmark = pytest.mark.stores

SETTINGS = PostgresSettings()
DUMPS = sorted(Path(__file__).parent.glob("schema_*.sql"))

SCHEMA = """
SELECT 'column', table_name, column_name, data_type || ' ' || is_nullable || ' '
       || COALESCE(column_default, '') || ' ' || COALESCE(collation_name, '')
  FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL
SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
"""


@pytest.fixture(params=["postgres_url", "oldest_postgres_url"])
def empty_url(request: pytest.FixtureRequest) -> Iterator[str]:
    with fresh_database(request.getfixturevalue(request.param), "template0 ENCODING 'UTF8'") as url:
        yield url


def load(url: str, dump: Path) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(dump.read_bytes())


def schema(url: str) -> set[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        return set(connection.execute(SCHEMA.encode()).fetchall())


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
async def test_a_released_schema_is_migrated_and_loses_nothing(empty_url: str, dump: Path) -> None:
    load(empty_url, dump)
    ledger = await PostgresLedger.open(empty_url, SETTINGS)
    await check(ledger)
    await migrate(empty_url, SETTINGS, finish=True)
    assert await unfinished(empty_url, SETTINGS) == []
    await check(ledger)
    await check_life(ledger)
    await ledger.close()


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
async def test_an_old_database_ends_like_a_new_one(
    postgres_url: str, ledger_template: str, dump: Path
) -> None:
    with (
        fresh_database(postgres_url, "template0 ENCODING 'UTF8'") as old,
        fresh_database(postgres_url, ledger_template) as new,
    ):
        load(old, dump)
        await migrate(old, SETTINGS, finish=True)
        assert schema(old) == schema(new)


def test_every_migration_is_in_a_dump() -> None:
    """`cd tests && python -m golden.dump` writes the one that is missing."""
    dumped = "".join(dump.read_text(encoding="utf-8") for dump in DUMPS)
    missing = [one.name for one in known_migrations() if f"'{one.name}'" not in dumped]
    assert missing == []
