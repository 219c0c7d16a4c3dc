"""Which passages of one answer contradict each other?

Two passages conflict when both speak of what the question asks and one has another value in the
place where the other has its own: the same sentence with a figure or a name replaced, or, where
the question asks for a figure, different figures in the same company. What differs must be one
thing: sentences that differ in a year *and* a figure tell of two occasions, those that differ in
a name *and* a figure of two subjects. Where nothing is sure nothing is flagged.

Who wins is told by what is known of the sources, never by what they say: the higher authority,
else the later date. Without a difference in these nobody wins and both are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations

import regex

from cluster.text.function_words import function_spans, is_function_word
from cluster.text.han import to_simplified
from cluster.text.sentences import sentence_spans
from cluster.text.terms import content_terms, document_terms, query_terms
from cluster.text.values import Value, read_values, same_value
from rerank.citations import Citation, CitedPassage, ConflictsWith, Ground, Standing
from rerank.hard_words import is_number

MORE_AUTHORITY = 0.1
"""A source wins by authority when it is trusted at least so much more."""

LATER = timedelta(days=1)
ALIKE = 0.5
"""So much of the shorter text's word triples stand in the other: worth looking closer."""

MIN_COMPANY = 4
"""Equal words around a difference, at least so many."""

MAX_VALUE_WORDS = 8
MAX_DIFFERENCES = 4
MAX_WORDS = 700
SPEAKS = 0.5
"""So much of what the question is about stands in a sentence that answers it."""

TWIN_SPEAKS = 0.2
"""The same for texts that are equal but for one value: what differs is then plain."""

MAX_PASSAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The value that each of two texts has in the same place."""

    left: str
    right: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Places in the list of passages, from 0; `winner` is one of them."""

    left: int
    right: int
    difference: Difference
    winner: int | None
    by: Ground | None


def conflicts_in(question: str, passages: Sequence[CitedPassage]) -> tuple[Conflict, ...]:
    """The pairs among the first `MAX_PASSAGES` that conflict in what the question asks. Versions
    of one document say different things rightly, and are no conflict."""
    found = []
    for (one, left), (other, right) in combinations(enumerate(passages[:MAX_PASSAGES]), 2):
        if _other_edition(left.citation, right.citation):
            continue
        difference = difference_of(left.text, right.text, question=question)
        if difference is not None:
            winner, by = _winner(left.citation, right.citation)
            place = None if winner is None else (one, other)[winner]
            found.append(
                Conflict(left=one, right=other, difference=difference, winner=place, by=by)
            )
    return tuple(found)


def order_by_winners(count: int, conflicts: Sequence[Conflict]) -> tuple[int, ...]:
    """The places 0 to `count` - 1 in an order in which whoever loses a conflict stands behind
    its winner; everybody else keeps the place."""
    order = list(range(count))
    for conflict in conflicts:
        if conflict.winner is None:
            continue
        loser = conflict.right if conflict.winner == conflict.left else conflict.left
        ahead, behind = order.index(loser), order.index(conflict.winner)
        if ahead < behind:
            order.insert(behind, order.pop(ahead))
    return tuple(order)


def with_conflicts(question: str, passages: Sequence[CitedPassage]) -> tuple[CitedPassage, ...]:
    """The passages with their conflicts told, those that lose behind their winners, ranks
    counted anew from the first's. Scores stay as they were."""
    conflicts = conflicts_in(question, passages)
    if not conflicts:
        return tuple(passages)
    order = order_by_winners(len(passages), conflicts)
    first = passages[0].rank
    ranks = {place: first + at for at, place in enumerate(order)}
    told: dict[int, list[ConflictsWith]] = {}
    for conflict in conflicts:
        for mine, theirs in ((conflict.left, conflict.right), (conflict.right, conflict.left)):
            said = conflict.difference
            left_first = mine == conflict.left
            told.setdefault(mine, []).append(
                ConflictsWith(
                    rank=ranks[theirs],
                    chunk_id=passages[theirs].citation.chunk_ids[0],
                    mine=said.left if left_first else said.right,
                    theirs=said.right if left_first else said.left,
                    standing=_standing(conflict, mine),
                    by=conflict.by,
                )
            )
    return tuple(
        replace(
            passages[place],
            rank=ranks[place],
            conflicts_with=tuple(sorted(told.get(place, ()), key=lambda each: each.rank)),
        )
        for place in order
    )


def _standing(conflict: Conflict, place: int) -> Standing:
    if conflict.winner is None:
        return "open"
    return "wins" if conflict.winner == place else "loses"


