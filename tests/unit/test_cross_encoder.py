"""Cross-encoders of each family: real models, small ones. What the library says of a pair is
what the product says, whatever the backend, batch and order."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder as LibraryModel
from tiny_cross_encoder import POSITIONS, Family, write_tiny_cross_encoder

from cluster.errors import DeadlineExceeded, InvalidSettings, ModelError
from cluster.models.cross_encoder import (
    CrossEncoder,
    LibraryCrossEncoder,
    Logits,
    PairScorer,
    open_cross_encoder,
)
from cluster.models.embedder import Ids
from cluster.models.pair_tokens import Pair
from cluster.settings import CrossEncoderSettings, Settings

QUESTION = "how long are access tokens valid?"
PASSAGES = [
    "access tokens are valid for 30 minutes.",
    "use tls 1.3 everywhere",
    "cats",
    "访问令牌的有效期为三十分钟",
    "a long passage about nothing " * 12,
    "",
    "tokens, tokens and again tokens: are they valid everywhere?",
]
PAIRS: list[Pair] = [(QUESTION, passage) for passage in PASSAGES]
WITHIN = 0.45
"""Between 8 bits and 32, of scores that are about 1 apart."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Family, Path]:
    root = tmp_path_factory.mktemp("cross-encoders")
    families: tuple[Family, ...] = ("bert", "xlm-roberta", "distilbert")
    return {family: write_tiny_cross_encoder(root / family, family=family) for family in families}


def opened(folder: Path, **more: object) -> PairScorer:
    wanted = CrossEncoderSettings.model_validate({"model": str(folder), "threads": 1, **more})
    return open_cross_encoder(Settings(home=folder.parent, cross_encoder=wanted))


def by_the_library(folder: Path) -> Logits:
    made = LibraryModel(str(folder), device="cpu").predict(
        PAIRS, activation_fn=torch.nn.Identity(), show_progress_bar=False
    )
    return np.asarray(made, dtype=np.float32)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta", "distilbert"])
def test_torch_scores_as_the_library_does(folders: dict[Family, Path], family: Family) -> None:
    scorer = opened(folders[family], backend="torch-fp32")
    assert scorer.score(PAIRS) == pytest.approx(by_the_library(folders[family]), abs=1e-4)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_eight_bits_agree_with_torch(folders: dict[Family, Path], family: Family) -> None:
    scorer = opened(folders[family])
    assert scorer.name.endswith("/onnx-int8")
    exact, found = by_the_library(folders[family]), scorer.score(PAIRS)
    assert float(exact.std()) > 0.2
    assert found == pytest.approx(exact, abs=WITHIN)
    assert float(np.corrcoef(exact, found)[0, 1]) > 0.95


@pytest.mark.parametrize("backend", ["torch-bf16", "torch-fp16"])
def test_half_the_precision_agrees(folders: dict[Family, Path], backend: str) -> None:
    scorer = opened(folders["bert"], backend=backend, device="cpu")
    assert scorer.score(PAIRS) == pytest.approx(by_the_library(folders["bert"]), abs=0.15)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("family", ["bert", "xlm-roberta", "distilbert"])
def test_a_gpu_scores_in_fp16(folders: dict[Family, Path], family: Family) -> None:
    scorer = opened(folders[family])
    assert scorer.name.endswith("/torch-fp16")
    assert scorer.score(PAIRS) == pytest.approx(by_the_library(folders[family]), abs=0.15)


def test_the_graph_is_made_once(folders: dict[Family, Path]) -> None:
    opened(folders["bert"])
    (built,) = (folders["bert"].parent / "models" / "cross-encoder").glob("bert-*")
    before = built.stat().st_ino
    opened(folders["bert"])
    assert built.stat().st_ino == before
    (built / "tokenizer.json").write_text("{}")
    again = opened(folders["bert"])
    assert again.score(PAIRS[:1]).shape == (1,)


