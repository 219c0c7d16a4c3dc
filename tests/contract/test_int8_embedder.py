from __future__ import annotations

import pytest

from cluster.models.open import open_embedder
from cluster.models.protocols import Embedder
from contract.embedder import EmbedderContract, default_settings


class TestInt8Embedder(EmbedderContract):
    @pytest.fixture(scope="class")
    def embedder(self) -> Embedder:
        return open_embedder(default_settings(backend="onnx-int8"))