def differ_in_fact(left: str, right: str) -> bool:
    """Whether two texts that are nearly the same differ in a figure or a name: then they are two
    statements, and neither is a copy of the other."""
    return _twins(left, right) is not None


def difference_of(left: str, right: str, *, question: str) -> Difference | None:
    """What the two texts say differently of what the question asks."""
    asked = _content(question)
    if not _are_twins(left, right):
        return _figures(left, right, question, asked)
    twin = _twins(left, right)
    answers = twin is not None and _answers(twin, left, right, question, asked)
    return twin if answers else None


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


@lru_cache(maxsize=512)
def _triples(text: str) -> frozenset[tuple[str, ...]]:
    folded = [word.folded for word in _words(text)]
    return frozenset(zip(folded, folded[1:], folded[2:], strict=False))


def _are_twins(left: str, right: str) -> bool:
    one, other = _triples(left), _triples(right)
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) >= ALIKE * shorter


@lru_cache(maxsize=2048)
def _twins(left: str, right: str) -> Difference | None:
    """The one value that two nearly equal texts have different."""
    if not _are_twins(left, right):
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


def _answers(
    difference: Difference, left: str, right: str, question: str, asked: frozenset[str]
) -> bool:
    """Is what differs in a sentence about the question, and not named by the question?"""
    terms = frozenset(document_terms(question))
    for value in (difference.left, difference.right):
        own = {term.term for term in content_terms(query_terms(value))}
        if own and own <= terms:
            return False
    spoken = max(_speaks(left, difference.left, asked), _speaks(right, difference.right, asked))
    return spoken >= TWIN_SPEAKS or not asked


def _speaks(text: str, value: str, asked: frozenset[str]) -> float:
    """The share of the question in the sentence with the value and those beside it."""
    if not asked:
        return 1.0
    place = text.find(value)
    spans = sentence_spans(text)
    at = next((n for n, (start, end) in enumerate(spans) if start <= place < end), 0)
    near = spans[max(at - 1, 0) : at + 2]
    there = document_terms(text[near[0][0] : near[-1][1]]) if near else ()
    return len(asked & frozenset(there)) / len(asked)


@lru_cache(maxsize=256)
def _content(question: str) -> frozenset[str]:
    return frozenset(term.term for term in content_terms(query_terms(question)))


_ASKS_FIGURE = regex.compile(
    r"\bhow (?:many|much|old|tall|long|high|far|large|big)\b|\bpopulation\b|\bwhat (?:is the )?"
    r"(?:number|height|length|area|size|price|percentage)\b|多少|几[个岁天年次人]|人口|多[高长大远重]",
    regex.IGNORECASE,
)
_ASKS_YEAR = regex.compile(r"\b(?:when|what year|which year)\b|哪一?年|何时|什么时候|几年", regex.I)


def _figures(left: str, right: str, question: str, asked: frozenset[str]) -> Difference | None:
    """Different figures in the sentences that answer a question for a figure, one in each."""
    wants_year = _ASKS_YEAR.search(question) is not None
    if not wants_year and not _ASKS_FIGURE.search(question):
        return None
    mine = _figure(left, asked, year=wants_year)
    theirs = _figure(right, asked, year=wants_year)
    if mine is None or theirs is None or same_value(mine, theirs):
        return None
    return Difference(left=mine.text, right=theirs.text)


def _figure(text: str, asked: frozenset[str], *, year: bool) -> Value | None:
    """The only figure (or year) of the sentence that has most of the question."""
    best, most = None, SPEAKS
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        share = len(asked & frozenset(document_terms(sentence))) / max(len(asked), 1)
        if share > most or (share == most and best is None):
            best, most = sentence, share
    if best is None:
        return None
    figures = [each for each in read_values(best) if each.kind in ("number", "date")]
    wanted = [each for each in figures if _is_year(each) == year]
    return wanted[0] if len(wanted) == 1 else None


def _is_year(value: Value) -> bool:
    if value.kind == "date":
        return True
    return not value.unit and _YEAR.fullmatch(value.text) is not None


def _other_edition(left: Citation, right: Citation) -> bool:
    return left.document_id == right.document_id and left.version != right.version


def _winner(left: Citation, right: Citation) -> tuple[int | None, Ground | None]:
    """0 or 1, and by what."""
    lead = left.authority - right.authority
    if abs(lead) >= MORE_AUTHORITY:
        return (0 if lead > 0 else 1), "authority"
    mine, theirs = _moment(left), _moment(right)
    if mine is None or theirs is None or abs(mine - theirs) < LATER:
        return None, None
    return (0 if mine > theirs else 1), "date"


def _moment(citation: Citation) -> datetime | None:
    return citation.said_at or citation.updated_at or citation.published_at
