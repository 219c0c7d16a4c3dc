from __future__ import annotations

import pytest

from cluster.models.hashing import HashingEmbedder
from cluster.models.protocols import Embedder
from contract.embedder import EmbedderContract


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder(384)
