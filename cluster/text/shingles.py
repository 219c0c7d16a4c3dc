"""How much of one text stands in another? Texts as folded words and as sets of short runs of them.

A word is a run of letters and digits; a Chinese, Japanese or Thai character is a word of its own,
so that a shingle is a run of words in English and a character n-gram in Chinese. Case, width,
accents' composition and traditional or simplified form do not count. Numbers stay whole: `1,000`
is `1000`, `v2.4.1`, `2026-05-01` and `-5` are one word each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import regex

from cluster.text.han import to_simplified

SHINGLE_WORDS = 3

_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e01-\u0e4e\u0e80-\u0ecf\u1000-\u109f\u1780-\u17d3"
)
"""Han, kana, Thai, Lao, Khmer and Burmese; ranges, as properties are slow to look up."""

_LETTER = rf"[^\W{_UNSPACED}]"
_WORD = re.compile(
    rf"(?<!\w)-(?=\d){_LETTER}+(?:[.,:/-](?=\d){_LETTER}+)*"
    rf"|{_LETTER}+(?:(?:(?<=\d)[.,:/-](?=\d)|'(?=[^\W\d])){_LETTER}+)*"
    rf"|[{_UNSPACED}]|[<>\u2264\u2265\u2260%$\u20ac\u00a3\u00a5\u00b0]"
)
_MARK = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff]"
)
_MARKED_WORD = regex.compile(rf"[[\p{{L}}\p{{N}}\p{{M}}_]--[{_UNSPACED}]]+|[{_UNSPACED}]", regex.V1)
"""For writing whose vowels are marks on letters; slower."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2019": "'"})


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """The folded words in reading order."""
    if text.isascii():
        return tuple(_WORD.findall(_THOUSANDS.sub("", text.lower())))
    folded = to_simplified(unicodedata.normalize("NFKC", text)).translate(_MINUS).casefold()
    words = _MARKED_WORD if _MARK.search(folded) else _WORD
    return tuple(words.findall(_THOUSANDS.sub("", folded)))


Shingles = frozenset[int]
"""Runs of words by their hashes, which are the same only within one process."""


def shingles(words: Sequence[str], *, size: int = SHINGLE_WORDS) -> Shingles:
    """All runs of `size` words; of a shorter text the whole, of an empty one none."""
    if len(words) <= size:
        return frozenset({hash(tuple(words))} if words else ())
    return frozenset(map(hash, zip(*(words[at:] for at in range(size)), strict=False)))


def similarity(left: str, right: str) -> float:
    """Jaccard coefficient of the shingles, 0 to 1; two texts without words are not similar."""
    return jaccard(shingles(words_of(left)), shingles(words_of(right)))


def jaccard(left: Shingles, right: Shingles) -> float:
    both = len(left & right)
    return both / (len(left) + len(right) - both) if both else 0.0
