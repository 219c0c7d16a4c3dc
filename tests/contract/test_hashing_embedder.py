from __future__ import annotations

import pytest

from cluster.models.hashing import HashingEmbedder
from cluster.models.protocols import Embedder
from contract.embedder import EmbedderContract


@pytest.fixture
def embedder() -> Embedder:
    return HashingEmbedder(384)


class TestHashingEmbedder(EmbedderContract):
    pass
