"""A pass through a sentence-transformers cross-encoder on torch, on any device and precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer

from cluster.errors import ModelError
from cluster.models.embedder import Ids
from cluster.models.pair_tokens import Pair
from cluster.models.torch_forward import loaded

TYPES = "token_type_ids"


class TorchPairForward:
    """Owns the loaded model; raises `ModelError` when there is none, or one that gives several
    scores. `threads` holds for the whole process, as torch has it."""

    def __init__(
        self, model: str, *, revision: str | None, backend: str, device: str, threads: int
    ) -> None:
        torch.set_num_threads(threads)
        self._model = loaded(
            CrossEncoder, "cross-encoder", model, revision=revision, backend=backend, device=device
        )
        if self._model.num_labels != 1:
            raise ModelError(
                f"{model} gives {self._model.num_labels} scores; a cross-encoder for reranking "
                "gives one"
            )

    @property
    def tokenizer(self) -> Tokenizer | None:
        """A copy of the model's own; None where a pair is more than its tokens: where the model
        wants a prompt or a template, or has no fast tokenizer."""
        fast: Any = getattr(self._model.tokenizer, "backend_tokenizer", None)
        if fast is None or len(self._model) > 1 or self._model.default_prompt_name:
            return None
        return Tokenizer.from_str(fast.to_str())

    @property
    def typed(self) -> bool:
        return TYPES in self._model.tokenizer.model_input_names

    @property
    def pad_id(self) -> int:
        return int(self._model.tokenizer.pad_token_id or 0)

    @property
    def max_length(self) -> int:
        """Tokens of a pair, special ones included."""
        config: Any = self._model.config
        stated = [
            self._model.max_seq_length,
            getattr(self._model.tokenizer, "model_max_length", None),
            getattr(config, "max_position_embeddings", None),
        ]
        limits = [limit for limit in stated if isinstance(limit, int) and limit < 1 << 20]
        return min(limits, default=512)

    def weights(self) -> Mapping[str, NDArray[np.float32]]:
        """By the names of the transformers model inside."""
        inside: Any = self._model.model
        return {name: each.float().cpu().numpy() for name, each in inside.state_dict().items()}

    def __call__(self, ids: Ids, mask: Ids, types: Ids) -> NDArray[np.float32]:
        given = {"input_ids": ids, "attention_mask": mask}
        if self.typed:
            given[TYPES] = types
        device = self._model.device
        features: dict[str, Any] = {
            name: torch.from_numpy(values).to(device) for name, values in given.items()
        }
        with torch.inference_mode():
            scores = self._model(features)["scores"]
        return _floats(scores.reshape(len(ids)))

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """In tokens, without those of a template; cut at the limit."""
        texts = [f"{question} {passage}" for question, passage in pairs]
        return [min(len(ids), self.max_length) for ids in self._model.tokenizer(texts)["input_ids"]]

    def predict(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """One pass as the library makes it, templates and all."""
        scores = self._model.predict(
            list(pairs),
            batch_size=len(pairs),
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
        )
        return _floats(scores)


def _floats(scores: Any) -> NDArray[np.float32]:
    return np.asarray(scores.to(device="cpu", dtype=torch.float32).numpy(), dtype=np.float32)
