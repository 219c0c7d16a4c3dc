"""Conflicting passages: what is shown of them, who goes first, and whether it is said.

    python -m eval.conflicts [--data ../shared/data] [--questions 300]

`ramdocs` has no dates and no sources: five passages are shown, those that answer before noise, and
answers that differ are told as a conflict. `rgb_fact_conflict` is ingested twice, once with the
right passages newer and of higher authority, once with the wrong ones: who goes first follows
that. Needs the local stack and ramdocs, ingested by `palimpsest eval`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from cluster.model import Scope
from cluster.settings import load_settings
from eval.datasets import read_lines
from eval.open import open_service
from eval.recording import remembering
from eval.run import AT_ONCE, as_question, patient
from eval.sets import Asked, Corpus, EvalSet, read_folder, sample
from eval.take_in import take_in
from rerank.citations import CitedPassage
from serve.plan.plan import QueryPlan
from serve.service import Service

TOP = 5
SHOWN = 10
Side = Literal["right", "wrong"]
SIDES: tuple[Side, Side] = ("right", "wrong")

STRONG: Mapping[str, Any] = {
    "authority": 0.9, "published_at": "2025-06-01", "source_type": "official_doc",
}  # fmt: skip
WEAK: Mapping[str, Any] = {"authority": 0.2, "published_at": "2021-03-01", "source_type": "blog"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a passage is to one question: `correct`, `misinfo`, `noise`; and its answer."""

    kind: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Five:
    """The first five passages of one question. `other` are passages of other questions;
    `differ`: they give more than one answer; `flagged`: a conflict is told."""

    kinds: Mapping[str, int]
    shown: int
    differ: bool
    flagged: bool


def labels_of(folder: Path) -> dict[str, dict[str, Label]]:
    """Question id -> document id -> label; only read here, never ingested."""
    return {
        query["query_id"]: {
            each["doc_id"]: Label(kind=each["type"], answer=each["answer"])
            for each in query["documents"]
        }
        for _, query in read_lines(folder / "queries.jsonl")
    }


def five_of(passages: Sequence[CitedPassage], labels: Mapping[str, Label]) -> Five:
    first = passages[:TOP]
    known = [labels[each.citation.path] for each in first if each.citation.path in labels]
    kinds = Counter(label.kind for label in known)
    kinds["other"] = len(first) - len(known)
    answers = {label.answer.casefold() for label in known if label.kind in ("correct", "misinfo")}
    return Five(
        kinds=kinds,
        shown=len(first),
        differ=len(answers) > 1,
        flagged=any(each.conflicts_with for each in first),
    )


def plain_ranks(plan: QueryPlan) -> QueryPlan:
    """Reciprocal ranks of the two channels with equal weights, nothing else."""
    channels = tuple(
        replace(each, weight=1.0, tail_cut=None)
        for each in plan.channels
        if each.name in ("keyword", "semantic")
    )
    return replace(
        plan,
        channels=channels,
        fusion="reciprocal_rank",
        rerank=replace(plan.rerank, name="none"),
        selection=replace(plan.selection, similar=1.0),
    )


async def fives(
    of: EvalSet,
    questions: Sequence[Asked],
    labels: Mapping[str, Mapping[str, Label]],
    service: Service,
    *,
    plain: bool,
) -> list[Five]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(asked: Asked) -> Five:
        async with slots:
            plan = await service.plan(as_question(asked, scope=Scope(tenant=of.corpus.tenant)))
            plan = replace(patient(plan), limit=TOP)
            found = await service.search(plain_ranks(plan) if plain else plan)
            return five_of(found.passages, labels[asked.question_id])

    return list(await asyncio.gather(*(one(asked) for asked in questions)))


