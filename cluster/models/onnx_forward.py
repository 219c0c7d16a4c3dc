"""A pass through an ONNX graph on CPU; torch is not needed and not imported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from cluster.errors import ModelError
from cluster.model import Vectors
from cluster.models.embedder import Ids

ROW_GROUP = 4
"""Rows that the 8-bit kernels take at once. A last row without company goes another way through
the kernel and comes out different by a rounding, so there is never one."""

_ERRORS_ONLY = 3


class OnnxForward:
    def __init__(self, graph: Path, *, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that spin while they wait take the cores from everything else on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = _ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(
                str(graph), options, providers=["CPUExecutionProvider"]
            )
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
            raise ModelError(f"{graph} cannot be loaded: {error}") from error

    def __call__(self, ids: Ids, mask: Ids) -> Vectors:
        columns = -ids.shape[1] % ROW_GROUP
        filled = [np.pad(values, ((0, 0), (0, columns))) for values in (ids, mask)]
        inputs = dict(zip(("input_ids", "attention_mask"), filled, strict=True))
        (pooled,) = self._session.run(["sentence_embedding"], inputs)
        return np.asarray(pooled, dtype=np.float32)
