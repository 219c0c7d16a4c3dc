"""Which sentences of a passage answer the question? Spans of the passage, never new text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.text.sentences import sentence_spans
from cluster.text.terms import QueryTerm, content_terms
from rerank.matched import terms_of

FIRST_SENTENCE = 0.05
"""What being the first sentence counts, as a share of the question's weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """`[start, end)` of the passage's text. `match`: the share of the weight of the question's
    content terms that the sentence has. `tokens` once they are counted."""

    start: int
    end: int
    match: float
    tokens: int = 0


def sentences_of(text: str, terms: Sequence[QueryTerm]) -> tuple[Sentence, ...]:
    """In reading order."""
    content = content_terms(terms)
    whole = sum(term.weight for term in content) or 1.0
    return tuple(
        Sentence(start=start, end=end, match=_weight(text[start:end], content) / whole)
        for start, end in sentence_spans(text)
    )


def summary_spans(sentences: Sequence[Sentence], *, most: int = 2) -> tuple[tuple[int, int], ...]:
    """Up to `most` sentences that match best, in reading order; the earlier of equals."""
    best = sorted(sentences, key=lambda each: (-_worth(each, sentences), each.start))[:most]
    useful = [each for each in best if each.match > 0] or best[:1]
    return tuple((each.start, each.end) for each in sorted(useful, key=lambda each: each.start))


def best_stretch(sentences: Sequence[Sentence], *, room: int) -> tuple[int, int] | None:
    """Where neighbouring sentences of at most `room` tokens stand that match best: it grows from
    the best sentence to the better side. None when even that sentence is too long."""
    if not sentences:
        return None
    order = sorted(range(len(sentences)), key=lambda at: (-_worth(sentences[at], sentences), at))
    start = next((at for at in order[:1] if sentences[at].tokens <= room), None)
    if start is None:
        return None
    first = last = start
    used = sentences[start].tokens
    while True:
        sides = [at for at in (last + 1, first - 1) if 0 <= at < len(sentences)]
        fitting = [at for at in sides if used + sentences[at].tokens <= room]
        if not fitting:
            return sentences[first].start, sentences[last].end
        grown = max(fitting, key=lambda at: (sentences[at].match, at))  # what follows, if equal
        used += sentences[grown].tokens
        first, last = min(first, grown), max(last, grown)


def _weight(sentence: str, terms: Sequence[QueryTerm]) -> float:
    held = terms_of(sentence)
    return sum(term.weight for term in terms if term.term in held)


def _worth(sentence: Sentence, sentences: Sequence[Sentence]) -> float:
    return sentence.match + (FIRST_SENTENCE if sentence is sentences[0] else 0.0)
