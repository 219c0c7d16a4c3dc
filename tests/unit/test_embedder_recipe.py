"""What an encoder is called, and what it is opened as, without the weights of the real one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_encoder import HIDDEN, POSITIONS, write_tiny_folder

from cluster.errors import InvalidSettings, ModelError
from cluster.model import Generation
from cluster.models.hashing import HashingEmbedder
from cluster.models.open import describe, open_embedder, resolved
from cluster.settings import EncoderSettings, Settings
from contract.embedder import default_settings

CPU_DEFAULT = {"backend": "onnx-int8", "device": "cpu"}


def _described(home: Path, **encoder: Any) -> Generation:
    return describe(Settings.model_validate({"home": home, "encoder": encoder}))


def test_the_default_is_described_without_being_unpacked(tmp_path: Path) -> None:
    generation = _described(tmp_path, **CPU_DEFAULT)
    assert generation.dim == 384
    name, backend, centring, whole = generation.fingerprint.split("/")
    assert (name, backend) == ("multilingual-e5-small@1571fc98", "onnx-int8")
    assert centring == f"centred-{generation.recipe['centred'][:8]}"
    assert len(whole) == 8
    assert generation.recipe["query_prompt"] == "query: "
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"centred": False},
        {"backend": "torch-fp32"},
        {"query_prompt": "frage: "},
        {"document_prompt": ""},
    ],
)
def test_what_changes_vectors_changes_the_fingerprint(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    known = _described(tmp_path, **CPU_DEFAULT)
    changed = _described(tmp_path, **{**CPU_DEFAULT, **change})
    assert changed.fingerprint != known.fingerprint


@pytest.mark.parametrize("change", [{"batch_tokens": 128}, {"threads": 1}])
def test_what_does_not_change_vectors_does_not(tmp_path: Path, change: dict[str, Any]) -> None:
    known = _described(tmp_path, **CPU_DEFAULT)
    assert _described(tmp_path, **CPU_DEFAULT, **change) == known


def test_describing_and_int8_do_not_import_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from cluster.settings import Settings; from cluster.models.open import *;"
        "import cluster.models.onnx_forward;"
        f"describe(Settings(home={str(tmp_path)!r}));"
        "loaded = {'torch', 'transformers', 'sentence_transformers', 'onnx'} & set(sys.modules);"
        "sys.exit(str(sorted(loaded)) if loaded else 0)"
    )
    environment = {"PATH": "", "PALIMPSEST_ENCODER__DEVICE": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr


def test_auto_is_made_definite() -> None:
    encoder = resolved(EncoderSettings(device="cpu"))
    assert (encoder.backend, encoder.device) == ("onnx-int8", "cpu")
    assert resolved(encoder) == encoder
    other = resolved(EncoderSettings(model="some/model", device="cpu"))
    assert other.backend == "torch-fp32"


@pytest.mark.parametrize("encoder", [{"device": "cuda"}, {"model": "some/model"}])
def test_int8_elsewhere_is_refused(tmp_path: Path, encoder: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettings, match="onnx-int8"):
        _described(tmp_path, backend="onnx-int8", **encoder)


def test_hashing_needs_nothing(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {"home": tmp_path, "encoder": {"backend": "hashing", "hashing_dim": 64}}
    )
    embedder = open_embedder(settings)
    assert isinstance(embedder, HashingEmbedder)
    assert describe(settings).fingerprint == embedder.fingerprint == "hashing-64@1"
    assert describe(settings).dim == embedder.dim == 64


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="which is not there"):
        _described(tmp_path, model=str(tmp_path / "missing"))


def test_a_model_that_the_hub_cannot_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="neither a folder nor a model that the hub gave"):
        _described(tmp_path, model="nobody/has-this-one", device="cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return write_tiny_folder(folder, query="query: ", document="passage: ")


class TestLocalFolder:
    def test_card(self, folder: Path, tmp_path: Path) -> None:
        generation = _described(tmp_path, model=str(folder), device="cpu")
        assert generation.dim == HIDDEN
        assert generation.recipe["max_length"] == str(POSITIONS)
        assert generation.recipe["document_prompt"] == "passage: "
        assert generation.recipe["centred"] == "no means for this model"
        assert generation.fingerprint.startswith("tiny@")
        assert "/torch-fp32/plain/" in generation.fingerprint

    def test_other_weights_have_another_fingerprint(self, folder: Path, tmp_path: Path) -> None:
        known = _described(tmp_path, model=str(folder), device="cpu")
        other = write_tiny_folder(tmp_path / "tiny", query="query: ", document="passage: ")
        weights = other / "model.safetensors"
        raw = weights.read_bytes()
        weights.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
        changed = _described(tmp_path, model=str(other), device="cpu")
        assert changed.fingerprint != known.fingerprint
        assert changed.recipe["weights"] != known.recipe["weights"]

    def test_embeds_with_its_prompts(self, folder: Path) -> None:
        embedder = open_embedder(default_settings(model=str(folder), device="cpu", threads=1))
        assert (
            embedder.fingerprint
            == describe(default_settings(model=str(folder), device="cpu")).fingerprint
        )
        assert embedder.max_tokens == POSITIONS - 2 - 2
        texts = ["hello abc", "世界", "hello " * 100, "</s>"]
        documents = embedder.embed_documents(texts, languages=["en"] * 4)
        queries = embedder.embed_queries(texts, languages=["en"] * 4)
        assert np.linalg.norm(documents, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
        assert np.abs(documents - queries).max() > 1e-3

    def test_reduced_precision_is_close_and_of_unit_length(self, folder: Path) -> None:
        texts, languages = ["hello abc", "世界 xyz"], ["en", "zh"]
        exact, reduced = (
            open_embedder(
                default_settings(model=str(folder), device="cpu", backend=backend, threads=1)
            ).embed_documents(texts, languages=languages)
            for backend in ("torch-fp32", "torch-bf16")
        )
        assert np.linalg.norm(reduced, axis=1) == pytest.approx(np.ones(2), abs=1e-5)
        cosines = (exact * reduced).sum(axis=1)
        assert (cosines > 0.99).all()
        assert not np.array_equal(exact, reduced)

    def test_a_folder_without_weights(self, folder: Path, tmp_path: Path) -> None:
        broken = write_tiny_folder(tmp_path / "broken")
        (broken / "model.safetensors").unlink()
        with pytest.raises(ModelError, match="no weights"):
            _described(tmp_path, model=str(broken), device="cpu")
