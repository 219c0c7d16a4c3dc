"""Who counts tokens for the chunker counts as the encoder does."""

from __future__ import annotations

import pytest

from cluster.models.open import open_embedder
from contract.embedder import default_settings
from ingest.counter import open_counter

TEXTS = [
    "",
    "x",
    "数据保留几份？",
    "a </s> b",
    "def f(x):\n    return x",
    "word " * 900,
    "👩‍👩‍👧 e\u0301",
]


@pytest.mark.parametrize("backend", ["onnx-int8", "hashing"])
def test_it_counts_as_the_encoder_does(backend: str) -> None:
    settings = default_settings(backend=backend)
    counter, embedder = open_counter(settings), open_embedder(settings)
    assert counter.count_tokens(TEXTS) == embedder.count_tokens(TEXTS)
    assert counter.max_tokens == embedder.max_tokens
