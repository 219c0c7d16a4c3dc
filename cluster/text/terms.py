"""Text -> index terms, the one analysis that both full-text stores share.

A text becomes NFKC; then pieces of it become terms, case folded, without white space:

- a word: itself; its form without accents; its English Snowball stem;
- an identifier (`metadata.filter`, `FIT-2024-0087`, `hybrid=True`, `v2.4.1`, `getUserName`):
  the whole, its pieces between separators, their parts, the whole without hyphens;
- a run of Chinese or Japanese: characters and bigrams, traditional forms as simplified ones;
  of Korean: words and bigrams; of Thai, Lao, Khmer and Burmese: characters and bigrams.

Every term that a question gives is among the terms of a document with the same text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import regex
import Stemmer

from cluster.text.function_words import (
    function_spans,
    is_function_word,
)
from cluster.text.han import to_simplified

__all__ = [
    "QueryTerm",
    "content_terms",
    "document_terms",
    "is_function_word",
    "matched_surfaces",
    "query_terms",
]

MAX_TERM_CHARS = 96
"""Longer runs of letters (base64, hashes in a row) are cut to their first so many characters;
longer compounds are indexed by their pieces only."""

MAX_QUERY_CHARS = 10_000
MAX_QUERY_TERMS = 512
"""A longer question is searched by its first so many characters and different terms."""

STEM_WEIGHT = 0.8
EXACT_WEIGHT = 0.2
"""A word whose stem differs from it: what the stem and what the exact form count."""

PART_WEIGHT = 0.5
WHOLE_WEIGHT = 1.0
FUNCTION_WEIGHT = 0.05
CHARACTER_WEIGHT = 0.1
"""A character inside a longer CJK run, beside its bigrams."""

STRADDLING_WEIGHT = 0.4
"""A CJK bigram of which one character belongs to a function word."""

CONTENT_WEIGHT = 0.1
"""A term above this weight says what the question is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """`surface` is the piece of the question that it came from, for hit reasons."""

    term: str
    weight: float
    surface: str


@dataclass(frozen=True, slots=True)
class _Form:
    term: str
    weight: float
    surface: str


def document_terms(text: str) -> tuple[str, ...]:
    """Terms of a text in reading order, repeats kept."""
    terms: list[str] = []
    for match in _TOKEN.finditer(_normalised(text)):
        token = match.group()
        kind = match.lastgroup
        if kind == "word":
            terms.extend(_known_word(token) if len(token) <= MAX_TERM_CHARS else _word_terms(token))
        elif kind == "hangul":
            terms.append(token)
            terms.extend(_grams(token))
        else:
            terms.extend(_grams(to_simplified(token)))
    return tuple(terms)


def query_terms(text: str) -> tuple[QueryTerm, ...]:
    """Terms of a question in its order, each once, at most `MAX_QUERY_TERMS`; empty when the
    question has none (punctuation, emoji)."""
    best: dict[str, QueryTerm] = {}
    for form in _query_forms(_normalised(text[:MAX_QUERY_CHARS])):
        known = best.get(form.term)
        if known is None and len(best) == MAX_QUERY_TERMS:
            break
        if known is None or known.weight < form.weight:
            surface = form.surface if known is None else known.surface
            best[form.term] = QueryTerm(term=form.term, weight=form.weight, surface=surface)
    return tuple(best.values())


def content_terms(terms: Iterable[QueryTerm]) -> tuple[QueryTerm, ...]:
    """Those that say what a question is about: no function words, no characters out of longer
    words; all of the terms when there are no such."""
    terms = tuple(terms)
    content = tuple(term for term in terms if term.weight > CONTENT_WEIGHT)
    return content or terms


