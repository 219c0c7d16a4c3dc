"""Both ledgers forget alike."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cluster.forget.key_files import KeyFile
from cluster.settings import PostgresSettings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger
from contract.ledger_forget_calls import ForgetCallsContract
from contract.ledger_forgetting import ForgettingContract
from contract.postgres import wipe


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
