"""Which files make multilingual-e5-small a sentence-transformers folder?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cluster.models.e5_wheel import (
    DOCUMENT_PROMPT,
    MAX_LENGTH,
    QUERY_PROMPT,
    Floats,
    Shape,
    WheelModel,
)
from cluster.models.onnx_graph import floats_of
from cluster.models.unigram import MASK, SPECIALS

EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_KIND = {"w": "weight", "b": "bias"}


def torch_tensors(model: WheelModel) -> dict[str, Floats]:
    """Tensors by the names that `BertModel` gives them, float32."""
    tensors = {tensor_name(name): floats_of(tensor) for name, tensor in model.tensors.items()}
    hidden = model.shape.hidden
    # The wheel has no pooler and mean pooling never asks it; without one, loaders complain.
    tensors["pooler.dense.weight"] = np.eye(hidden, dtype=np.float32)
    tensors["pooler.dense.bias"] = np.zeros(hidden, dtype=np.float32)
    return tensors


def config_files(shape: Shape) -> Mapping[str, object]:
    bos, pad, eos, unknown = SPECIALS
    return {
        "config.json": _model_config(shape),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": MAX_LENGTH,
            "bos_token": bos,
            "cls_token": bos,
            "eos_token": eos,
            "sep_token": eos,
            "pad_token": pad,
            "unk_token": unknown,
            "mask_token": MASK,
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
        },
        "sentence_bert_config.json": {"max_seq_length": MAX_LENGTH, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"query": QUERY_PROMPT, "document": DOCUMENT_PROMPT},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
        "modules.json": [
            {
                "idx": at,
                "name": str(at),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for at, (path, kind) in enumerate(
                [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
            )
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.hidden,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_max_tokens": False,
        },
        "2_Normalize/config.json": {},
    }


def _model_config(shape: Shape) -> Mapping[str, object]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.types,
        "layer_norm_eps": shape.epsilon,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "attention_probs_dropout_prob": 0.1,
        "hidden_dropout_prob": 0.1,
        "dtype": "float32",
    }


def tensor_name(name: str) -> str:
    if name in EMBEDDINGS:
        return f"embeddings.{EMBEDDINGS[name]}"
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer.removeprefix('l')}.{LAYER[part]}.{_KIND[kind]}"
