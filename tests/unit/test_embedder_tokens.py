from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_encoder import CHARMAP, PIECES
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from cluster.errors import ModelError
from cluster.models.tokens import TextTokens, clean
from cluster.models.unigram import unigram_tokenizer

BOS, PAD, EOS, UNKNOWN = range(4)
IDS = {text: at for at, (text, _) in enumerate(PIECES)}
TOKENS = TextTokens(unigram_tokenizer(PIECES, CHARMAP), max_length=24)


def test_specials_stand_around_prompt_and_text() -> None:
    (ids,) = TOKENS.encode(["hello"], prompt="passage: ")
    assert ids == [BOS, IDS["▁passage"], IDS[":"], IDS["▁hello"], EOS]
    assert TOKENS.special_count == 2


@pytest.mark.parametrize("spelling", ["</s>", "＜/s＞", "<pad>", "<s>", "<mask>", "a</s></s>b"])
def test_the_spelling_of_a_special_token_is_text(spelling: str) -> None:
    (ids,) = TOKENS.encode([spelling])
    inside = ids[1:-1]
    assert not {BOS, PAD, EOS, IDS["<mask>"]} & set(inside)
    assert IDS["<"] in inside
    assert IDS[">"] in inside


def test_a_word_counts_as_one_behind_a_prompt() -> None:
    assert TOKENS.count(["hello", ""], prompt="passage: ") == [1, 0]
    assert TOKENS.encode([""], prompt="passage: ") == [[BOS, IDS["▁passage"], IDS[":"], EOS]]


def test_cutting_keeps_the_end_marker() -> None:
    (ids,) = TOKENS.encode(["x" * 100], prompt="query: ")
    assert len(ids) == 24
    assert (ids[0], ids[-1]) == (BOS, EOS)
    assert ids[1] == IDS["▁query"]


@given(st.lists(st.text(st.sampled_from("abc 世</s>é\u0301\0\ud800🙂\n"), max_size=40), max_size=4))
def test_count_is_what_reaches_the_model(texts: list[str]) -> None:
    prompt = "passage: "
    own = len(TOKENS.encode([""], prompt=prompt)[0])
    room = TOKENS.max_length - own
    for count, ids in zip(
        TOKENS.count(texts, prompt=prompt), TOKENS.encode(texts, prompt=prompt), strict=True
    ):
        assert len(ids) == own + min(count, room)


def test_unknown_characters_stay_unknown() -> None:
    assert TOKENS.encode(["🙂"])[0][1:-1] == [IDS["▁"], UNKNOWN]


@given(st.text(st.characters()))
def test_clean_is_idempotent_and_encodable(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert "\0" not in cleaned
    cleaned.encode("utf-8")


def test_clean_composes_and_strips() -> None:
    assert clean(" \u3000cafe\u0301\n") == "café"
    assert clean("a\0b\ud800") == "a\ufffdb\ufffd"


def test_a_frame_of_another_kind() -> None:
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3, "b": 4, "[": 5, "]": 6, "C": 7}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[CLS]", "[SEP]", "[UNK]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    tokens = TextTokens(tokenizer, max_length=6)
    assert tokens.encode(["a b a b a b"]) == [[0, 3, 4, 3, 4, 1]]
    assert tokens.count(["a b", "", "z"]) == [2, 0, 1]


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ModelError, match="limit of 2 tokens"):
        TextTokens(unigram_tokenizer(PIECES, CHARMAP), max_length=2)
