"""What a caller asks, and what may be known of the stored data before a plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.filters import Filter
from cluster.model import DocumentKind, Scope
from rerank.fusion import FusionMethod
from rerank.kinds import KindBudget
from rerank.reranker import RerankPlan
from rerank.selection import USUAL_SELECTION, SelectionPlan
from serve.plan.suggestion import Suggestion
from serve.plan.versions import KnownEdition


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a caller may say. `channels` empty: the planner chooses. Times in the text are read
    from `now` in `zone`, a name of the tz database. `as_of`: only what was there before that
    moment answers, each document by its highest edition of then. `rerank` None: as the service
    usually does. `kinds` empty: all; `budgets` empty: whatever is best."""

    text: str
    scope: Scope
    limit: int
    now: datetime
    deadline_s: float
    where: Filter | None = None
    version: str | None = None
    as_of: datetime | None = None
    channels: tuple[str, ...] = ()
    fusion: FusionMethod = "score"
    zone: str = "UTC"
    selection: SelectionPlan = USUAL_SELECTION
    rerank: RerankPlan | None = None
    page: int = 1
    kinds: tuple[DocumentKind, ...] = ()
    budgets: tuple[KindBudget, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the rules may know beside the question: the stored editions; of the filters that a
    question only hints at, those that something visible fits; what a language model suggests,
    and notes on that."""

    editions: Sequence[KnownEdition] = ()
    fitting: frozenset[Filter] = frozenset()
    suggestion: Suggestion | None = None
    notes: tuple[str, ...] = ()