def matched_surfaces(terms: Iterable[QueryTerm], document: Collection[str]) -> tuple[str, ...]:
    """The pieces of the question that a passage with the terms `document` has, in the order
    of the question, each once; neighbouring bigrams are one piece, function words are left
    out unless there is nothing else."""
    held = frozenset(document)
    pieces: list[str] = []
    joined = False
    for term in content_terms(terms):
        if term.term not in held:
            joined = False
            continue
        if joined and _overlaps(pieces[-1], term.surface):
            pieces[-1] += term.surface[1:]
        elif not pieces or term.surface not in pieces[-1]:
            pieces.append(term.surface)
        joined = True
    return tuple(dict.fromkeys(pieces))


def _overlaps(left: str, right: str) -> bool:
    """Two bigrams of one run: the second begins with the character that the first ends with."""
    return len(right) > 1 and left[-1] == right[0] and _BIGRAM.fullmatch(right) is not None


_CJK = r"\u4e00-\u9fff\p{Han}\p{Hiragana}\p{Katakana}\u30fc\u3005\u3007"
_UNSPACED = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_SPACED = rf"--[{_CJK}{_UNSPACED}\p{{Hangul}}]"
_WORD = rf"[A-Za-z0-9[[\p{{L}}\p{{N}}]{_SPACED}]][A-Za-z0-9[[\p{{L}}\p{{N}}\p{{M}}]{_SPACED}]]*+"
_LINK = r"(?:://|::|:\\|_{1,2}|[-.\\/:=@&'\u2019~+]|(?<=\p{N}),(?=\p{N}{3}(?!\p{N})))"
_TOKEN = regex.compile(
    rf"(?P<word>{_WORD}(?:{_LINK}{_WORD})*+(?:\+\+|\#)?)"
    rf"|(?P<cjk>[{_CJK}]+)|(?P<hangul>\p{{Hangul}}+)|(?P<unspaced>[{_UNSPACED}]+)",
    regex.V1,
)
"""Ranges stand before properties, which are slower to look up."""
_BIGRAM = regex.compile(rf"[{_CJK}{_UNSPACED}\p{{Hangul}}]{{2}}", regex.V1)
_STRONG_LINKS = regex.compile(r"[\\/:=@&~+]+")
_WEAK_LINKS = regex.compile(r"[-._'\u2019]+")
_CASE_PARTS = regex.compile(
    r"\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+|\p{N}+|[\p{L}\p{M}]+"
)
_INVISIBLE = regex.compile(r"[\p{Cf}\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_NUMBER = regex.compile(r"v?(\p{N}+(?:\.\p{N}+)+)(?:[-.]?[a-z]+[-.]?\p{N}*)?")


def _normalised(text: str) -> str:
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def _grams(run: str) -> list[str]:
    """Characters and bigrams, a character before the bigram that it begins."""
    grams = [run[0]]
    for left, right in pairwise(run):
        grams += (left + right, right)
    return grams


def _word_terms(token: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form.term for form in _word_forms(token)))


_known_word = lru_cache(maxsize=1 << 16)(_word_terms)


def _query_forms(text: str) -> Iterator[_Form]:
    for match in _TOKEN.finditer(text):
        token = match.group()
        if match.lastgroup == "word":
            yield from _word_forms(token)
        elif match.lastgroup == "hangul":
            yield _Form(token, WHOLE_WEIGHT, token)
            yield from _gram_forms(token, token)
        else:
            yield from _gram_forms(to_simplified(token), token)


def _gram_forms(run: str, surface: str) -> Iterator[_Form]:
    """Bigrams; then the characters, which count little unless one stands alone."""
    function = function_spans(run)
    if len(run) == 1:
        yield _Form(run, FUNCTION_WEIGHT if function[0] else WHOLE_WEIGHT, surface)
        return
    for at in range(len(run) - 1):
        known = function[at] + function[at + 1]
        weight = (1.0, STRADDLING_WEIGHT, FUNCTION_WEIGHT)[known]
        yield _Form(run[at : at + 2], weight, surface[at : at + 2])
    for character, known, piece in zip(run, function, surface, strict=True):
        if not known:
            yield _Form(character, CHARACTER_WEIGHT, piece)


