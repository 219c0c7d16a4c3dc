"""How well does a passage answer a question, read together? Any sentence-transformers
CrossEncoder, by hub name or folder.

On a CPU it runs as an ONNX graph with 8-bit weights where `cluster.models.pair_graph` knows the
family, made once and kept under `<home>/models/cross-encoder/`; else, and on a GPU, by torch.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.errors import DeadlineExceeded, InvalidSettings, ModelError
from cluster.models.built import built_folder, write_json
from cluster.models.embedder import Ids, batches
from cluster.models.hub import FoundModel, find_model, read_json
from cluster.models.open import INT8, accelerator, cores, most_tokens
from cluster.models.pair_graph import LAYOUT, pair_graph, pair_model, why_not
from cluster.models.pair_tokens import Pair, PairTokens
from cluster.settings import CrossEncoderSettings, Settings

if TYPE_CHECKING:
    from cluster.models.torch_pairs import TorchPairForward

FOLDER = "cross-encoder"
GRAPH, TOKENIZER, LIMITS = "model_int8.onnx", "tokenizer.json", "pairs.json"
KEY = "cross_encoder.model"

Logits = NDArray[np.float32]

_log = logging.getLogger(__name__)


class PairForward(Protocol):
    """One pass through a model: ids, mask and types, `(n, t)` -> logits, `(n,)`, float32."""

    def __call__(self, ids: Ids, mask: Ids, types: Ids) -> Logits: ...


class PairScorer(Protocol):
    """Synchronous and not thread-safe, as `cluster.models.protocols.Embedder` is."""

    @property
    def name(self) -> str:
        """Model, weights and backend, for people."""
        ...

    def score(self, pairs: Sequence[Pair], *, until: float = math.inf) -> Logits:
        """What the model says of each pair, before any activation, in the order of `pairs`:
        higher is better. `DeadlineExceeded` when `time.monotonic()` is past `until` and passes
        are still to be made; `ModelError` when a score is not finite."""
        ...


class CrossEncoder:
    """Scores pairs by their tokens, longest first, in passes whose padded size stays within
    `batch_tokens`."""

    def __init__(
        self, tokens: PairTokens, forward: PairForward, *, name: str, batch_tokens: int
    ) -> None:
        self._tokens = tokens
        self._forward = forward
        self._batch_tokens = batch_tokens
        self.name = name

    def score(self, pairs: Sequence[Pair], *, until: float = math.inf) -> Logits:
        rows = self._tokens.encode(pairs)

        def one(batch: Sequence[int]) -> Logits:
            return self._forward(*self._tokens.padded([rows[at] for at in batch]))

        lengths = [len(row.ids) for row in rows]
        return _in_passes(lengths, one, batch_tokens=self._batch_tokens, until=until)


class LibraryCrossEncoder:
    """For models that want more than the tokens of a pair: prompts, templates, a slow
    tokenizer. The library makes each pass."""

    def __init__(self, forward: TorchPairForward, *, name: str, batch_tokens: int) -> None:
        self._forward = forward
        self._batch_tokens = batch_tokens
        self.name = name

    def score(self, pairs: Sequence[Pair], *, until: float = math.inf) -> Logits:
        def one(batch: Sequence[int]) -> Logits:
            return self._forward.predict([pairs[at] for at in batch])

        lengths = self._forward.lengths(pairs) if pairs else []
        return _in_passes(lengths, one, batch_tokens=self._batch_tokens, until=until)


def open_cross_encoder(settings: Settings) -> PairScorer:
    """Loads the configured cross-encoder. Raises `ModelError` when it cannot, and
    `InvalidSettings` when none is configured, or a backend that the device has not."""
    wanted = settings.cross_encoder
    if wanted.model is None:
        raise InvalidSettings(f"{KEY} names no cross-encoder")
    found = find_model(wanted.model, revision=wanted.revision, setting=KEY)
    device = accelerator() or "cpu" if wanted.device == "auto" else wanted.device
    backend = _backend(wanted, found, device=device)
    name = f"{Path(wanted.model).name}@{found.weights[:8]}/{backend}"
    if backend == INT8:
        return _open_int8(wanted, found, name=name, models_dir=settings.data_dir / "models")
    return _open_torch(wanted, found, name=name, backend=backend, device=device)


def _backend(wanted: CrossEncoderSettings, found: FoundModel, *, device: str) -> str:
    reason = _no_graph(found)
    if wanted.backend == INT8:
        if device != "cpu" and wanted.device != "auto":
            raise InvalidSettings(f"cross_encoder.backend {INT8} runs on cpu, not on {device}")
        if reason is not None:
            raise InvalidSettings(
                f"cross_encoder.backend {INT8}: no graph is known for {reason}; set auto"
            )
    if wanted.backend != "auto":
        return wanted.backend
    if device != "cpu":
        return "torch-fp16"
    if reason is not None:
        _log.warning("%s: no 8-bit graph is known for %s; torch-fp32", found.location, reason)
        return "torch-fp32"
    return INT8


def _no_graph(found: FoundModel) -> str | None:
    if list(found.folder.glob("[0-9]*_*")):
        return "a model of several modules"
    if read_json(found.folder / "config_sentence_transformers.json").get("default_prompt_name"):
        return "a model with a prompt"
    return why_not(read_json(found.folder / "config.json"))


def _open_torch(
    wanted: CrossEncoderSettings, found: FoundModel, *, name: str, backend: str, device: str
) -> PairScorer:
    forward = _torch(found, backend=backend, device=device, threads=wanted.threads or cores())
    tokenizer = forward.tokenizer
    batch_tokens = min(wanted.batch_tokens, most_tokens(device))
    if tokenizer is None:
        return LibraryCrossEncoder(forward, name=name, batch_tokens=batch_tokens)
    tokens = PairTokens(
        tokenizer,
        max_length=min(wanted.max_tokens, forward.max_length),
        pad_id=forward.pad_id,
        typed=forward.typed,
    )
    return CrossEncoder(tokens, forward, name=name, batch_tokens=batch_tokens)


def _open_int8(
    wanted: CrossEncoderSettings, found: FoundModel, *, name: str, models_dir: Path
) -> PairScorer:
    from tokenizers import Tokenizer

    from cluster.models.onnx_forward import OnnxPairForward

    folder = models_dir / FOLDER / f"{Path(found.location).name}-{found.weights[:16]}-{LAYOUT}"
    try:
        built_folder(
            folder, read=[GRAPH, TOKENIZER, LIMITS], build=lambda fresh: _build(fresh, found)
        )
    except OSError as error:
        raise ModelError(f"cannot write the 8-bit graph to {folder}: {error}") from error
    limits = read_json(folder / LIMITS)
    tokens = PairTokens(
        Tokenizer.from_file(str(folder / TOKENIZER)),
        max_length=min(wanted.max_tokens, limits["max_length"]),
        pad_id=limits["pad_id"],
        typed=limits["typed"],
    )
    forward = OnnxPairForward(folder / GRAPH, threads=wanted.threads or cores())
    batch_tokens = min(wanted.batch_tokens, most_tokens("cpu"))
    return CrossEncoder(tokens, forward, name=name, batch_tokens=batch_tokens)


def _build(folder: Path, found: FoundModel) -> None:
    import onnx

    from cluster.models.onnx_forward import ROW_GROUP

    exact = _torch(found, backend="torch-fp32", device="cpu", threads=1)
    tokenizer = exact.tokenizer
    if tokenizer is None:
        raise ModelError(f"{found.location} wants more than a pair's tokens; set torch-fp32")
    model = pair_model(read_json(found.folder / "config.json"), exact.weights())
    room = min(exact.max_length, model.shape.positions)
    limits = {
        "max_length": room - room % ROW_GROUP,
        "pad_id": exact.pad_id,
        "typed": exact.typed,
    }
    folder.mkdir(parents=True)
    onnx.save(pair_graph(model), str(folder / GRAPH))
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    write_json(folder / LIMITS, limits)


def _torch(found: FoundModel, *, backend: str, device: str, threads: int) -> TorchPairForward:
    from cluster.models.torch_pairs import TorchPairForward

    return TorchPairForward(
        found.location, revision=found.revision, backend=backend, device=device, threads=threads
    )


def _in_passes(
    lengths: Sequence[int],
    one: Callable[[Sequence[int]], Logits],
    *,
    batch_tokens: int,
    until: float,
) -> Logits:
    scores = np.empty(len(lengths), dtype=np.float32)
    for batch in batches(lengths, batch_tokens=batch_tokens):
        if time.monotonic() > until:
            raise DeadlineExceeded("the time for reading passages ran out")
        scores[batch] = one(batch)
    if not np.isfinite(scores).all():
        raise ModelError("the cross-encoder gave no finite score; try backend torch-fp32")
    return scores
