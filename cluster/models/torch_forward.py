"""A pass through a sentence-transformers model on torch, on any device and precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from cluster.errors import ModelError
from cluster.model import Vectors
from cluster.models.embedder import Ids, States

PRECISIONS = {
    "torch-fp32": torch.float32,
    "torch-bf16": torch.bfloat16,
    "torch-fp16": torch.float16,
}


Model = TypeVar("Model", bound=torch.nn.Module)


def loaded(
    library: Callable[..., Model],
    what: str,
    model: str,
    *,
    revision: str | None,
    backend: str,
    device: str,
) -> Model:
    """A model of sentence-transformers, ready to be asked. Raises `ModelError`, with `what` the
    model was to be."""
    try:
        found = library(
            model,
            revision=revision,
            device=device,
            model_kwargs={"dtype": PRECISIONS[backend]},
            trust_remote_code=False,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"the {what} {model} cannot be loaded: {error}") from error
    found.eval()
    return found


class TorchForward:
    """Owns the loaded model. `threads` holds for the whole process, as torch has it."""

    def __init__(
        self, model: str, *, revision: str | None, backend: str, device: str, threads: int
    ) -> None:
        torch.set_num_threads(threads)
        self._model = loaded(
            SentenceTransformer, "encoder", model, revision=revision, backend=backend, device=device
        )

    @property
    def tokenizer(self) -> Tokenizer:
        """A copy of the model's own tokenizer."""
        fast: Any = getattr(self._model.tokenizer, "backend_tokenizer", None)
        if fast is None:
            raise ModelError("the encoder has no fast tokenizer (tokenizer.json); choose another")
        return Tokenizer.from_str(fast.to_str())

    @property
    def pad_id(self) -> int:
        return int(self._model.tokenizer.pad_token_id or 0)

    def __call__(self, ids: Ids, mask: Ids) -> Vectors:
        (pooled,) = self._run(["sentence_embedding"], ids, mask)
        return pooled

    def with_tokens(self, ids: Ids, mask: Ids) -> tuple[Vectors, States]:
        pooled, states = self._run(["sentence_embedding", "token_embeddings"], ids, mask)
        return pooled, states

    def _run(self, outputs: list[str], ids: Ids, mask: Ids) -> list[NDArray[np.float32]]:
        device = self._model.device
        features: dict[str, Any] = {
            "input_ids": torch.from_numpy(ids).to(device),
            "attention_mask": torch.from_numpy(mask).to(device),
        }
        with torch.inference_mode():
            made = self._model(features)
        moved = [made[name].to(device="cpu", dtype=torch.float32) for name in outputs]
        return [np.asarray(values.numpy(), dtype=np.float32) for values in moved]
