"""Which tokens of a text say what it is about?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from cluster.text.function_words import function_spans, is_function_word
from cluster.text.han import to_simplified

_CONTENT = regex.compile(r"[\p{L}\p{N}]+")
_WORD_OR_RUN = regex.compile(r"\p{Han}+|[\p{Latin}\p{M}]+(?:['\u2019][\p{Latin}\p{M}]+)*")
_HAN = regex.compile(r"\p{Han}")


def content_tokens(text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Those with a letter or digit outside of function words; all of them when there is none
    such. `spans` are half-open, of characters of `text`."""
    if not spans:
        return np.ones(0, dtype=np.bool_)
    before = np.concatenate([[0], np.cumsum(_content_marks(text), dtype=np.int64)])
    places = np.clip(np.array(spans, dtype=np.int64), 0, len(text))
    content: NDArray[np.bool_] = before[places[:, 1]] > before[places[:, 0]]
    return content if content.any() else np.ones(len(spans), dtype=np.bool_)


def _content_marks(text: str) -> NDArray[np.uint8]:
    """For each character 1 when it is a letter or digit outside of function words."""
    marks = bytearray(len(text))
    for match in _CONTENT.finditer(text):
        start, end = match.span()
        marks[start:end] = b"\1" * (end - start)
    for match in _WORD_OR_RUN.finditer(text):
        word, (start, end) = match.group(), match.span()
        if _HAN.match(word):
            framing = function_spans(to_simplified(word))
            marks[start:end] = bytes(a & ~b for a, b in zip(marks[start:end], framing, strict=True))
        elif _means_a_function_word(word):
            marks[start:end] = bytes(end - start)
    return np.frombuffer(bytes(marks), dtype=np.uint8)


def _means_a_function_word(word: str) -> bool:
    """`who` and `it` are, `WHO` and `IT` are not."""
    folded = word.casefold().replace("\u2019", "'")
    return is_function_word(folded) and not (len(word) > 1 and word.isupper())
