from __future__ import annotations

import pytest
from contract.embedder import EmbedderContract

from cluster.models.hashing import HashingEmbedder
from cluster.models.protocols import Embedder


@pytest.fixture
def embedder() -> Embedder:
    return HashingEmbedder(384)


class TestHashingEmbedder(EmbedderContract):
    pass
