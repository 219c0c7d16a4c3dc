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

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\u3005\u3007\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTERS = rf"[\p{{L}}\p{{N}}\p{{M}}_--[{_UNSPACED}]]"
_WORD = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}])-(?=\p{{N}}){_LETTERS}+(?:[.,:/-](?=\p{{N}}){_LETTERS}+)*"
    rf"|{_LETTERS}+(?:(?:(?<=\p{{N}})[.,:/-](?=\p{{N}})|'(?=\p{{L}})){_LETTERS}+)*"
    rf"|[{_UNSPACED}]|[<>\u2264\u2265\u2260%$\u20ac\u00a3\u00a5\u00b0]",
    regex.V1,
)
_ASCII_WORD = re.compile(
    r"(?<![A-Za-z0-9])-(?=[0-9])[A-Za-z0-9_]+(?:[.,:/-](?=[0-9])[A-Za-z0-9_]+)*"
    r"|[A-Za-z0-9_]+(?:(?:(?<=[0-9])[.,:/-](?=[0-9])|'(?=[A-Za-z]))[A-Za-z0-9_]+)*"
    r"|[<>%$]"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2019": "'"})


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    """The folded words in reading order."""
    if text.isascii():
        return tuple(_ASCII_WORD.findall(_THOUSANDS.sub("", text.lower())))
    folded = to_simplified(unicodedata.normalize("NFKC", text)).translate(_MINUS).casefold()
    return tuple(_WORD.findall(_THOUSANDS.sub("", folded)))


def shingles(words: Sequence[str], *, size: int = SHINGLE_WORDS) -> frozenset[tuple[str, ...]]:
    """All runs of `size` words; of a shorter text the whole, of an empty one none."""
    if len(words) <= size:
        return frozenset({tuple(words)} if words else ())
    return frozenset(zip(*(words[at:] for at in range(size)), strict=False))


def similarity(left: str, right: str) -> float:
    """Jaccard coefficient of the shingles, 0 to 1; two texts without words are not similar."""
    return jaccard(shingles(words_of(left)), shingles(words_of(right)))


def jaccard(left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]) -> float:
    both = len(left & right)
    return both / (len(left) + len(right) - both) if both else 0.0
