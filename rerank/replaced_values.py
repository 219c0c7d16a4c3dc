"""Which value has one text in the place where a nearly equal text has another?

Two texts are twins when most of the shorter one's word triples stand in the other. A value is a
figure, a name, or Chinese that is more than function words; a dateline in front does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

import regex

from cluster.text.function_words import function_spans, is_function_word
from cluster.text.han import to_simplified
from rerank.hard_words import is_number

ALIKE = 0.5
"""So much of the shorter text's word triples stand in the other: worth looking closer."""

MIN_COMPANY = 4
"""Equal words around a difference, at least so many."""

MAX_VALUE_WORDS = 8
MAX_DIFFERENCES = 4
MAX_WORDS = 700


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The value that each of two texts has in the same place."""

    left: str
    right: str


def differ_in_fact(left: str, right: str) -> bool:
    """Whether two texts that are nearly the same have different values somewhere: then they are
    two statements, and neither is a copy of the other."""
    if not are_twins(left, right):
        return False
    pairs = _replaced(_capitals_as_names(left), _capitals_as_names(right))
    return any(True for _ in pairs)


@dataclass(frozen=True, slots=True)
class _Word:
    folded: str
    start: int
    end: int
    name: bool


_WORD = regex.compile(
    r"\p{Han}|-?\d+(?:,\d{3}(?!\d))*(?:[.:/-]\d+)*"
    r"|[\p{L}\p{N}--\p{Han}][\p{L}\p{N}\p{M}--\p{Han}]*(?:['\u2019](?!s\b)\p{L}+)?|[%$€£¥°]",
    regex.VERSION1,
)
_DATELINE = regex.compile(
    r"\s*(?:\p{L}{3,9}\.? \d{1,2}, \d{4}|\d{4}(?:-\d{1,2}){2}|\d{4}年\d{1,2}月\d{1,2}日)"
    r"\s*(?:\.{3}|…|[|·-])"
)
"""When a page was published, as search results begin: no part of what it says."""

_YEAR = regex.compile(r"(?:1[5-9]|20)\d\d")
_HAN = regex.compile(r"\p{Han}")
_MONTH_NAMES = """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec 年 月 日
"""
_MONTHS = frozenset(_MONTH_NAMES.split())


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[_Word, ...]:
    """At most `MAX_WORDS`; a name begins with a capital letter inside its sentence."""
    simplified = to_simplified(text)
    words: list[_Word] = []
    dated = _DATELINE.match(simplified)
    for match in _WORD.finditer(simplified, dated.end() if dated else 0):
        word = match.group()
        if word == "s":
            continue
        before = simplified[: match.start()].rstrip()[-1:]
        inside = bool(before) and before not in ".!?。！？\n"
        folded = word.replace(",", "") if word[-1].isdigit() else word.casefold()
        words.append(_Word(folded, match.start(), match.end(), inside and word[0].isupper()))
        if len(words) == MAX_WORDS:
            break
    return tuple(words)


def _capitals_as_names(text: str) -> tuple[_Word, ...]:
    """Also where a sentence begins: better two statements too many than one too few."""
    return tuple(
        replace(word, name=text[word.start : word.start + 1].isupper()) for word in _words(text)
    )


@lru_cache(maxsize=512)
def _triples(text: str) -> frozenset[tuple[str, ...]]:
    folded = [word.folded for word in _words(text)]
    return frozenset(zip(folded, folded[1:], folded[2:], strict=False))


def are_twins(left: str, right: str) -> bool:
    one, other = _triples(left), _triples(right)
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) >= ALIKE * shorter


@lru_cache(maxsize=2048)
def replaced_value(left: str, right: str) -> Difference | None:
    """The one value that two nearly equal texts have different."""
    if not are_twins(left, right):
        return None
    pairs = list(_replaced(_words(left), _words(right)))
    different = {_key(a, b): (a, b) for a, b in pairs}
    if not different or len(different) > MAX_DIFFERENCES:
        return None
    if _several_things(list(different.values())):
        return None
    (mine, theirs), *_ = different.values()
    return Difference(
        left=left[mine[0].start : mine[-1].end], right=right[theirs[0].start : theirs[-1].end]
    )


_Run = Sequence[_Word]


def _key(one: _Run, other: _Run) -> tuple[str, str]:
    return " ".join(word.folded for word in one), " ".join(word.folded for word in other)


def _replaced(left: _Run, right: _Run) -> Iterator[tuple[_Run, _Run]]:
    """The runs of words that stand in each other's place, both of them values, with enough
    equal words around."""
    matcher = SequenceMatcher(
        a=[word.folded for word in left], b=[word.folded for word in right], autojunk=False
    )
    steps = _joined(matcher.get_opcodes(), left)
    for at, (kind, a, b, c, d) in enumerate(steps):
        if kind != "replace" or max(b - a, d - c) > MAX_VALUE_WORDS:
            continue
        before = steps[at - 1][2] - steps[at - 1][1] if at else 0
        after = steps[at + 1][2] - steps[at + 1][1] if at + 1 < len(steps) else 0
        mine, theirs = left[a:b], right[c:d]
        if before + after >= MIN_COMPANY and _are_values(mine, theirs):
            yield mine, theirs


_Step = tuple[str, int, int, int, int]


def _joined(steps: Sequence[_Step], left: _Run) -> list[_Step]:
    """A single equal word between two differences may belong to the value (`5 May 2019` and
    `7 May 2020`)."""
    joined: list[_Step] = []
    for place, step in enumerate(steps):
        kind, a, b, _, d = step
        inner = kind == "equal" and 0 < place < len(steps) - 1 and _inside_value(left[a:b])
        if joined and joined[-1][0] == "replace" and (kind != "equal" or inner):
            _, first, _, third, _ = joined[-1]
            joined[-1] = ("replace", first, b, third, d)
        else:
            joined.append(step)
    return joined


def _inside_value(run: _Run) -> bool:
    if len(run) != 1:
        return False
    word = run[0].folded
    return bool(_HAN.match(word)) or word in _MONTHS or word in _PARTICLES


_PARTICLES = frozenset(("de", "del", "der", "di", "du", "la", "le", "of", "van", "von"))


def _are_values(one: _Run, other: _Run) -> bool:
    """Two figures or names; of Chinese names one may have a single character more or less."""
    if not (_may_be_value(one) and _may_be_value(other)):
        return False
    return all(any(map(_sure, run)) for run in (one, other)) or _longest_han(one, other) > 1


def _sure(word: _Word) -> bool:
    return is_number(word.folded) or (word.name and not is_function_word(word.folded))


def _may_be_value(run: _Run) -> bool:
    return any(
        _sure(word) or (_HAN.match(word.folded) and not is_function_word(word.folded))
        for word in run
    )


def _longest_han(*runs: _Run) -> int:
    """Characters of content in the run that has most of them."""
    written = ("".join(w.folded for w in run if _HAN.match(w.folded)) for run in runs)
    return max(len(han) - sum(function_spans(han)) for han in written)


def _several_things(pairs: Sequence[tuple[_Run, _Run]]) -> bool:
    """A year or date beside another difference: two occasions; a name beside a figure, or two
    names: two subjects."""
    if len(pairs) == 1:
        return False
    dated = [_is_date(one) and _is_date(other) for one, other in pairs]
    figures = [all(any(is_number(w.folded) for w in run) for run in pair) for pair in pairs]
    return any(dated) or not all(figures)


def _is_date(run: _Run) -> bool:
    return any(_YEAR.fullmatch(word.folded) or word.folded in _MONTHS for word in run)
