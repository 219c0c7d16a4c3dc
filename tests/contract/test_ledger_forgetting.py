"""Both ledgers forget alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from cluster.forget.key_files import KeyFile
from cluster.forget.request import Wish, forget
from cluster.model import Scope
from cluster.settings import PostgresSettings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Selector, Shown, UsageReport
from contract.ledger_forget_calls import ForgetCallsContract
from contract.ledger_forgetting import ACME, KEPT, ForgettingContract, document
from contract.postgres import wipe
from contract.samples import NOW, chunk_ids, prepared, show


class TestMemoryForgetting(ForgettingContract, ForgetCallsContract):
    @pytest.fixture
    def ledger(self, key_file: KeyFile) -> Ledger:
        return MemoryLedger(tombstone_key=key_file)


@pytest.mark.stores
class TestPostgresForgetting(ForgettingContract, ForgetCallsContract):
    @pytest.fixture
    async def ledger(self, module_database_url: str, key_file: KeyFile) -> AsyncIterator[Ledger]:
        wipe(module_database_url)
        ledger = await PostgresLedger.open(
            module_database_url, PostgresSettings(), tombstone_key=key_file
        )
        yield ledger
        await ledger.close()

    async def test_runs_and_problems_of_all_pages_are_scrubbed(
        self, ledger: Ledger, key_file: KeyFile, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("cluster.stores.postgres.forgetting.PAGE_ROWS", 2)
        await self.test_runs_problems_and_uploads_name_it_no_more(ledger, key_file)

    async def test_an_owner_is_forgotten_while_it_is_counted_and_reported(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        """Counting waits for nobody, a report waits; neither leaves anything of the owner."""
        one = prepared("a.md", KEPT, pieces=1)
        await show(ledger, one)
        (chunk,) = chunk_ids(one)
        scopes = [Scope(tenant="acme", owner=name) for name in ("ann", "ben")]
        earlier = NOW - timedelta(seconds=1)
        rows = [
            Shown(tenant="acme", owner=each.owner, chunk_id=chunk, since=earlier)
            for each in (ACME, *scopes)
        ]

        async def report(scope: Scope) -> frozenset[str]:
            used = UsageReport(search_id="srch_" + "a" * 20, used=(chunk,), artifact="chapter")
            async with ledger.transaction() as tx:
                return await tx.usage.report(scope, used, now=earlier)

        wish = Wish(tenant="acme", selector=Selector(kind="owner", value="ann"))
        async with ledger.transaction() as tx:
            await forget(tx, wish, key_file=key_file, now=NOW)
            async with asyncio.timeout(5.0), ledger.transaction() as counting:
                assert await counting.usage.add_shown(rows) == 1
            reporting = [asyncio.create_task(report(scope)) for scope in scopes]
            await asyncio.sleep(0.2)
            assert not any(task.done() for task in reporting)
        async with asyncio.timeout(5.0):
            assert await asyncio.gather(*reporting) == [frozenset(), {chunk}]
        async with ledger.transaction() as tx:
            told = [await tx.usage.of_document(scope, document(one)) for scope in scopes]
        assert [[(each.shown, each.used) for each in usages] for usages in told] == [
            [(1, 0)],
            [(1, 1)],
        ]
