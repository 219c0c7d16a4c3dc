from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.models.origins import spans_in
from cluster.models.tokens import clean

TEXTS = st.text(
    st.sampled_from("ab é世界 \n\u3000\0\ud800")
    | st.sampled_from(
        "\u0301\u0323\u0344\u1112\u1161\u11ab\u11a8\u0f73\u0f71\u09c7\u09be\u212b👩\u200d"
    ),
    max_size=24,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  which café?  ", ["which", "café", "?"]),
        ("\n\tcafe\u0301 au\u00a0lait", ["cafe\u0301", "au", "lait"]),
        ("数据保留 三份", ["数据保留", "三份"]),
        (
            "\u1112\u1161\u11ab\u1100\u116e\u11a8 now",
            ["\u1112\u1161\u11ab\u1100\u116e\u11a8", "now"],
        ),
        ("👩\u200d👧 ok", ["👩\u200d👧", "ok"]),
        ("\u1112\u1161\u11ab x e\u0301", ["\u1112\u1161\u11ab", "x", "e\u0301"]),
    ],
)
def test_words_are_found_where_they_were_written(text: str, words: list[str]) -> None:
    cleaned = clean(text)
    spans = []
    for word in words:
        composed = unicodedata.normalize("NFC", word)
        at = cleaned.index(composed)
        spans.append((at, at + len(composed)))
    assert [text[start:end] for start, end in spans_in(text, spans)] == words


@given(TEXTS)
def test_each_character_comes_from_where_it_composes(text: str) -> None:
    cleaned = clean(text)
    singles = [(at, at + 1) for at in range(len(cleaned))]
    ends = 0
    for character, (start, end) in zip(cleaned, spans_in(text, singles), strict=True):
        if character.isspace():
            assert start == end
        else:
            assert character in clean(text[start:end])
            assert 0 <= start < end <= len(text)
            assert end >= ends
            ends = end


@given(TEXTS)
def test_the_whole_is_what_stands_between_white_space(text: str) -> None:
    ((start, end),) = spans_in(text, [(0, len(clean(text)))])
    assert text[:start].strip() == text[end:].strip() == ""
    assert clean(text[start:end]) == clean(text)


def test_white_space_and_what_is_beyond_is_left_out() -> None:
    assert spans_in(" ab cd ", [(-3, 3), (2, 3), (2, 4), (3, 99), (7, 9)]) == [
        (1, 3), (4, 4), (4, 5), (4, 6), (6, 6),
    ]  # fmt: skip
    assert spans_in("", [(0, 0), (0, 5)]) == [(0, 0), (0, 0)]
