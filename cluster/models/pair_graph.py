"""How does a cross-encoder look as an ONNX graph with 8-bit weights?

The same nodes as the default encoder's (`cluster.models.onnx_graph`) under a head that turns the
first token's state into one number. That covers the families of BERT and RoBERTa (XLM-RoBERTa
too) with one label, which most cross-encoders are; `pair_model` refuses others.

Inputs: `input_ids`, `attention_mask`, `token_type_ids`, int64 `(n, t)`. Output: `logits` `(n, 1)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from cluster.errors import ModelError
from cluster.models.e5_folder import EMBEDDINGS, LAYER, tensor_name
from cluster.models.e5_wheel import BLOCK, Floats, Shape
from cluster.models.onnx_graph import WEIGHT_BLOCK, Graph, float_tensor, last_states

LAYOUT = 1
"""Grows when the arithmetic changes; graphs that were built before are then not used."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

_HEADS: Mapping[str, Mapping[str, str]] = {
    "bert": {"head.dense": "bert.pooler.dense", "head.out": "classifier"},
    "roberta": {"head.dense": "classifier.dense", "head.out": "classifier.out_proj"},
    "xlm-roberta": {"head.dense": "classifier.dense", "head.out": "classifier.out_proj"},
}
_BODIES = {"bert": "bert", "roberta": "roberta", "xlm-roberta": "roberta"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairModel:
    """Weights by the names of the wheel, those of the head as `head.dense` and `head.out`."""

    shape: Shape
    tensors: Mapping[str, Floats]


def why_not(config: Mapping[str, Any]) -> str | None:
    """What of a model's `config.json` the graph cannot hold; None when it can hold it."""
    kind = config.get("model_type")
    if kind not in _HEADS:
        return f"a model of type {kind}"
    if config.get("hidden_act") != "gelu":
        return f"the activation {config.get('hidden_act')}"
    if config.get("position_embedding_type", "absolute") != "absolute":
        return f"positions that are {config['position_embedding_type']}"
    if config.get("hidden_size", 0) % WEIGHT_BLOCK or config["intermediate_size"] % WEIGHT_BLOCK:
        return f"a width of {config.get('hidden_size')}"
    return None


def pair_model(config: Mapping[str, Any], weights: Mapping[str, Floats]) -> PairModel:
    """`weights` by the names of transformers' `…ForSequenceClassification`. Raises
    `ModelError`."""
    reason = why_not(config)
    if reason is not None:
        raise ModelError(f"no 8-bit graph is known for {reason}")
    kind = str(config["model_type"])
    names = _names(kind, layers=int(config["num_hidden_layers"]))
    missing = sorted(torch for torch in names.values() if torch not in weights)
    if missing:
        raise ModelError(f"the cross-encoder has no weights {missing[0]!r}")
    tensors = {name: weights[torch] for name, torch in names.items()}
    if tensors["head.out.w"].shape[0] != 1:
        raise ModelError(f"a cross-encoder gives one score, not {len(tensors['head.out.w'])}")
    if kind != "bert":
        # Its positions are counted from behind the padding's id.
        tensors["emb.pos"] = tensors["emb.pos"][int(config["pad_token_id"]) + 1 :]
    return PairModel(shape=_shape(config, tensors), tensors=tensors)


def pair_graph(model: PairModel) -> onnx.ModelProto:
    graph = Graph()
    types = "token_type_ids" if model.shape.types > 1 else None
    states = last_states(graph, model, types=types)
    at, axis = (graph.constant(np.array([number], dtype=np.int64)) for number in (0, 1))
    first = graph.node("Squeeze", [graph.node("Gather", [states, at], axis=1), axis])
    inner = graph.node("Tanh", [_linear(graph, model, "head.dense", first)])
    _linear(graph, model, "head.out", inner, output="logits")
    return graph.model(inputs=INPUTS, outputs={"logits": ["n", 1]})


def _linear(
    graph: Graph, model: PairModel, name: str, states: str, *, output: str | None = None
) -> str:
    weights, bias = (graph.constant(float_tensor(model, f"{name}.{part}")) for part in "wb")
    return graph.node("Gemm", [states, weights, bias], output=output, transB=1)


def _names(kind: str, *, layers: int) -> dict[str, str]:
    """The wheel's name of each tensor -> its name in transformers."""
    body = [*EMBEDDINGS]
    body += [
        f"l{at}.{part}.{each}" for at in range(layers) for part in LAYER for each in ("w", "b")
    ]
    names = {name: f"{_BODIES[kind]}.{tensor_name(name)}" for name in body}
    for name, torch in _HEADS[kind].items():
        names |= {f"{name}.w": f"{torch}.weight", f"{name}.b": f"{torch}.bias"}
    return names


def _shape(config: Mapping[str, Any], tensors: Mapping[str, Floats]) -> Shape:
    vocabulary, hidden = tensors["emb.word"].shape
    if hidden % BLOCK:
        raise ModelError(f"no 8-bit graph is known for words of {hidden} numbers")
    return Shape(
        hidden=hidden,
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        feed_forward=int(config["intermediate_size"]),
        vocabulary=vocabulary,
        positions=len(tensors["emb.pos"]),
        types=len(tensors["emb.type"]),
        epsilon=float(config["layer_norm_eps"]),
    )