def test_a_family_without_a_graph_runs_on_torch_and_says_so(
    folders: dict[Family, Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        scorer = opened(folders["distilbert"])
    assert scorer.name.endswith("/torch-fp32")
    assert "no 8-bit graph is known for a model of type distilbert" in caplog.text
    with pytest.raises(InvalidSettings, match="no graph is known for a model of type distilbert"):
        opened(folders["distilbert"], backend="onnx-int8")


def test_scores_do_not_depend_on_company_or_order(folders: dict[Family, Path]) -> None:
    scorer = opened(folders["bert"])
    together = scorer.score(PAIRS)
    assert scorer.score(PAIRS[::-1])[::-1] == pytest.approx(together, abs=1e-4)
    alone = np.concatenate([scorer.score([pair]) for pair in PAIRS])
    assert alone == pytest.approx(together, abs=1e-4)
    assert scorer.score([]).shape == (0,)


def test_a_spelled_special_token_is_text(folders: dict[Family, Path]) -> None:
    """A passage cannot end itself and begin another one."""
    spelled: dict[Family, tuple[str, str]] = {
        "bert": ("[SEP]", "[ sep ]"),
        "xlm-roberta": ("</s>", "<"),
    }
    for family, (mark, loose) in spelled.items():
        scorer = opened(folders[family], backend="torch-fp32")
        honest, marked = scorer.score(
            [(QUESTION, f"cats {loose} tokens"), (QUESTION, f"cats {mark} tokens")]
        )
        library = LibraryModel(str(folders[family]), device="cpu").predict(
            [(QUESTION, f"cats {mark} tokens")],
            activation_fn=torch.nn.Identity(),
            show_progress_bar=False,
        )
        assert abs(marked - library[0]) > 1e-3
        if family == "bert":
            assert abs(marked - honest) < abs(library[0] - honest)


class Recorded:
    """Passes through to nothing: the score is the number of tokens."""

    def __init__(self, *, wait_s: float = 0.0, score: float | None = None) -> None:
        self.shapes: list[tuple[int, int]] = []
        self._wait_s = wait_s
        self._score = score

    def __call__(self, ids: Ids, mask: Ids, types: Ids) -> Logits:
        time.sleep(self._wait_s)
        self.shapes.append((ids.shape[0], ids.shape[1]))
        assert ids.shape == mask.shape == types.shape
        lengths = mask.sum(axis=1).astype(np.float32)
        return lengths if self._score is None else np.full(len(ids), self._score, np.float32)


def counting(folder: Path, forward: Recorded, *, batch_tokens: int) -> CrossEncoder:
    whole = opened(folder, backend="torch-fp32")
    assert isinstance(whole, CrossEncoder)
    return CrossEncoder(
        whole._tokens,  # noqa: SLF001  # the tokenizer alone, under a pass that is counted
        forward,
        name="counted",
        batch_tokens=batch_tokens,
    )


def test_passes_are_bounded_by_tokens_longest_first(folders: dict[Family, Path]) -> None:
    forward = Recorded()
    scores = counting(folders["bert"], forward, batch_tokens=128).score(PAIRS)
    assert sum(rows for rows, _ in forward.shapes) == len(PAIRS)
    assert all(rows * longest <= 128 for rows, longest in forward.shapes)
    assert len(forward.shapes) > 2
    assert [longest for _, longest in forward.shapes] == sorted(
        (longest for _, longest in forward.shapes), reverse=True
    )
    assert int(np.argmax(scores)) == 4
    assert scores.max() == POSITIONS
    assert int(np.argmin(scores)) == 5


def test_what_is_late_is_not_read_to_the_end(folders: dict[Family, Path]) -> None:
    forward = Recorded(wait_s=0.05)
    scorer = counting(folders["bert"], forward, batch_tokens=64)
    with pytest.raises(DeadlineExceeded):
        scorer.score(PAIRS, until=time.monotonic() + 0.06)
    assert 1 <= len(forward.shapes) < len(PAIRS)


def test_a_score_that_is_not_finite_is_an_error(folders: dict[Family, Path]) -> None:
    scorer = counting(folders["bert"], Recorded(score=float("nan")), batch_tokens=512)
    with pytest.raises(ModelError, match="try backend torch-fp32"):
        scorer.score(PAIRS)


def test_max_tokens_cuts_the_longer_text(folders: dict[Family, Path]) -> None:
    forward = Recorded()
    short = opened(folders["bert"], backend="torch-fp32", max_tokens=24)
    assert isinstance(short, CrossEncoder)
    cut = CrossEncoder(short._tokens, forward, name="cut", batch_tokens=512)  # noqa: SLF001
    assert cut.score(PAIRS).max() == 24


def test_a_model_with_a_prompt_is_left_to_the_library(folders: dict[Family, Path]) -> None:
    model = LibraryModel(str(folders["bert"]), device="cpu", prompts={"ask": "use: "})
    model.default_prompt_name = "ask"
    folder = folders["bert"].parent / "prompted"
    model.save_pretrained(str(folder))
    scorer = opened(folder, batch_tokens=128)
    assert scorer.name.endswith("/torch-fp32")
    assert isinstance(scorer, LibraryCrossEncoder)
    assert scorer.score(PAIRS) == pytest.approx(by_the_library(folder), abs=1e-4)


def test_several_scores_are_refused(tmp_path: Path) -> None:
    folder = write_tiny_cross_encoder(tmp_path / "three", labels=3)
    for backend in ("auto", "torch-fp32"):
        with pytest.raises(ModelError, match="3 scores"):
            opened(folder, backend=backend)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cross_encoder\.model names the folder"):
        opened(tmp_path / "nowhere")
    with pytest.raises(InvalidSettings, match="names no cross-encoder"):
        open_cross_encoder(Settings())
