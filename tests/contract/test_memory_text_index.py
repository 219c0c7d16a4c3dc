"""The reference keeps the contract of `TextIndex`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cluster.errors import InvalidRequest
from cluster.stores.memory.text_index import MemoryTextIndex
from contract.text_index import TextIndexContract, row


class TestMemoryTextIndex(TextIndexContract):
    @pytest.fixture
    async def index(self) -> AsyncIterator[MemoryTextIndex]:
        index = MemoryTextIndex()
        yield index
        await index.close()

    async def test_refuses_a_moment_that_is_no_number(self, index: MemoryTextIndex) -> None:
        with pytest.raises(InvalidRequest, match="said_at"):
            await index.upsert([row("c1", said_at="2024-05-01")])