def _word_forms(token: str) -> Iterator[_Form]:
    """Forms of a word or of an identifier, the whole first."""
    token = token.replace(",", "")
    pieces = [piece for piece in _STRONG_LINKS.split(token) if piece]
    if token[-1] in "+#" or len(pieces) > 1:
        if len(token) <= MAX_TERM_CHARS:
            yield _Form(token.casefold(), WHOLE_WEIGHT, token)
        for piece in pieces:
            yield from _scaled(_piece_forms(piece.rstrip("#")), PART_WEIGHT)
    else:
        yield from _piece_forms(token)


def _piece_forms(piece: str) -> Iterator[_Form]:
    """`metadata.filter`, `FIT-2024-0087`, `v2.4.1`, `user's`, `word`."""
    folded = piece.casefold()
    number = _NUMBER.fullmatch(folded)
    if number is not None:
        yield from _number_forms(folded, number.group(1), piece)
        return
    if _means_a_function_word(piece, folded.replace("\u2019", "'")):
        yield _Form(folded.replace("\u2019", "'"), FUNCTION_WEIGHT, piece)
        return
    if folded.endswith(("'s", "\u2019s")):
        piece = piece[:-2]
    words = [word for word in _WEAK_LINKS.split(piece) if word]
    if len(words) == 1:
        yield from _single_forms(words[0])
        return
    if len(piece) <= MAX_TERM_CHARS:
        whole = piece.casefold().replace("\u2019", "'")
        yield _Form(whole, WHOLE_WEIGHT, piece)
        yield _Form(_WEAK_LINKS.sub("", whole), PART_WEIGHT, piece)
    for word in words:
        yield from _scaled(_single_forms(word), PART_WEIGHT)


def _number_forms(folded: str, digits: str, surface: str) -> Iterator[_Form]:
    """A version or a decimal: whole, without `v`, and its longer beginnings."""
    yield _Form(folded, WHOLE_WEIGHT, surface)
    if digits != folded:
        yield _Form(digits, WHOLE_WEIGHT, surface)
    components = digits.split(".")
    for count in range(len(components) - 1, 1, -1):
        yield _Form(".".join(components[:count]), PART_WEIGHT, surface)


def _single_forms(word: str) -> Iterator[_Form]:
    """One run of letters and digits: its forms, then its parts by case and digits."""
    yield from _plain_forms(word)
    if word.isalpha() and (word.islower() or word.isupper() or word.istitle()):
        return
    parts = _CASE_PARTS.findall(word)
    if len(parts) > 1:
        for part in parts:
            if len(part) > 1:
                yield from _scaled(_plain_forms(part), PART_WEIGHT)


def _plain_forms(word: str) -> Iterator[_Form]:
    exact = word.casefold()[:MAX_TERM_CHARS]
    if _means_a_function_word(word, exact):
        yield _Form(exact, FUNCTION_WEIGHT, word)
        return
    stem = _stem(exact) if exact.isascii() and exact.isalpha() else _without_accents(exact)
    if stem == exact:
        yield _Form(exact, WHOLE_WEIGHT, word)
    else:
        yield _Form(exact, EXACT_WEIGHT, word)
        yield _Form(stem, STEM_WEIGHT, word)


def _means_a_function_word(word: str, exact: str) -> bool:
    """`who` and `it` are, `WHO` and `IT` are not."""
    return is_function_word(exact) and not (len(word) > 1 and word.isupper())


def _scaled(forms: Iterable[_Form], weight: float) -> Iterator[_Form]:
    for form in forms:
        yield _Form(form.term, form.weight * weight, form.surface)


_stemmer = Stemmer.Stemmer("english", 0)


def _stem(word: str) -> str:
    stem: str = _stemmer.stemWord(word)
    return stem


def _without_accents(word: str) -> str:
    """Letters of Latin, Greek, Cyrillic, Arabic and Hebrew without their marks; the vowel
    signs of other scripts are no accents and stay."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare) or word


_ACCENTS = regex.compile(r"[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u0655\u0670\u0640]+")
