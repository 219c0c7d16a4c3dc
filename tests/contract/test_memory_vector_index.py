"""The reference vector index keeps the contract to the letter."""

from __future__ import annotations

import pytest

from cluster.stores.memory.vector_index import MemoryVectorIndex
from contract.vector_index import DIM, VectorIndexContract


class TestMemoryVectorIndex(VectorIndexContract):
    @pytest.fixture
    def index(self) -> MemoryVectorIndex:
        return MemoryVectorIndex(DIM)

    async def test_close_may_be_called_twice(self, index: MemoryVectorIndex) -> None:
        await index.close()
        await index.close()
