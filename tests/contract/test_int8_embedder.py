from __future__ import annotations

import pytest

from cluster.models.open import open_embedder
from cluster.models.protocols import Embedder
from contract.embedder import EmbedderContract, default_settings


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return open_embedder(default_settings(backend="onnx-int8"))


class TestInt8Embedder(EmbedderContract):
    pass
