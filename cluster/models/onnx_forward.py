"""A pass through an ONNX graph on CPU; torch is not needed and not imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from cluster.errors import ModelError
from cluster.model import Vectors
from cluster.models.embedder import Ids, States

ROW_GROUP = 4
"""Rows that the 8-bit kernels take at once. A last row without company goes another way through
the kernel and comes out different by a rounding, so there is never one."""

_ERRORS_ONLY = 3


class OnnxForward:
    def __init__(self, graph: Path, *, threads: int) -> None:
        self._session = _session(graph, threads=threads)

    def __call__(self, ids: Ids, mask: Ids) -> Vectors:
        (pooled,) = self._run(["sentence_embedding"], ids, mask)
        return pooled

    def with_tokens(self, ids: Ids, mask: Ids) -> tuple[Vectors, States]:
        pooled, states = self._run(["sentence_embedding", "token_embeddings"], ids, mask)
        return pooled, states[:, : ids.shape[1]]

    def _run(self, outputs: list[str], ids: Ids, mask: Ids) -> list[NDArray[np.float32]]:
        made = self._session.run(outputs, _filled({"input_ids": ids, "attention_mask": mask}))
        return [np.asarray(values, dtype=np.float32) for values in made]


class OnnxPairForward:
    """`cluster.models.cross_encoder.PairForward` over a graph of `cluster.models.pair_graph`."""

    def __init__(self, graph: Path, *, threads: int) -> None:
        self._session = _session(graph, threads=threads)

    def __call__(self, ids: Ids, mask: Ids, types: Ids) -> NDArray[np.float32]:
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        (logits,) = self._session.run(["logits"], _filled(inputs))
        return np.asarray(logits, dtype=np.float32)[:, 0]


def _session(graph: Path, *, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores from everything else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        raise ModelError(f"{graph} cannot be loaded: {error}") from error


def _filled(inputs: Mapping[str, Ids]) -> dict[str, Ids]:
    return {
        name: np.pad(values, ((0, 0), (0, -values.shape[1] % ROW_GROUP)))
        for name, values in inputs.items()
    }
