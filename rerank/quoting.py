"""How much of a passage may be quoted, and what must be said with it?

    citable                in full
    citable_with_version   in full, with its version
    project_fact           in full, as a fact of the project
    clue                   a few words only; check the primary source before relying on it
    do_not_quote           not at all: say it in other words

A length is counted in words; in Chinese and other writing without spaces in characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import regex
from pydantic import Field

from cluster.model import QuotePolicy
from cluster.text.sentences import sentence_spans

Length = Annotated[int, Field(ge=0, le=100_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteLimits:
    """Longest quote of a `clue`, and of everything else that may be quoted (0: no limit)."""

    clue_words: Length = 30
    clue_characters: Length = 60
    words: Length = 0
    characters: Length = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """`start` and `end` are characters of the stored text, as in the citation; what lies between
    may be quoted (equal: nothing). `with_version` must be named. `reason` says why it is not
    the whole passage, "" when it is."""

    allowed: bool
    start: int
    end: int
    shortened: bool
    with_version: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteVerdict:
    """Whether words that somebody wrote as a quotation may stand."""

    allowed: bool
    reason: str


USUAL_LIMITS = QuoteLimits()

_UNSPACED_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED = regex.compile(f"[{_UNSPACED_SCRIPTS}]")
_LETTER = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED_SCRIPTS}]]"
_INNER = rf"[[\p{{L}}\p{{N}}\p{{M}}_'’-]--[{_UNSPACED_SCRIPTS}]]"
_WORD = regex.compile(
    rf"[{_UNSPACED_SCRIPTS}]|{_LETTER}{_INNER}*(?:[.,:/](?={_LETTER}){_INNER}+)*", regex.V1
)


def quote_of(
    text: str,
    *,
    start: int,
    policy: QuotePolicy,
    version: str | None,
    best: Sequence[tuple[int, int]] = (),
    limits: QuoteLimits = USUAL_LIMITS,
) -> Quote:
    """What may be quoted of a passage that begins at character `start` of the stored text.

    A quote that must be shorter than the passage begins with the first of the `best` spans (of
    `text`; by default its first sentence) and ends between words."""
    whole = (start, start + len(text))
    if policy == "do_not_quote":
        return Quote(
            allowed=False,
            start=start,
            end=start,
            shortened=True,
            with_version=None,
            reason="the source does not allow quotes; say it in other words",
        )
    named = version if policy == "citable_with_version" else None
    most_words, most_characters = _limits(policy, limits)
    if _fits(text, most_words, most_characters):
        return Quote(
            allowed=True,
            start=whole[0],
            end=whole[1],
            shortened=False,
            with_version=named,
            reason="",
        )
    first = (best or sentence_spans(text) or [(0, len(text))])[0]
    end = _cut(text, first[0], most_words, most_characters)
    return Quote(
        allowed=end > first[0],
        start=start + first[0],
        end=start + end,
        shortened=True,
        with_version=named,
        reason=_why(policy, most_words, most_characters),
    )


def judge_quote(
    words: str,
    *,
    policy: QuotePolicy,
    version: str | None = None,
    says_version: bool = False,
    limits: QuoteLimits = USUAL_LIMITS,
) -> QuoteVerdict:
    """Whether `words` may be quoted from a source of this policy; `says_version` when the quote
    comes with its version."""
    if policy == "do_not_quote":
        return QuoteVerdict(
            allowed=False, reason="the source does not allow quotes; say it in other words"
        )
    if not _fits(words, *_limits(policy, limits)):
        return QuoteVerdict(allowed=False, reason=_why(policy, *_limits(policy, limits)))
    if policy == "citable_with_version" and version and not says_version:
        return QuoteVerdict(allowed=False, reason=f"name the version it is quoted from: {version}")
    return QuoteVerdict(allowed=True, reason="")


def length_of(text: str) -> tuple[int, int]:
    """Words of writing with spaces, and characters of writing without."""
    found = _WORD.findall(text)
    characters = sum(_UNSPACED.match(each) is not None for each in found)
    return len(found) - characters, characters


def _limits(policy: QuotePolicy, limits: QuoteLimits) -> tuple[int, int]:
    if policy == "clue":
        return limits.clue_words, limits.clue_characters
    return limits.words, limits.characters


def _share(words: int, characters: int, most_words: int, most_characters: int) -> float:
    """Of the whole allowance; mixed writing uses a part of both. No limit (0, 0): never full."""
    used = words / most_words if most_words else 0.0
    return used + (characters / most_characters if most_characters else 0.0)


def _fits(text: str, most_words: int, most_characters: int) -> bool:
    return _share(*length_of(text), most_words, most_characters) <= 1.0


def _cut(text: str, start: int, most_words: int, most_characters: int) -> int:
    """The end of the longest beginning within the limits, between words, and with the
    punctuation that ends a sentence."""
    words = characters = 0
    end = start
    for match in _WORD.finditer(text, start):
        unspaced = _UNSPACED.match(match.group()) is not None
        words, characters = words + (not unspaced), characters + unspaced
        if _share(words, characters, most_words, most_characters) > 1.0:
            break
        end = match.end()
    closing = regex.compile(r"[.!?。！？”\"’)]+").match(text, end)
    return closing.end() if closing and end > start else end


def _why(policy: QuotePolicy, most_words: int, most_characters: int) -> str:
    told = f"at most {most_words} words or {most_characters} Chinese characters"
    if policy == "clue":
        return f"a clue, not a source: {told} of it, and check the primary source"
    return f"{told} may be quoted"
