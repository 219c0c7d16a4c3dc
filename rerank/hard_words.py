"""Which words make another statement of a sentence, and which ones change nothing?

Hard are numbers, versions, dates, negations and limits: two texts that differ in one of these say
different things, however alike they are. Neutral are articles, pronouns and forms of *to be*. All
words are folded as by `cluster.text.shingles.words_of`.
"""

from __future__ import annotations

from functools import lru_cache

import regex
import Stemmer

_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion half twice double triple dozen once first second third
    fourth fifth last
"""
_NEGATIONS = """
    not no never none nothing nobody neither nor without cannot false fails fail failed disabled
    deprecated removed unsupported forbidden
"""
_LIMITS = """
    only except unless until if before after above below over under more less fewer most least
    all any every some or may might must should always sometimes rarely on off up down was were
"""
_DATES = """
    january february march april june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday today yesterday tomorrow bc ad am pm alpha
    beta rc preview latest
"""
_HARD_CHARACTERS = (
    "零〇一二三四五六七八九十百千万亿两半双几不没无非未否勿别莫禁仅只除若或年月日昨今明"
)
_NUMERALS = frozenset("零〇一二三四五六七八九十百千万亿两半")
_NEUTRAL_WORDS = """
    a an the this that these those it its is are be been being has have had do does of to in at
    as by and also so which who you your we our they their there here just very please then
"""
_NEUTRAL_CHARACTERS = "的了着地得之也就都这那个所而且并与和及其是在呢吗吧啊"

_HARD = frozenset(
    (*f"{_NUMBERS}{_NEGATIONS}{_LIMITS}{_DATES}".split(), *_HARD_CHARACTERS, *"%$€£¥°<>≤≥≠")
)
_NEUTRAL = frozenset((*_NEUTRAL_WORDS.split(), *_NEUTRAL_CHARACTERS))
_DIGIT = regex.compile(r"\p{N}")
_stemmer = Stemmer.Stemmer("english", 0)


def is_hard(word: str) -> bool:
    return word in _HARD or word.endswith("n't") or _DIGIT.search(word) is not None


def is_number(word: str) -> bool:
    """A figure, a version or anything else with a digit, or a Chinese numeral."""
    return word in _NUMERALS or _DIGIT.search(word) is not None


def is_neutral(word: str) -> bool:
    return word in _NEUTRAL


@lru_cache(maxsize=1 << 15)
def stem_of(word: str) -> str:
    """The English stem; other words as they are."""
    stem: str = _stemmer.stemWord(word) if word.isascii() else word
    return stem
