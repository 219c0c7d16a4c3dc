"""Cross-encoders of a few kilobytes: real models of each family, with weights drawn by a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from sentence_transformers import CrossEncoder
from tiny_encoder import CHARMAP, PIECES
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

from cluster.models.unigram import unigram_tokenizer

Family = Literal["bert", "xlm-roberta", "distilbert"]

POSITIONS = 64
BERT_INPUTS = ("input_ids", "token_type_ids", "attention_mask")
UNKNOWN = "[UNK]"
BERT_SPECIALS = {
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "unk_token": UNKNOWN,
    "mask_token": "[MASK]",
}
UNIGRAM_SPECIALS = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
}
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?！？。访问令牌有效期为三十分钟世界"


def write_tiny_cross_encoder(
    folder: Path, *, family: Family = "bert", seed: int = 1, labels: int = 1
) -> Path:
    """A folder as `CrossEncoder.save_pretrained` makes it."""
    torch.manual_seed(seed)
    bare = folder.with_name(f"{folder.name}-bare")
    model = _model(family, labels)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim > 1:
                # Wider than usual, so that passages get scores that are far apart.
                weights.mul_(40.0 if name.startswith("classifier.") else 3.0)
    model.save_pretrained(bare)
    _tokenizer(family).save_pretrained(bare)
    CrossEncoder(str(bare), device="cpu").save_pretrained(str(folder))
    return folder


def _model(family: Family, labels: int) -> PreTrainedModel:
    if family == "distilbert":
        return DistilBertForSequenceClassification(_labelled(_distilbert(), labels))
    if family == "bert":
        return BertForSequenceClassification(_labelled(_bert(), labels))
    return XLMRobertaForSequenceClassification(_labelled(_xlm_roberta(), labels))


def _labelled(config: Any, labels: int) -> Any:
    config.num_labels = labels
    return config


def _bert() -> BertConfig:
    return BertConfig(
        vocab_size=len(_word_pieces()),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=POSITIONS,
    )


def _xlm_roberta() -> XLMRobertaConfig:
    return XLMRobertaConfig(
        vocab_size=len(PIECES),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=POSITIONS + 2,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        pad_token_id=1,
    )


def _distilbert() -> DistilBertConfig:
    return DistilBertConfig(
        vocab_size=len(_word_pieces()),
        dim=128,
        n_layers=1,
        n_heads=4,
        hidden_dim=256,
        max_position_embeddings=POSITIONS,
    )


def _tokenizer(family: Family) -> PreTrainedTokenizerFast:
    unigram = family == "xlm-roberta"
    names = ["input_ids", "attention_mask"] if unigram else [*BERT_INPUTS]
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # it has no types
        tokenizer_object=unigram_tokenizer(PIECES, CHARMAP) if unigram else _word_piece(),
        model_max_length=POSITIONS,
        model_input_names=names,
        **(UNIGRAM_SPECIALS if unigram else BERT_SPECIALS),
    )


def _word_pieces() -> dict[str, int]:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[", "]"]
    letters = [*CHARACTERS, *(f"##{each}" for each in CHARACTERS)]
    words = ["access", "tokens", "valid", "are", "for", "minutes", "use", "tls", "everywhere"]
    return {piece: at for at, piece in enumerate(dict.fromkeys([*specials, *letters, *words]))}


def _word_piece() -> Tokenizer:
    pieces = _word_pieces()
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])],
    )
    return tokenizer
