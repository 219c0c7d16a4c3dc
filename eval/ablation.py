"""What is each stage worth? The kept lists of the channels go through the pipeline once more,
each time without one of the stages; no index is asked, no question encoded twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from cluster.model import Scope
from eval.metrics import per_question
from eval.recording import remembering
from eval.records import Record
from eval.replay import replayed
from eval.results import Results
from eval.run import AT_ONCE, TOP_K, as_question, patient, units_of
from eval.scores import Values
from eval.sets import Asked, EvalSet
from eval.significance import Difference, paired
from eval.truncation import keeping_copies
from rerank.citations import CitedPassage
from rerank.fusion import FusionMethod
from serve.plan.plan import QueryPlan
from serve.service import Service

SERVED = "served"
MEASURE = "ndcg@10"
HARM = 0.005
"""A stage may not lower a set by more than this."""

_DEEP = 100
"""So many passages are looked at where bonuses are taken off again."""


def without_channel(plan: QueryPlan, *, name: str) -> QueryPlan:
    """The plan as it is where it asks nothing else: a question always has one channel."""
    rest = tuple(channel for channel in plan.channels if channel.name != name)
    return replace(plan, channels=rest) if rest else plan


def _reranked_by(plan: QueryPlan, *, name: Literal["none", "rules"]) -> QueryPlan:
    return replace(plan, rerank=replace(plan.rerank, name=name))


def _tails_kept(plan: QueryPlan) -> QueryPlan:
    return replace(plan, channels=tuple(replace(each, tail_cut=None) for each in plan.channels))


def _unchanged(plan: QueryPlan) -> QueryPlan:
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The pipeline with one thing changed. What it is worth is told against `against`."""

    name: str
    change: Callable[[QueryPlan], QueryPlan] = _unchanged
    against: str = SERVED
    fusion: FusionMethod | None = None
    windows: bool = True
    bonuses: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a set loses (a positive `difference`) when `stage` is left out. `failures` counts
    questions for which what was to take its place did not answer: then the figure says nothing."""

    dataset: str
    stage: str
    with_it: float
    without_it: float
    difference: Difference
    failures: int = 0

    @property
    def harms(self) -> bool:
        return not self.failures and self.difference.value < -HARM


VARIANTS = (
    Variant(name=SERVED),
    Variant(name="keyword", change=partial(without_channel, name="keyword")),
    Variant(name="semantic", change=partial(without_channel, name="semantic")),
    Variant(name="rerank", change=partial(_reranked_by, name="none")),
    Variant(name="late interaction", change=partial(_reranked_by, name="rules")),
    Variant(name="windows", windows=False),
    Variant(name="bonuses", bonuses=False),
    Variant(name="times", change=lambda plan: replace(plan, times=())),
    Variant(name="exact terms", change=lambda plan: replace(plan, exact=())),
    Variant(name="copies removed", change=keeping_copies),
    Variant(
        name="score fusion",
        fusion="reciprocal_rank",
        change=partial(_reranked_by, name="none"),
        against="rerank",
    ),
    Variant(
        name="tail guard",
        fusion="reciprocal_rank",
        change=lambda plan: _tails_kept(_reranked_by(plan, name="none")),
        against="score fusion",
    ),
)
"""Each names the stage that is left out or exchanged. Without `score fusion` ranks are fused,
without its tail guard afterwards; both without a reranker, which would hide them. Without `late
interaction` the rules rerank."""


async def ablate(of: EvalSet, results: Results, service: Service) -> list[Worth]:
    """One line a stage, over the questions of `results`, which were asked of this set."""
    once = remembering(service)
    asked = {each.question_id: each for each in of.questions}
    qrels = {each.question_id: each.relevant for each in results.records}
    values: dict[str, Values] = {}
    failures: dict[str, int] = {}
    for variant in (*VARIANTS, *_other_channels(results.records)):
        shown = await _run(variant, of, results.records, asked, once)
        run = {question: each.units for question, each in shown.items()}
        values[variant.name] = per_question(qrels, run)
        failures[variant.name] = sum(each.failed for each in shown.values())
    return list(_worths(of.name, values, results.records, failures))


def _other_channels(records: Sequence[Record]) -> list[Variant]:
    """The channels beside the two that always answer, where any question asked them."""
    names = sorted({name for record in records for name in record.channels})
    return [
        Variant(name=f"channel {name}", change=partial(without_channel, name=name))
        for name in names
        if name not in ("keyword", "semantic")
    ]


@dataclass(frozen=True, slots=True)
class _Shown:
    """Units, best first."""

    units: list[str]
    failed: bool


async def _run(
    variant: Variant,
    of: EvalSet,
    records: Sequence[Record],
    asked: Mapping[str, Asked],
    service: Service,
) -> dict[str, _Shown]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(record: Record) -> _Shown:
        async with slots:
            return await _again(variant, of, record, asked[record.question_id], service)

    found = await asyncio.gather(*(one(record) for record in records))
    return {record.question_id: each for record, each in zip(records, found, strict=True)}


async def _again(
    variant: Variant, of: EvalSet, record: Record, asked: Asked, service: Service
) -> _Shown:
    question = as_question(asked, scope=Scope(tenant=of.corpus.tenant), fusion=variant.fusion)
    plan = variant.change(patient(await service.plan(question)))
    if not variant.bonuses:
        plan = replace(plan, limit=_DEEP)
    found = await replayed(service, record, windows=variant.windows).search(plan)
    passages: Sequence[CitedPassage] = found.passages
    if not variant.bonuses:
        passages = sorted(passages, key=_without_bonuses, reverse=True)[:TOP_K]
    return _Shown(units_of(passages, unit=of.unit), failed=bool(found.failures))


def _without_bonuses(passage: CitedPassage) -> float:
    return passage.score - sum(passage.reasons.bonuses.values())


def _worths(
    dataset: str,
    values: Mapping[str, Values],
    records: Sequence[Record],
    failures: Mapping[str, int],
) -> Iterator[Worth]:
    against = {variant.name: variant.against for variant in VARIANTS}
    for name in values:
        if name == SERVED:
            continue
        full = _column(values[against.get(name, SERVED)], records)
        less = _column(values[name], records)
        yield Worth(
            dataset=dataset,
            stage=name,
            with_it=sum(full) / len(full) if full else 0.0,
            without_it=sum(less) / len(less) if less else 0.0,
            difference=paired(full, less),
            failures=failures[name],
        )


def _column(values: Values, records: Sequence[Record]) -> list[float]:
    return [values[record.question_id][MEASURE] for record in records]


def as_json(worth: Worth) -> dict[str, Any]:
    return {**asdict(worth), "harms": worth.harms}
