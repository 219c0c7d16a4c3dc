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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import combinations

import regex

from cluster.text.sentences import sentence_spans
from cluster.text.terms import content_terms, document_terms, query_terms
from cluster.text.values import Value, read_values, same_value
from rerank.citations import Citation, CitedPassage, ConflictsWith, Ground, Standing
from rerank.replaced_values import Difference, are_twins, replaced_value

MORE_AUTHORITY = 0.1
"""A source wins by authority when it is trusted at least so much more."""

LATER = timedelta(days=1)
SPEAKS = 0.5
"""So much of what the question is about stands in a sentence that answers it."""

TWIN_SPEAKS = 0.2
"""The same for texts that are equal but for one value: what differs is then plain."""

MAX_PASSAGES = 20


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


def difference_of(left: str, right: str, *, question: str) -> Difference | None:
    """What the two texts say differently of what the question asks."""
    asked = _content(question)
    if not are_twins(left, right):
        return _figures(left, right, question, asked)
    twin = replaced_value(left, right)
    answers = twin is not None and _answers(twin, left, right, question, asked)
    return twin if answers else None


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


@lru_cache(maxsize=1024)
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
    return not value.unit and regex.fullmatch(r"(?:1[5-9]|20)\d\d", value.text) is not None


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
