"""What is lost when the best twenty passages have to go into half of their tokens?

    python -m eval.truncation [SET…] [--questions 300]

Before: the best twenty as they rank, copies and all. After: the same question with a budget of
half of their tokens. Needs the local stack and sets that were ingested by `palimpsest eval`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.errors import ModelError
from cluster.model import Scope
from cluster.settings import load_settings
from eval.duplicates import repeated
from eval.metrics import per_question
from eval.open import open_service
from eval.recording import remembering
from eval.run import AT_ONCE, as_question, patient, units_of
from eval.sets import ORDER, Asked, EvalSet, Unit, read_folder, sample
from eval.significance import Difference, paired
from serve.counting import CountTokens
from serve.plan.plan import QueryPlan
from serve.selecting import selection_of
from serve.service import Service

TOP = 20
MEASURE = "ndcg@10"
MAX_LOSS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    units: tuple[str, ...]
    texts: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """Over all questions of a set; `change` is of nDCG@10, after less before. Shares are of
    passages that are more than 85 % similar to an earlier one."""

    dataset: str
    change: Difference
    passages_before: int
    passages_after: int
    tokens_before: int
    tokens_after: int
    repeated_before: float
    repeated_after: float


async def truncate(of: EvalSet, questions: Sequence[Asked], service: Service) -> Truncated:
    told = remembering(service)
    count = told.generations.searched.count
    if count is None:
        raise ModelError("this encoder counts no tokens; open one that does")
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(question: Asked) -> tuple[Shown, Shown]:
        async with slots:
            return await _both(of, question, told, count)

    pairs = await asyncio.gather(*(one(question) for question in questions))
    return _compared(of.name, questions, pairs)


async def _both(
    of: EvalSet, question: Asked, service: Service, count: CountTokens
) -> tuple[Shown, Shown]:
    plan = await service.plan(as_question(question, scope=Scope(tenant=of.corpus.tenant)))
    plan = replace(patient(plan), limit=TOP)
    before = await _shown(keeping_copies(plan), service, count, unit=of.unit)
    half = halved(plan, tokens=before.tokens, service=service)
    return before, await _shown(half, service, count, unit=of.unit)


def keeping_copies(plan: QueryPlan) -> QueryPlan:
    return replace(plan, selection=replace(plan.selection, similar=1.0))


def halved(plan: QueryPlan, *, tokens: int, service: Service) -> QueryPlan:
    """The plan with room for half of `tokens`; the budget is larger by its reserve."""
    settings = service.settings.selection
    budget = max(64, round(tokens / 2 / (1 - settings.reserve)))
    return replace(plan, selection=selection_of("plain", budget_tokens=budget, settings=settings))


async def _shown(plan: QueryPlan, service: Service, count: CountTokens, *, unit: Unit) -> Shown:
    passages = (await service.search(plan)).passages
    texts = tuple(passage.text for passage in passages)
    return Shown(
        units=tuple(units_of(passages, unit=unit)),
        texts=texts,
        tokens=sum(await count(texts)) if texts else 0,
    )


def _compared(
    dataset: str, questions: Sequence[Asked], pairs: Sequence[tuple[Shown, Shown]]
) -> Truncated:
    before, after = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Truncated(
        dataset=dataset,
        change=paired(_values(questions, after), _values(questions, before)),
        passages_before=sum(len(each.texts) for each in before),
        passages_after=sum(len(each.texts) for each in after),
        tokens_before=sum(each.tokens for each in before),
        tokens_after=sum(each.tokens for each in after),
        repeated_before=_repeated_share(before),
        repeated_after=_repeated_share(after),
    )


def _values(questions: Sequence[Asked], shown: Sequence[Shown]) -> list[float]:
    qrels = {each.question_id: each.relevant for each in questions}
    run: Mapping[str, Sequence[str]] = {
        question.question_id: each.units for question, each in zip(questions, shown, strict=True)
    }
    values = per_question(qrels, run)
    return [values[each.question_id][MEASURE] for each in questions]


def _repeated_share(shown: Sequence[Shown]) -> float:
    passages = sum(len(each.texts) for each in shown)
    return sum(repeated(each.texts) for each in shown) / passages if passages else 0.0


async def _run(folders: Sequence[Path], *, questions: int) -> bool:
    enough = True
    async with open_service(load_settings()) as service:
        for of in (each for folder in folders for each in read_folder(folder)):
            told = await truncate(of, sample(of.questions, limit=questions), service)
            enough = enough and told.change.value >= -MAX_LOSS
            print(_line(told), flush=True)
    return enough


def _line(told: Truncated) -> str:
    change = told.change
    return (
        f"{told.dataset:<14} nDCG@10 {change.value * 100:+.2f} points ({change.low * 100:+.2f} to "
        f"{change.high * 100:+.2f}); {told.tokens_before:,} -> {told.tokens_after:,} tokens, "
        f"{told.passages_before:,} -> {told.passages_after:,} passages, repeated "
        f"{told.repeated_before:.1%} -> {told.repeated_after:.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", type=Path, help="folders; all known ones if none")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    folders = arguments.sets or [arguments.data / name for name in ORDER]
    if not asyncio.run(_run(folders, questions=arguments.questions)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
