"""What is chosen from good candidates, and how: the plan of it as a value.

Plain search shows the best passages without copies of one another. A budget of tokens or a view
asks for more: enough passages that bind and few that are clues (dynamic top-k), evidence of
several kinds (quotas), no two that say nearly the same (maximal marginal relevance), all within
the budget. All of that chooses only among passages of nearly equal rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from rerank.dedup import Block, best_blocks
from rerank.near_copies import SIMILAR, without_copies
from rerank.quoting import USUAL_LIMITS, QuoteLimits
from rerank.reranker import MOST_S
from rerank.roles import EvidenceRole

View = Literal["plain", "researcher", "writer", "reviewer"]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=1000)]

RECALL = 20
"""So many passages at least are there to choose from."""

MIN_BUDGET = 64
MAX_BUDGET = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Of passages with one of these roles at least and at most so many."""

    roles: Annotated[tuple[EvidenceRole, ...], Field(min_length=1, max_length=8)]
    at_least: Count
    at_most: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicTopK:
    """As many passages as stand out, until there are `hard_at_least` that bind (may be cited, or
    are facts of the project), and of clues the best `clues_at_most`."""

    hard_at_least: Count = 3
    clues_at_most: Count = 3


USUAL_QUOTAS = (
    Quota(roles=("definition", "mechanism"), at_least=1, at_most=2),
    Quota(roles=("project_fact", "changelog"), at_least=2, at_most=3),
    Quota(roles=("counter_example", "boundary"), at_least=1, at_most=2),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionPlan:
    """`budget_tokens` of the encoder's tokens, of which the share `reserve` stays free for what
    the reader adds; `overhead_tokens` is what each passage takes beside its text. `similar`: the
    likeness above which passages are copies. Of each passage shown, up to `known_copies` others
    that were no candidates are told of, if that takes no longer than `known_copies_s`: an answer
    is worth more than its clues. `diversity` is what full likeness to a chosen
    passage costs, `near_equal` how far apart scores are that count as nearly equal; both as
    shares of the distance between the best and the last candidate."""

    view: View = "plain"
    similar: Share = SIMILAR
    budget_tokens: Annotated[int, Field(ge=MIN_BUDGET, le=MAX_BUDGET)] | None = None
    reserve: Annotated[float, Field(ge=0, lt=1)] = 0.3
    overhead_tokens: Count = 0
    known_copies: Annotated[int, Field(ge=0, le=20)] = 5
    known_copies_s: Annotated[float, Field(gt=0, le=MOST_S)] = 0.3
    quotas: Annotated[tuple[Quota, ...], Field(max_length=8)] = ()
    dynamic: DynamicTopK | None = None
    diversity: Share = 0.0
    near_equal: Share = 0.1
    quotes: QuoteLimits = USUAL_LIMITS

    @property
    def chooses(self) -> bool:
        """More than the best passages in their order."""
        return bool(self.budget_tokens or self.quotas or self.dynamic or self.diversity)

    @property
    def room_tokens(self) -> int | None:
        """What passages may take."""
        if self.budget_tokens is None:
            return None
        return int(self.budget_tokens * (1 - self.reserve))


USUAL_SELECTION = SelectionPlan()


def shortlist(blocks: Sequence[Block], *, limit: int, plan: SelectionPlan) -> list[Block]:
    """The best blocks without copies, neighbours merged: what is shown, or what there is to
    choose from. Its beginning does not depend on `limit`."""
    wanted = max(limit, RECALL) if plan.chooses else limit
    return best_blocks(without_copies(blocks, similar=plan.similar), limit=wanted)
