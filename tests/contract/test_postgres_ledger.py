"""PostgreSQL keeps the contract of the ledger, and what only a server can show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

import psycopg
import pytest

from cluster.errors import StoreUnavailable
from cluster.model import Scope
from cluster.settings import PostgresSettings
from cluster.stores.drift import DriftReport
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.migrate import known_migrations, migrate
from cluster.stores.postgres.statements import Statements
from cluster.stores.protocols import Ledger
from contract.ledger import DocumentsContract
from contract.ledger_common import CommonContract
from contract.ledger_copies import CopiesContract
from contract.ledger_filters import FiltersContract
from contract.ledger_generations import GenerationsContract
from contract.ledger_listings import ListingsContract
from contract.ledger_lookups import LookupsContract
from contract.ledger_operations import OperationsContract
from contract.ledger_outbox import OutboxContract
from contract.ledger_places import PlacesContract
from contract.ledger_reconciling import ReconcilingContract
from contract.ledger_tokens import TokenVectorsContract
from contract.ledger_updates import UpdatesContract
from contract.ledger_usage import UsageContract
from contract.postgres import wipe
from contract.samples import NOW, chunk_ids, prepared, publish, put, show

pytestmark = pytest.mark.stores

SETTINGS = PostgresSettings()
ACME = Scope(tenant="acme")


@pytest.fixture
async def ledger(module_database_url: str) -> AsyncIterator[Ledger]:
    wipe(module_database_url)
    ledger = await PostgresLedger.open(module_database_url, SETTINGS)
    yield ledger
    await ledger.close()


class LedgerContract(
    DocumentsContract,
    PlacesContract,
    ListingsContract,
    FiltersContract,
    OperationsContract,
    OutboxContract,
    UpdatesContract,
    GenerationsContract,
    ReconcilingContract,
    UsageContract,
    LookupsContract,
    TokenVectorsContract,
    CommonContract,
    CopiesContract,
):
    """All of the contract."""


class TestPostgresLedger(LedgerContract):
    """On the embedded version."""


class TestOldestPostgresLedger(LedgerContract):
    """On the oldest version that is supported, with another locale."""

    @pytest.fixture
    async def ledger(self, oldest_database_url: str) -> AsyncIterator[Ledger]:
        wipe(oldest_database_url)
        ledger = await PostgresLedger.open(oldest_database_url, SETTINGS)
        yield ledger
        await ledger.close()


async def test_migrations_run_once(database_url: str, postgres_url: str) -> None:
    assert await migrate(database_url, SETTINGS) == []
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    found = await asyncio.gather(*(migrate(database_url, SETTINGS) for _ in range(3)))
    names = [one.name for one in known_migrations() if one.step == "pre"]
    assert sorted(found) == [[], [], names]
    assert names[0] == "0001_ledger.sql"


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:1/none", "postgresql:///none?host=/nowhere"]
)
async def test_no_server_is_unavailable(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="postgres: "):
        await PostgresLedger.open(url, SETTINGS)


async def test_a_lost_connection_is_unavailable_and_then_replaced(
    ledger: Ledger, module_database_url: str
) -> None:
    one = prepared()
    await show(ledger, one)
    async with ledger.transaction() as tx:
        await tx.documents.counts(None)
        cut_connections(module_database_url)
        with pytest.raises(StoreUnavailable):
            await tx.documents.counts(None)
    cut_connections(module_database_url)
    async with ledger.transaction() as tx:
        assert len(await tx.documents.visible(ACME, chunk_ids(one))) == 2


async def test_a_listener_outlives_its_connection(ledger: Ledger, module_database_url: str) -> None:
    async with aclosing(ledger.wake_ups()) as wake_ups:
        await asyncio.wait_for(anext(wake_ups), timeout=10)
        cut_connections(module_database_url)
        for _ in range(3):
            await asyncio.wait_for(anext(wake_ups), timeout=10)
        await put(ledger, prepared())
        await asyncio.wait_for(anext(wake_ups), timeout=10)


async def test_a_lease_goes_with_its_connection(ledger: Ledger, module_database_url: str) -> None:
    async with ledger.lease("indexer") as lease:
        await lease.check()
        cut_connections(module_database_url)
        async with asyncio.timeout(10), ledger.lease("indexer") as second:
            await second.check()
        with pytest.raises(StoreUnavailable):
            await lease.check()


async def test_waiting_for_a_lock_ends(module_database_url: str, ledger: Ledger) -> None:
    one = prepared()
    await put(ledger, one)
    impatient = await PostgresLedger.open(module_database_url, PostgresSettings(lock_timeout_s=0.2))
    async with ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            await publish(impatient, one)
    await impatient.close()


async def test_a_full_pool_is_unavailable(module_database_url: str) -> None:
    narrow = PostgresSettings(pool_size=1, connect_timeout_s=0.3)
    ledger = await PostgresLedger.open(module_database_url, narrow)
    async with ledger.transaction() as tx:
        await tx.documents.counts(None)
        with pytest.raises(StoreUnavailable):
            async with ledger.transaction():
                pass
    await ledger.close()
    with pytest.raises(StoreUnavailable):
        async with ledger.transaction():
            pass


async def test_concurrent_puts_of_one_document_are_one(ledger: Ledger) -> None:
    one = prepared()
    counts = await asyncio.gather(*(put(ledger, one) for _ in range(6)))
    assert sorted(counts) == [0, 0, 0, 0, 0, 1]
    shown = await asyncio.gather(*(publish(ledger, one) for _ in range(6)))
    assert sorted(shown) == [0, 0, 0, 0, 0, 1]


async def test_a_vector_that_is_being_used_survives_a_delete(ledger: Ledger) -> None:
    one, twin = prepared("one.md"), prepared("twin.md")
    await show(ledger, one)

    async def forget() -> None:
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])

    async with ledger.transaction() as tx:
        await tx.documents.put([twin], now=NOW)
        forgetting = asyncio.create_task(forget())
        await asyncio.sleep(0.2)
        assert not forgetting.done()
    await forgetting
    async with ledger.transaction() as tx:
        work = await tx.outbox.work(chunk_ids(twin))
    assert all(item.vectors for item in work)


async def test_very_many_revisions_are_erased_in_parts(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement of all of them would meet the time limit of statements."""
    sizes: list[int] = []
    run = Statements.run

    async def counted(self: Statements, name: str, parameters: Mapping[str, object]) -> int:
        done = await run(self, name, parameters)
        if name == "erase_revisions":
            sizes.append(done)
        return done

    monkeypatch.setattr(Statements, "run", counted)
    monkeypatch.setattr("cluster.stores.postgres.documents.ERASED_AT_ONCE", 2)
    batch = [prepared(f"{number}.md", f"text {number}", pieces=1) for number in range(5)]
    await show(ledger, *batch)
    async with ledger.transaction() as tx:
        assert await tx.documents.delete(ACME, [one.revision.document_id for one in batch]) == 5
    assert sizes == [2, 2, 1]


async def test_the_last_hundred_reports_stay(ledger: Ledger, module_database_url: str) -> None:
    async with ledger.transaction() as tx:
        for number in range(104):
            await tx.reconciling.record(
                DriftReport(started_at=NOW, finished_at=NOW, wanted=number, stores=())
            )
    with psycopg.connect(module_database_url) as connection:
        rows = connection.execute("SELECT (report->>'wanted')::integer FROM reconciliations")
        assert sorted(row[0] for row in rows) == list(range(4, 104))


def cut_connections(url: str) -> None:
    """What a restart of the server does to its clients."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
