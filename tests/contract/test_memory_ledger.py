"""The reference ledger keeps the contract."""

from __future__ import annotations

import pytest

from cluster.stores.memory.ledger import MemoryLedger
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


class TestMemoryLedger(
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
    @pytest.fixture
    def ledger(self) -> Ledger:
        return MemoryLedger()
