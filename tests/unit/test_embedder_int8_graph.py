"""The graph that is written by hand computes what the model computes in torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from tiny_encoder import CHARMAP, HIDDEN, PIECES, tiny_model, write_tiny_folder

from cluster.model import Vectors
from cluster.models.embedder import Ids, ModelEmbedder, Prompts, States, padded
from cluster.models.onnx_forward import OnnxForward
from cluster.models.onnx_graph import int8_graph
from cluster.models.tokens import TextTokens
from cluster.models.torch_forward import TorchForward
from cluster.models.unigram import unigram_tokenizer

ROWS = [[0, 5, 6, 7, 2], [0, 8, 2], [0, 9, 10, 11, 12, 13, 14, 15, 16, 17, 2], [0, 2]]


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> OnnxForward:
    path = tmp_path_factory.mktemp("onnx") / "tiny.onnx"
    onnx.save(int8_graph(tiny_model()), str(path))
    return OnnxForward(path, threads=1)


def test_agrees_with_torch(int8: OnnxForward, tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "tiny")
    exact = TorchForward(str(folder), revision=None, backend="torch-fp32", device="cpu", threads=1)
    batch = padded(ROWS, pad_id=1)
    expected, found = exact(*batch), int8(*batch)
    assert found.shape == (len(ROWS), HIDDEN)
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert ((expected * found).sum(axis=1) > 0.999).all()


def test_states_of_tokens_agree_with_torch_and_with_their_mean(
    int8: OnnxForward, tmp_path: Path
) -> None:
    folder = write_tiny_folder(tmp_path / "tiny")
    exact = TorchForward(str(folder), revision=None, backend="torch-fp32", device="cpu", threads=1)
    ids, mask = padded(ROWS, pad_id=1)
    _, expected = exact.with_tokens(ids, mask)
    pooled, found = int8.with_tokens(ids, mask)
    assert found.shape == expected.shape == (*ids.shape, HIDDEN)
    assert np.array_equal(pooled, int8(ids, mask))
    assert np.array_equal(exact.with_tokens(ids, mask)[0], exact(ids, mask))
    mean = (found * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    assert mean == pytest.approx(pooled, abs=1e-5)
    for near, far in zip(found[mask == 1], expected[mask == 1], strict=True):
        assert near @ far > 0.99 * np.linalg.norm(near) * np.linalg.norm(far)


def test_vectors_and_token_vectors_are_made_in_one_pass(int8: OnnxForward) -> None:
    passes: list[int] = []

    class Counted:
        def __call__(self, ids: Ids, mask: Ids) -> Vectors:
            raise AssertionError("a pass for the vectors alone")

        def with_tokens(self, ids: Ids, mask: Ids) -> tuple[Vectors, States]:
            passes.append(len(ids))
            return int8.with_tokens(ids, mask)

    embedder = ModelEmbedder(
        TextTokens(unigram_tokenizer(PIECES, CHARMAP), max_length=24),
        Counted(),
        fingerprint="tiny",
        dim=HIDDEN,
        prompts=Prompts(query="query: ", document="passage: "),
        centres=None,
        batch_tokens=1000,
        pad_id=1,
    )
    texts = ["hello", "hello hello", "abc"]
    vectors, tokens = embedder.embed_documents_with_tokens(texts, languages=["en"] * 3)
    assert (vectors.shape, len(tokens)) == ((3, HIDDEN), 3)
    embedder.encode_queries(texts, languages=["en"] * 3)
    assert passes == [3, 3]


def test_padding_and_company_change_nothing(int8: OnnxForward) -> None:
    together = int8(*padded(ROWS, pad_id=1))
    for at, row in enumerate(ROWS):
        alone = int8(*padded([row], pad_id=1))
        assert np.abs(alone[0] - together[at]).max() < 1e-5


def test_every_piece_has_its_embedding(int8: OnnxForward) -> None:
    vectors = int8(*padded([[at] for at in range(len(PIECES))], pad_id=1))
    assert len(np.unique(vectors.round(4), axis=0)) == len(PIECES)
