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

ExactKind = Literal["title", "quoted", "identifier", "error_code", "version", "name"]

MAX_EXACT = 16
HEADING_SHARE = 1.0
TEXT_SHARE = 0.5
"""A passage under a heading with the term is about it; one that has it in its text mentions it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTerm:
    """A piece of the question that is meant as it is written, without its quotation marks.
    `bonus` is what a passage under a heading with it gains at most, on a score of 0 to 1."""

    text: str
    kind: ExactKind
    bonus: Annotated[float, Field(ge=0, le=1)]


def verbatim(chunk: Chunk, exact: Sequence[ExactTerm]) -> tuple[str, ...]:
    """The texts of those terms that stand in what is indexed of the chunk."""
    if not exact:
        return ()
    text = chunk.indexed_text.casefold()
    return tuple(term.text for term in exact if _stands_in(text, term.text))


def verbatim_bonus(chunk: Chunk, exact: Sequence[ExactTerm]) -> float:
    """The highest bonus of a term, times the share of all bonuses that the chunk earns: the
    whole of a term's in the heading right above, half of it in the text. 0 without terms."""
    whole = sum(term.bonus for term in exact)
    if not whole:
        return 0.0
    text = chunk.indexed_text.casefold()
    heading = chunk.heading_path[-1].casefold() if chunk.heading_path else ""
    earned = sum(term.bonus * _share(term.text, text, heading) for term in exact)
    return max(term.bonus for term in exact) * (earned / whole)


def _share(term: str, text: str, heading: str) -> float:
    if heading and _stands_in(heading, term):
        return HEADING_SHARE
    return TEXT_SHARE if _stands_in(text, term) else 0.0


def _stands_in(folded: str, term: str) -> bool:
    plain = _folded(term)
    return plain in folded and _pattern(plain).search(folded) is not None


@lru_cache(maxsize=4096)
def _folded(term: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", term).casefold().split())


@lru_cache(maxsize=4096)
def _pattern(plain: str) -> regex.Pattern[str]:
    """Not inside a longer word, name or number; Chinese has no words to be inside of."""
    before = r"(?<![\p{Latin}\p{Cyrillic}\p{Greek}\d_])" if _is_letter(plain[0]) else ""
    after = r"(?![\p{Latin}\p{Cyrillic}\p{Greek}\d_]|\.\d)" if _is_letter(plain[-1]) else ""
    return regex.compile(before + regex.escape(plain) + after)


def _is_letter(character: str) -> bool:
    return regex.fullmatch(r"[\p{Latin}\p{Cyrillic}\p{Greek}\d_]", character) is not None
