"""What does a turn of a conversation owe to where it stands and who says it?

An answer rarely repeats the words of the question before it: a match in a neighbouring turn
counts as well, at a part. Who is named in the question is likelier to say the answer, an evening
that has the best turn has others about the same, and who asks or says little tells nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from cluster.model import StoredPassage

Matrix = NDArray[np.float32]
"""Shape `(passages, tokens of the question)`: the highest cosine of each token there."""

Numbers = NDArray[np.float64]

PREVIOUS, BEFORE_PREVIOUS, NEXT = 0.95, 0.9, 0.85
"""What a match in a neighbouring turn counts."""

KEYWORD_PREVIOUS, KEYWORD_NEXT = 0.2, 0.1

KEYWORD_OF_TURNS, COSINE_OF_TURNS = 0.7, 0.5
"""Of the usual weights: a turn is short, its words and its own vector say less."""

SPEAKER = 0.5
SESSION = 0.1
"""In standard deviations: for a turn of the one speaker who is named; of the session's best."""

LONGER, ASKING = 0.3, 0.35
"""For a turn that is by a standard deviation longer, against one that asks by one more, than the
turns of its speaker: an assistant always says more, and its user always asks."""

FEW_TURNS = 5
"""So few do not show how a speaker speaks."""

NOWHERE = -1
SMALLEST = 1e-9

_PIECE = regex.compile(r"[^.!?。！？…\n]++(?P<end>[.!?。！？…\n]*+)")
_CLOSING = "”’」』）)\"'"
_LATIN = regex.compile(r"[\p{Latin}\p{N}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Positions in the pool of the turns around each passage, `NOWHERE` where there is none."""

    before_previous: NDArray[np.int64]
    previous: NDArray[np.int64]
    next: NDArray[np.int64]


def neighbours_of(passages: Sequence[StoredPassage]) -> Neighbours:
    """Turns that follow each other in a session, as far as they are in the pool; a long turn is
    several chunks that follow each other in the same way."""
    places = {_place(passage): at for at, passage in enumerate(passages) if passage.turn}
    order = sorted(places)
    previous = np.full(len(passages), NOWHERE, dtype=np.int64)
    following = np.full(len(passages), NOWHERE, dtype=np.int64)
    for left, right in pairwise(order):
        if left[:4] == right[:4] and right[4] - left[4] <= 1:
            previous[places[right]] = places[left]
            following[places[left]] = places[right]
    second = np.where(previous == NOWHERE, NOWHERE, previous[previous])
    return Neighbours(before_previous=second, previous=previous, next=following)


def in_windows(found: Matrix, around: Neighbours) -> Matrix:
    """Each token may match in a neighbouring turn as well, at a part of its similarity."""
    best = found
    for weight, places in (
        (PREVIOUS, around.previous),
        (BEFORE_PREVIOUS, around.before_previous),
        (NEXT, around.next),
    ):
        best = np.fmax(best, np.float32(weight) * _at(found, places))
    return best


def words_in_windows(keyword: Numbers, around: Neighbours) -> Numbers:
    """BM25 of a turn with a part of its neighbours'."""
    before = np.nan_to_num(_at(keyword, around.previous))
    after = np.nan_to_num(_at(keyword, around.next))
    total: Numbers = keyword + KEYWORD_PREVIOUS * before + KEYWORD_NEXT * after
    return total


def mostly_turns(passages: Sequence[StoredPassage]) -> bool:
    return 2 * sum(passage.turn is not None for passage in passages) > len(passages)


def of_the_named_speaker(passages: Sequence[StoredPassage], question: str) -> Numbers:
    """For the turns of the one speaker whom the question names; nothing where it names several."""
    speakers = {passage.turn.speaker for passage in passages if passage.turn}
    named = {speaker for speaker in speakers if _names(question, speaker)}
    if len(named) != 1:
        return np.zeros(len(passages))
    return np.array(
        [SPEAKER if each.turn and each.turn.speaker in named else 0.0 for each in passages]
    )


def of_the_session(passages: Sequence[StoredPassage], scores: Numbers) -> Numbers:
    """A part of the best score of the same session, where that is above the pool's mean."""
    best: dict[tuple[str, ...], float] = {}
    for passage, score in zip(passages, scores, strict=True):
        if passage.turn:
            session = _place(passage)[:4]
            best[session] = max(best.get(session, 0.0), float(score))
    return np.array([SESSION * best[_place(each)[:4]] if each.turn else 0.0 for each in passages])


def of_what_is_told(passages: Sequence[StoredPassage]) -> Numbers:
    """For a turn that tells more than its speaker's others: an answer is seldom a question or a
    word of thanks. Nothing for records that no speaker says."""
    turns: dict[str, list[int]] = {}
    for at, passage in enumerate(passages):
        if passage.turn and passage.turn.speaker:
            turns.setdefault(passage.turn.speaker, []).append(at)
    told = np.zeros(len(passages))
    for places in turns.values():
        if len(places) >= FEW_TURNS:
            texts = [passages[at].chunk.text for at in places]
            longer = _deviations([math.log1p(len(text)) for text in texts])
            told[places] = LONGER * longer - ASKING * _deviations(
                [asked_in(text) for text in texts]
            )
    return told


def asked_in(text: str) -> float:
    """The share of a text that is questions, 0 to 1."""
    if "?" not in text and "？" not in text:
        return 0.0
    asked = [match.end() - match.start() for match in _PIECE.finditer(text) if _asks(text, match)]
    return sum(asked) / len(text)


def _asks(text: str, piece: regex.Match[str]) -> bool:
    """A `?` inside a word or an address asks nothing."""
    end, after = piece["end"], text[piece.end() : piece.end() + 1]
    return "？" in end or ("?" in end and (not after or after.isspace() or after in _CLOSING))


def _deviations(values: Sequence[float]) -> Numbers:
    spread = float(np.std(values))
    if spread <= SMALLEST:
        return np.zeros(len(values))
    deviations: Numbers = (np.array(values) - np.mean(values)) / spread
    return deviations


def _names(question: str, speaker: str) -> bool:
    """As a whole word, where words are parted by spaces."""
    name = regex.escape(speaker.casefold())
    if not name:
        return False
    edge = r"\b" if _LATIN.search(speaker) else ""
    return regex.search(f"{edge}{name}{edge}", question.casefold()) is not None


def _place(passage: StoredPassage) -> tuple[str, str, str, str, int, int]:
    turn = passage.turn
    if turn is None:
        return ("", "", "", "", 0, 0)
    owner = passage.owner or ""
    ordinal = passage.chunk.ordinal
    return (owner, passage.source, turn.conversation, turn.session, turn.ordinal, ordinal)


def _at(values: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """The rows at these places, NaN where there is none."""
    taken: NDArray[Any] = values[np.maximum(places, 0)]
    taken[places == NOWHERE] = np.nan
    return taken
