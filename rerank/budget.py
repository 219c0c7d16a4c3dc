"""What fits into a budget of tokens? Passages whole, or by whole sentences and said so.

Tokens are the encoder's own. Where not all passages fit, the long ones give way first: they are
shortened to those neighbouring sentences that match the question best, down to a paragraph each;
then the last passages stay out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cluster.text.terms import QueryTerm
from rerank.diversity import Choice, counts, pick, standing_out
from rerank.excerpts import Sentence, best_stretch, sentences_of
from rerank.roles import EvidenceRole
from rerank.selection import SelectionPlan

MIN_EXCERPT_TOKENS = 24
"""Less of a passage says too little."""

PARAGRAPH_TOKENS = 120
"""No passage is made shorter than that so that others may stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A candidate with its tokens and its sentences with theirs."""

    choice: Choice
    tokens: int
    sentences: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """`[start, end)` of the text of `choice` is shown; `tokens` is what that was counted as."""

    choice: Choice
    start: int
    end: int
    tokens: int
    whole_tokens: int

    @property
    def text(self) -> str:
        return self.choice.text[self.start : self.end]

    @property
    def shortened(self) -> bool:
        return self.end - self.start < len(self.choice.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaMet:
    roles: tuple[EvidenceRole, ...]
    at_least: int
    at_most: int
    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """`tokens` of all passages, at most `room_tokens`, which is the budget without its reserve;
    None where no budget was set. `left_out` candidates were good enough but not chosen.
    `counted_by`: the fingerprint of the encoder whose tokens these are, `stored` where chunks
    came with their counts (of text and headings together)."""

    tokens: int
    room_tokens: int | None
    budget_tokens: int | None
    shortened: int
    left_out: int
    quotas: tuple[QuotaMet, ...]
    counted_by: str


def texts_to_count(
    choices: Sequence[Choice], terms: Sequence[QueryTerm]
) -> tuple[list[str], list[tuple[Sentence, ...]]]:
    """Each text, then each sentence of each text; and the sentences."""
    sentences = [sentences_of(choice.text, terms) for choice in choices]
    pieces = [
        choice.text[each.start : each.end]
        for choice, found in zip(choices, sentences, strict=True)
        for each in found
    ]
    return [*(choice.text for choice in choices), *pieces], sentences


def measured(
    choices: Sequence[Choice],
    sentences: Sequence[tuple[Sentence, ...]],
    counted: Sequence[int],
) -> list[Measured]:
    """`counted` in the order of `texts_to_count`."""
    tokens = iter(counted[len(choices) :])
    return [
        Measured(
            choice=choice,
            tokens=whole,
            sentences=tuple(replace(each, tokens=next(tokens)) for each in found),
        )
        for choice, found, whole in zip(choices, sentences, counted, strict=False)
    ]


def as_stored(choices: Sequence[Choice]) -> list[Measured]:
    """By the counts that chunks were stored with; such a passage is shown whole or not at all."""
    return [Measured(choice=choice, tokens=choice.block.token_count) for choice in choices]


def fit(candidates: Sequence[Measured], *, limit: int, plan: SelectionPlan) -> list[Fitted]:
    """Best first in and out; at most `limit`, and together at most `plan.room_tokens`."""
    by_choice = {id(each.choice): each for each in candidates}
    fitted: dict[int, Fitted] = {}
    room = plan.room_tokens
    extra = plan.overhead_tokens
    cap = room if room is None else _cap([each.tokens + extra for each in candidates[:limit]], room)

    def take(choice: Choice) -> bool:
        if room is None or cap is None:
            place: Fitted | None = _whole(by_choice[id(choice)])
        else:
            left = room - sum(each.tokens + extra for each in fitted.values()) - extra
            place = _placed(by_choice[id(choice)], room=min(cap - extra, left), most=left)
        if place is not None:
            fitted[id(choice)] = place
        return place is not None

    choices = [each.choice for each in candidates]
    if plan.dynamic is not None:
        choices = standing_out(choices, plan.dynamic)
    picked = pick(choices, limit=limit, plan=plan, take=take)
    return [fitted[id(choice)] for choice in picked]


def spent(
    fitted: Sequence[Fitted], *, candidates: int, plan: SelectionPlan, counted_by: str
) -> Spent:
    found = counts(plan.quotas, [each.choice.role for each in fitted])
    return Spent(
        tokens=sum(each.tokens for each in fitted),
        room_tokens=plan.room_tokens,
        budget_tokens=plan.budget_tokens,
        shortened=sum(each.shortened for each in fitted),
        left_out=candidates - len(fitted),
        quotas=tuple(
            QuotaMet(roles=quota.roles, at_least=quota.at_least, at_most=quota.at_most, found=count)
            for quota, count in zip(plan.quotas, found, strict=True)
        ),
        counted_by=counted_by,
    )


def recounted(fitted: Sequence[Fitted], counted: Mapping[int, int]) -> list[Fitted]:
    """With exact counts for the places in `counted`."""
    return [replace(each, tokens=counted.get(at, each.tokens)) for at, each in enumerate(fitted)]


def within(fitted: Sequence[Fitted], plan: SelectionPlan) -> list[Fitted]:
    """Without the last ones that are too much."""
    kept, room = list(fitted), plan.room_tokens
    while room is not None and sum(each.tokens + plan.overhead_tokens for each in kept) > room:
        kept.pop()
    return kept


def _cap(tokens: Sequence[int], room: int) -> int:
    """The length to which the longer ones are shortened so that all fit: the level of water."""
    rest, level = room, room
    for place, count in enumerate(sorted(tokens)):
        level = rest // (len(tokens) - place)
        if count > level:
            return max(level, PARAGRAPH_TOKENS)
        rest -= count
    return room


def _whole(candidate: Measured) -> Fitted:
    return Fitted(
        choice=candidate.choice,
        start=0,
        end=len(candidate.choice.text),
        tokens=candidate.tokens,
        whole_tokens=candidate.tokens,
    )


def _placed(candidate: Measured, *, room: int, most: int) -> Fitted | None:
    """Whole if that is within `room`; else the best stretch; if it has no sentences to choose
    from, whole within `most`."""
    if candidate.tokens <= room or (not candidate.sentences and candidate.tokens <= most):
        return _whole(candidate)
    if room < MIN_EXCERPT_TOKENS:
        return None
    stretch = best_stretch(candidate.sentences, room=room)
    if stretch is None:
        return _whole(candidate) if candidate.tokens <= most else None
    start, end = stretch
    inside = [each for each in candidate.sentences if start <= each.start and each.end <= end]
    return Fitted(
        choice=candidate.choice,
        start=start,
        end=end,
        tokens=sum(each.tokens for each in inside),
        whole_tokens=candidate.tokens,
    )
