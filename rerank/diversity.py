"""Which passages go together into a small room? Enough that bind, of several kinds, no echoes.

Everything here chooses among passages of nearly equal score only: what is clearly better is never
given up for variety. Marginal relevance after Carbonell and Goldstein, SIGIR 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cluster.text.shingles import words_of
from rerank.dedup import Block
from rerank.hard_words import is_neutral, stem_of
from rerank.roles import EvidenceRole
from rerank.selection import DynamicTopK, Quota, SelectionPlan

BINDING = ("citable", "citable_with_version", "project_fact")
STANDS_OUT = 0.25
"""Of the way from the weak half of the candidates to the best one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A candidate, best first by `score`; `stems` are what it is about."""

    block: Block
    text: str
    role: EvidenceRole
    stems: frozenset[str] = field(default=frozenset())

    @property
    def score(self) -> float:
        return self.block.score

    @property
    def binds(self) -> bool:
        return self.block.passages[0].metadata.quote_policy in BINDING


Take = Callable[[Choice], bool]
"""Makes room for a candidate; False when there is none."""


def choice_of(block: Block, text: str, role: EvidenceRole) -> Choice:
    stems = frozenset(stem_of(word) for word in words_of(text) if not is_neutral(word))
    return Choice(block=block, text=text, role=role, stems=stems)


def standing_out(choices: Sequence[Choice], plan: DynamicTopK) -> list[Choice]:
    """Dynamic top-k: what stands out, of clues only the best few; then, from what does not, those
    that bind until there are enough. In the order given."""
    if not choices:
        return []
    line = _line([choice.score for choice in choices])
    kept: list[Choice] = []
    binding = clues = 0
    for choice in choices:
        enough = binding >= plan.hard_at_least
        if choice.binds and (choice.score >= line or not enough):
            kept.append(choice)
            binding += 1
        elif not choice.binds and choice.score >= line and clues < plan.clues_at_most:
            kept.append(choice)
            clues += 1
    return kept


def pick(choices: Sequence[Choice], *, limit: int, plan: SelectionPlan, take: Take) -> list[Choice]:
    """At most `limit` of the candidates (best first), in their order. `take` is asked once for
    each that is picked; one for which there is no room is passed over."""
    left, picked = list(choices), list[Choice]()
    spread = max((choices[0].score - choices[-1].score), 0.0) if choices else 0.0
    while left and len(picked) < limit:
        best = _best(left, picked, plan=plan, spread=spread)
        left.remove(best)
        if take(best):
            picked.append(best)
    places = {id(choice): at for at, choice in enumerate(choices)}
    return sorted(picked, key=lambda choice: places[id(choice)])


def counts(quotas: Sequence[Quota], roles: Sequence[EvidenceRole]) -> tuple[int, ...]:
    """How many of the roles belong to each quota."""
    return tuple(sum(role in quota.roles for role in roles) for quota in quotas)


def likeness(left: Choice, right: Choice) -> float:
    """Jaccard coefficient of what they are about."""
    both = len(left.stems & right.stems)
    return both / (len(left.stems) + len(right.stems) - both) if both else 0.0


def _line(scores: Sequence[float]) -> float:
    """Above it a score stands out."""
    ordered = sorted(scores)
    weak = ordered[: max(len(ordered) // 2, 1)]
    noise = weak[len(weak) // 2]
    return noise + STANDS_OUT * (ordered[-1] - noise)


def _best(
    left: Sequence[Choice], picked: Sequence[Choice], *, plan: SelectionPlan, spread: float
) -> Choice:
    """Of those nearly as good as the best that is left: one whose quota is not met before one
    that has none or whose quota is open, these before one whose quota is full; then by marginal
    relevance."""
    near = [each for each in left if each.score >= left[0].score - plan.near_equal * spread]
    if len(near) == 1 or not (plan.quotas or plan.diversity):
        return near[0]
    have = counts(plan.quotas, [choice.role for choice in picked])

    def worth(choice: Choice) -> tuple[int, float]:
        echo = max((likeness(choice, other) for other in picked), default=0.0)
        return _need(choice, plan.quotas, have), choice.score - plan.diversity * spread * echo

    return max(near, key=worth)


def _need(choice: Choice, quotas: Sequence[Quota], have: Sequence[int]) -> int:
    """1: wanted, 0: welcome, -1: enough of that kind."""
    for quota, count in zip(quotas, have, strict=True):
        if choice.role in quota.roles:
            return 1 if count < quota.at_least else 0 if count < quota.at_most else -1
    return 0
