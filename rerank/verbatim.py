"""Which of the question's exact terms stand in a passage as they were written?

Words of a quotation that are scattered over a page are no quotation, and `x_size` in `x_size_max`
is another name; the terms of the text index cannot tell, a look at the text can.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import regex
from pydantic import Field

from cluster.model import Chunk

ExactKind = Literal["title", "quoted", "identifier", "subject", "error_code", "version", "name"]

MAX_EXACT = 16
HEADING_SHARE = 1.0
UNDER_HEADING_SHARE = 0.75
IN_HEADING_SHARE = 0.7
TEXT_SHARE = 0.5
"""A passage with a heading that is the term, or begins with it, is about it, and begins with
what matters most; a later part under that heading comes next. One that has it in its text
mentions it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTerm:
    """A piece of the question that is meant as it is written, without its quotation marks.
    `bonus` is what a passage under its heading gains at most, on a score of 0 to 1. A `subject`
    is a plain word that the question names as a thing: only a heading that is it counts."""

    text: str
    kind: ExactKind
    bonus: Annotated[float, Field(ge=0, le=2)]


def verbatim(chunk: Chunk, exact: Sequence[ExactTerm]) -> tuple[str, ...]:
    """The texts of those terms that stand in what is indexed of the chunk."""
    if not exact:
        return ()
    text = chunk.indexed_text.casefold()
    return tuple(term.text for term in exact if _stands_in(text, term.text))


def verbatim_bonus(chunk: Chunk, exact: Sequence[ExactTerm]) -> float:
    """The highest bonus of a term, times the share of all bonuses that the chunk earns (see
    `HEADING_SHARE` and the next). 0 without terms."""
    whole = sum(term.bonus for term in exact)
    if not whole:
        return 0.0
    text = chunk.indexed_text.casefold()
    headings = _headings(chunk)
    earned = sum(term.bonus * _share(term, text, headings) for term in exact)
    return max(term.bonus for term in exact) * (earned / whole)


def _headings(chunk: Chunk) -> list[tuple[str, float]]:
    """Each with its share: those that stand in the text (short sections share a chunk), and the
    one above."""
    inside = _HEADING.findall(chunk.text) if "#" in chunk.text else []
    return [
        *((_bare(heading), HEADING_SHARE) for heading in inside),
        *((_bare(heading), UNDER_HEADING_SHARE) for heading in chunk.heading_path[-1:]),
    ]


def _bare(heading: str) -> str:
    """Without tags and marks of code and emphasis."""
    return " ".join(_MARKS.sub(" ", heading).casefold().split())


def _share(term: ExactTerm, text: str, headings: Sequence[tuple[str, float]]) -> float:
    if term.kind == "subject":
        plain = _folded(term.text)[0]
        return max((share for heading, share in headings if heading == plain), default=0.0)
    pattern = _pattern_in(text, term.text)
    if pattern is None:
        return 0.0
    begun = [share for heading, share in headings if pattern.match(heading)]
    if begun:
        return max(begun)
    if any(pattern.search(heading) for heading, _ in headings):
        return IN_HEADING_SHARE
    return TEXT_SHARE if pattern.search(text) else 0.0


def _stands_in(folded: str, term: str) -> bool:
    pattern = _pattern_in(folded, term)
    return pattern is not None and pattern.search(folded) is not None


def _pattern_in(folded: str, term: str) -> regex.Pattern[str] | None:
    """That of the way of writing the term which the text may have."""
    return next((_pattern(plain) for plain in _folded(term) if plain in folded), None)


@lru_cache(maxsize=4096)
def _folded(term: str) -> tuple[str, ...]:
    """As it is written, and with half-width forms: to fold each text would take longer."""
    ways = (term, unicodedata.normalize("NFKC", term))
    return tuple(dict.fromkeys(" ".join(way.casefold().split()) for way in ways))


@lru_cache(maxsize=4096)
def _pattern(plain: str) -> regex.Pattern[str]:
    """Not inside a longer word, name or number; Chinese has no words to be inside of."""
    before = r"(?<![\p{Latin}\p{Cyrillic}\p{Greek}\d_])" if _is_letter(plain[0]) else ""
    after = r"(?![\p{Latin}\p{Cyrillic}\p{Greek}\d_]|\.\d)" if _is_letter(plain[-1]) else ""
    return regex.compile(before + regex.escape(plain) + after)


def _is_letter(character: str) -> bool:
    return regex.fullmatch(r"[\p{Latin}\p{Cyrillic}\p{Greek}\d_]", character) is not None


_HEADING = regex.compile(r"^\#{1,6}\s+(.+?)\s*\#*$", regex.MULTILINE)
_MARKS = regex.compile(r"<[^<>]*>|[`*]+")
