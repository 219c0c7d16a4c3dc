"""Schemas change in two steps, and code of the version before survives the first of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from cluster.errors import StoreRejected, StoreUnavailable
from cluster.settings import PostgresSettings
from cluster.stores.postgres import migrate as module
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.migrate import Migration, known_migrations, migrate, unfinished
from cluster.stores.protocols import Ledger
from contract.postgres import fresh_database

pytestmark = pytest.mark.stores

SETTINGS = PostgresSettings()


def made(name: str, text: str = "SELECT 1") -> Migration:
    return Migration(
        version=int(name[:4]),
        step="post" if ".post." in name else "pre",
        name=name,
        text=text,
    )


@pytest.fixture
def empty_url(postgres_url: str) -> Iterator[str]:
    with fresh_database(postgres_url, "template0 ENCODING 'UTF8'") as url:
        yield url


def known(monkeypatch: pytest.MonkeyPatch, migrations: Sequence[Migration]) -> None:
    ordered = sorted(migrations, key=lambda one: (one.step == "post", one.version))
    monkeypatch.setattr(module, "known_migrations", lambda: ordered)


def applied(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT name FROM schema_migrations ORDER BY applied_at")
        return [str(name) for (name,) in rows]


def test_each_number_has_one_file_for_each_step() -> None:
    found = [(one.version, one.step) for one in known_migrations()]
    assert len(found) == len(set(found))
    assert (1, "pre") in found
    assert {version for version, _ in found} == {
        version for version, step in found if step == "pre"
    }


async def test_post_steps_wait_for_finish_and_come_after_every_pre(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(
        monkeypatch,
        [
            made("0001_a.sql", "CREATE TABLE a (old integer)"),
            made("0002_b.pre.sql", "ALTER TABLE a ADD new integer"),
            made("0002_b.post.sql", "ALTER TABLE a DROP old"),
            made("0003_c.pre.sql", "ALTER TABLE a ADD third integer"),
        ],
    )
    assert await migrate(empty_url, SETTINGS) == ["0001_a.sql", "0002_b.pre.sql", "0003_c.pre.sql"]
    assert await unfinished(empty_url, SETTINGS) == ["0002_b.post.sql"]
    assert await migrate(empty_url, SETTINGS) == []
    assert await migrate(empty_url, SETTINGS, finish=True) == ["0002_b.post.sql"]
    assert await unfinished(empty_url, SETTINGS) == []
    with psycopg.connect(empty_url) as connection:
        columns = connection.execute("SELECT * FROM a").description or ()
    assert [column.name for column in columns] == ["new", "third"]


async def test_a_lower_number_that_was_missing_is_applied_later(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (made(f"000{n}_x.pre.sql") for n in (1, 2, 3))
    known(monkeypatch, [first, third])
    assert await migrate(empty_url, SETTINGS) == [first.name, third.name]
    known(monkeypatch, [first, second, third])
    assert await migrate(empty_url, SETTINGS) == [second.name]


async def test_old_code_opens_a_database_with_additions_it_does_not_know(
    database_url: str,
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE runs ADD later text")
        connection.execute(
            "INSERT INTO schema_migrations (version, name) VALUES (9999, '9999_later.pre.sql')"
        )
    ledger = await PostgresLedger.open(database_url, SETTINGS)
    async with ledger.transaction() as tx:
        assert await tx.documents.counts(None) is not None
    await ledger.close()


@pytest.mark.parametrize("name", ["9999_later.post.sql", "9999_later.sql"])
async def test_old_code_refuses_a_database_that_newer_code_has_finished(
    database_url: str, name: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO schema_migrations (version, name) VALUES (9999, %s)", (name,)
        )
    with pytest.raises(StoreRejected, match=rf"newer Palimpsest \({name}\)"):
        await PostgresLedger.open(database_url, SETTINGS)


async def test_the_table_of_the_first_release_is_taken_over(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, "
            "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        connection.execute("INSERT INTO schema_migrations VALUES (1, '0001_a.sql')")
    known(monkeypatch, [made("0001_a.sql"), made("0002_b.pre.sql"), made("0002_b.post.sql")])
    found = await migrate(empty_url, SETTINGS, finish=True)
    assert found == ["0002_b.pre.sql", "0002_b.post.sql"]
    assert applied(empty_url) == ["0001_a.sql", *found]


async def test_a_step_that_fails_leaves_nothing_and_names_the_reason(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = made("0002_b.pre.sql", "CREATE TABLE b (); SELECT no_such_function()")
    known(monkeypatch, [made("0001_a.sql"), broken])
    with pytest.raises(StoreRejected, match="no_such_function"):
        await migrate(empty_url, SETTINGS)
    assert applied(empty_url) == ["0001_a.sql"]
    known(monkeypatch, [made("0001_a.sql"), made("0002_b.pre.sql", "CREATE TABLE b ()")])
    assert await migrate(empty_url, SETTINGS) == ["0002_b.pre.sql"]


async def test_a_migration_lets_others_through_and_gets_its_lock_in_the_end(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.3)
    hurried = PostgresSettings(lock_timeout_s=0.2)
    known(monkeypatch, [made("0001_a.sql", "CREATE TABLE a (n integer)")])
    await migrate(empty_url, hurried)
    known(monkeypatch, [made("0001_a.sql"), made("0002_b.pre.sql", "ALTER TABLE a ADD m integer")])
    async with await psycopg.AsyncConnection.connect(empty_url) as reader:
        await reader.execute("SELECT * FROM a")
        migrating = asyncio.create_task(migrate(empty_url, hurried))
        await asyncio.sleep(0.6)
        async with await psycopg.AsyncConnection.connect(empty_url) as other:
            await other.execute("SET statement_timeout = 1000")
            await other.execute("SELECT * FROM a")
    assert await migrating == ["0002_b.pre.sql"]


INDEXED = (
    "DROP INDEX CONCURRENTLY IF EXISTS a_by_n;\nCREATE UNIQUE INDEX CONCURRENTLY a_by_n ON a (n);\n"
)


@pytest.mark.parametrize("short", [{"migration_timeout_s": 0.2}, {"lock_timeout_s": 0.1}])
async def test_an_index_may_take_longer_than_any_limit(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, short: dict[str, float]
) -> None:
    """It waits for whoever writes, as it would take its time for many rows."""
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    table = made("0001_a.sql", "CREATE TABLE a (n integer)")
    known(monkeypatch, [table])
    await migrate(empty_url, SETTINGS)
    known(monkeypatch, [table, made("0002_i.pre.sql", INDEXED)])
    async with await psycopg.AsyncConnection.connect(empty_url) as writing:
        await writing.execute("INSERT INTO a VALUES (1)")
        building = asyncio.create_task(migrate(empty_url, SETTINGS.model_copy(update=short)))
        await asyncio.sleep(1.0)
        assert not building.done()
        await writing.commit()
        assert await building == ["0002_i.pre.sql"]


async def test_an_index_that_was_broken_off_is_built_anew(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "CREATE TABLE a (n integer); INSERT INTO a VALUES (1), (1)"
    known(monkeypatch, [made("0001_a.sql", rows), made("0002_i.pre.sql", INDEXED)])
    with pytest.raises(StoreRejected):
        await migrate(empty_url, SETTINGS)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'a_by_n'::regclass"
        assert connection.execute(valid).fetchall() == [(False,)]
        connection.execute("DELETE FROM a")
        assert await migrate(empty_url, SETTINGS) == ["0002_i.pre.sql"]
        assert connection.execute(valid).fetchall() == [(True,)]


def test_each_index_that_is_built_beside_writers_is_dropped_first() -> None:
    """So that one that was broken off is not taken for one that is there."""
    for one in known_migrations():
        made_ones = re.findall(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)", one.text)
        dropped = re.findall(r"DROP INDEX CONCURRENTLY IF EXISTS (\w+)", one.text)
        assert made_ones == [name for name in dropped if name in made_ones], one.name


async def test_locks_that_are_never_free_end_the_attempt(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.05)
    hurried = PostgresSettings(lock_timeout_s=0.05)
    known(monkeypatch, [made("0001_a.sql", "CREATE TABLE a (n integer)")])
    await migrate(empty_url, hurried)
    known(monkeypatch, [made("0001_a.sql"), made("0002_b.pre.sql", "ALTER TABLE a ADD m integer")])
    async with await psycopg.AsyncConnection.connect(empty_url) as reader:
        await reader.execute("SELECT * FROM a")
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            await migrate(empty_url, hurried)


async def test_waiting_for_another_migration_is_bounded(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.05)
    async with await psycopg.AsyncConnection.connect(empty_url, autocommit=True) as other:
        await other.execute("SELECT pg_advisory_lock(%s)", (module.LOCK_KEY,))
        with pytest.raises(StoreUnavailable, match="another process"):
            await migrate(empty_url, PostgresSettings(migration_timeout_s=0.2))


async def test_a_role_that_may_not_change_the_schema_can_open_a_finished_one(
    database_url: str,
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS palimpsest_reader")
        connection.execute("CREATE ROLE palimpsest_reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO palimpsest_reader")
        connection.execute("SET ROLE palimpsest_reader")
        may = connection.execute("SELECT has_schema_privilege('public', 'CREATE')").fetchone()
        assert may == (False,)
    limited = psycopg.conninfo.make_conninfo(database_url, options="-c role=palimpsest_reader")
    assert await migrate(limited, SETTINGS) == []
    ledger: Ledger = await PostgresLedger.open(limited, SETTINGS)
    async with ledger.transaction() as tx:
        assert (await tx.documents.counts(None)) is not None
    await ledger.close()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP OWNED BY palimpsest_reader")
        connection.execute("DROP ROLE palimpsest_reader")


async def test_a_database_that_is_not_utf8_is_refused(postgres_url: str) -> None:
    how = "template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
    with (
        fresh_database(postgres_url, how) as url,
        pytest.raises(StoreRejected, match="SQL_ASCII"),
    ):
        await migrate(url, SETTINGS)