def ramdocs_lines(name: str, found: Sequence[Five]) -> list[str]:
    total = sum(five.shown for five in found)
    counts: Counter[str] = Counter()
    for five in found:
        counts.update(five.kinds)
    shares = ", ".join(
        f"{kind} {counts[kind]:,} ({counts[kind] / max(total, 1):.1%})"
        for kind in ("correct", "misinfo", "noise", "other")
    )
    differing = [five for five in found if five.differ]
    agreeing = [five for five in found if not five.differ]
    told = sum(five.flagged for five in differing), sum(five.flagged for five in agreeing)
    full = sum(five.shown == TOP for five in found)
    flags = (
        f"five passages {full:,} of {len(found):,} times; conflict told in "
        f"{told[0]:,} of {len(differing):,} answers that differ, in {told[1]:,} of "
        f"{len(agreeing):,} that do not"
    )
    return [f"{name}: {shares}", f"{'':{len(name)}}  {flags}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """One question with passages for two answers. `first` is the side of the best passage,
    `both` whether each side is shown, `told` whether a conflict between them is."""

    favoured: Side
    first: Side | None
    both: bool
    told: bool


def duel_corpus(rows: Sequence[Mapping[str, Any]], *, favoured: Side) -> Corpus:
    lines = tuple(
        {
            "doc_id": f"{row['id']}/{side}/{number}",
            "text": text,
            "language": row["lang"],
            **(STRONG if side == favoured else WEAK),
        }
        for row in rows
        for side in SIDES
        for number, text in enumerate(row[f"{side}_docs"])
    )
    return Corpus(name=f"fact-conflict-{favoured}", file=Path(), documents=len(lines), lines=lines)


def duel_of(passages: Sequence[CitedPassage], *, question_id: str, favoured: Side) -> Duel:
    sides = [(side_of(each, question_id), each) for each in passages]
    shown = [side for side, _ in sides if side is not None]
    ranks = {each.rank: side for side, each in sides}
    return Duel(
        favoured=favoured,
        first=shown[0] if shown else None,
        both=set(shown) == set(SIDES),
        told=any(
            {side, ranks.get(other.rank)} == set(SIDES)
            for side, each in sides
            for other in each.conflicts_with
        ),
    )


def side_of(passage: CitedPassage, question_id: str) -> Side | None:
    """`None`: it is about another question."""
    path = passage.citation.path
    return next((side for side in SIDES if path.startswith(f"{question_id}/{side}/")), None)


async def duels(
    rows: Sequence[Mapping[str, Any]], service: Service, *, favoured: Side
) -> list[Duel]:
    scope = Scope(tenant=duel_corpus(rows, favoured=favoured).tenant)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(row: Mapping[str, Any]) -> Duel:
        asked = Asked(question_id=row["id"], text=row["question"], relevant={}, group=row["id"])
        async with slots:
            plan = await service.plan(as_question(asked, scope=scope))
            found = await service.search(replace(patient(plan), limit=SHOWN))
            return duel_of(found.passages, question_id=row["id"], favoured=favoured)

    return list(await asyncio.gather(*(one(row) for row in rows)))


def duel_line(found: Sequence[Duel]) -> str:
    count = len(found)
    followed = sum(duel.first == duel.favoured for duel in found)
    both = sum(duel.both for duel in found)
    told = sum(duel.told for duel in found)
    return (
        f"{found[0].favoured} side newer and of higher authority: it goes first in "
        f"{followed:,} of {count:,}, both sides shown in {both:,}, conflict told in {told:,}"
    )


async def _run(data: Path, rows: Sequence[Mapping[str, Any]], *, questions: int) -> None:
    (of,) = read_folder(data / "ramdocs")
    labels = labels_of(data / "ramdocs")
    asked = sample(of.questions, limit=questions)
    async with open_service(load_settings()) as opened:
        service = remembering(opened)
        for name, plain in (("served", False), ("plain RRF", True)):
            found = await fives(of, asked, labels, service, plain=plain)
            print("\n".join(ramdocs_lines(name, found)), flush=True)
        for favoured in SIDES:
            print(duel_line(await duels(rows, service, favoured=favoured)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    rows = [row for _, row in read_lines(arguments.data / "rgb_fact_conflict" / "data.jsonl")]
    settings = load_settings()
    for favoured in SIDES:
        take_in(duel_corpus(rows, favoured=favoured), settings)
    asyncio.run(_run(arguments.data, rows, questions=arguments.questions))


if __name__ == "__main__":
    main()
