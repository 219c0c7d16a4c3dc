"""Is "nothing relevant is here" said when it is true, and only then?

    python -m eval.abstain [--data ../shared/data] [--questions 120]

Questions of the half that nothing was calibrated on are asked three times: of their own corpus,
of the corpora of the other sets of their language, and of their own without the passages that
answer them. Needs the local stack and the sets, ingested by `palimpsest eval`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from cluster.filters import AllOf, In, Not
from cluster.model import Scope
from cluster.settings import load_settings
from eval.open import open_service
from eval.recording import remembering
from eval.run import AT_ONCE, as_question, patient
from eval.sets import Asked, EvalSet, half_of, read_folder, sample
from serve.service import Service

SETS: Mapping[str, tuple[str, ...]] = {
    "zh": ("cmrc2018", "stard_gold", "drcd"),
    "en": ("scifact", "ramdocs"),
}
LEAST_REFUSED = 0.95
MOST_REFUSED = 0.02

Asking = Literal["own", "foreign", "emptied"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One question put to the corpus of `tenant`."""

    asking: Asking
    language: str
    dataset: str
    tenant: str
    question: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    asking: Asking
    language: str
    dataset: str
    refused: int
    asked: int

    @property
    def share(self) -> float:
        return self.refused / self.asked if self.asked else 0.0


def tries(sets: Mapping[str, Sequence[EvalSet]], *, questions: int) -> Iterator[Try]:
    """`sets` by language; at most `questions` of each set in each way of asking."""
    for language, group in sets.items():
        for of in group:
            held_out = [each for each in of.questions if half_of(each.group) == "report"]
            chosen = sample(held_out, limit=questions)
            others = [other.corpus.tenant for other in group if other is not of]
            for number, question in enumerate(chosen):
                own = Try(
                    asking="own",
                    language=language,
                    dataset=of.name,
                    tenant=of.corpus.tenant,
                    question=question,
                )
                yield own
                yield replace(own, asking="emptied", question=without_answers(question))
                if others:
                    tenant = others[number % len(others)]
                    yield replace(own, asking="foreign", tenant=tenant)


def without_answers(question: Asked) -> Asked:
    """The same question, with everything that answers it out of reach."""
    answers = Not(In("path", tuple(sorted(question.relevant))))
    where = answers if question.where is None else AllOf((question.where, answers))
    return replace(question, where=where)


async def refused(each: Try, service: Service) -> bool:
    """Whether no passage was shown, on purpose."""
    plan = await service.plan(as_question(each.question, scope=Scope(tenant=each.tenant)))
    return (await service.search(patient(plan))).relevant is False


async def count(asked: Sequence[Try], service: Service) -> list[Refused]:
    told = remembering(service)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(each: Try) -> bool:
        async with slots:
            return await refused(each, told)

    answers = await asyncio.gather(*(one(each) for each in asked))
    groups: dict[tuple[Asking, str, str], list[bool]] = {}
    for each, answer in zip(asked, answers, strict=True):
        groups.setdefault((each.asking, each.language, each.dataset), []).append(answer)
    return [
        Refused(asking=asking, language=language, dataset=dataset, refused=sum(got), asked=len(got))
        for (asking, language, dataset), got in groups.items()
    ]


def together(found: Sequence[Refused], *, asking: Asking, language: str) -> Refused:
    part = [each for each in found if each.asking == asking and each.language == language]
    return Refused(
        asking=asking,
        language=language,
        dataset="all",
        refused=sum(each.refused for each in part),
        asked=sum(each.asked for each in part),
    )


def enough(found: Sequence[Refused], *, languages: Sequence[str]) -> bool:
    """In every language."""
    return all(
        together(found, asking="foreign", language=language).share >= LEAST_REFUSED
        and together(found, asking="own", language=language).share <= MOST_REFUSED
        for language in languages
    )


def table_of(found: Sequence[Refused], *, languages: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2), title="share of questions answered: nothing relevant")
    for heading in ("language", "set", "own corpus", "foreign corpus", "own, answers taken out"):
        table.add_column(heading, justify="left" if heading in ("language", "set") else "right")
    for language in languages:
        names = dict.fromkeys(each.dataset for each in found if each.language == language)
        for name in (*names, "all"):
            table.add_row(language, name, *_cells(found, language=language, dataset=name))
    return table


def _cells(found: Sequence[Refused], *, language: str, dataset: str) -> Iterator[str]:
    asked: tuple[Asking, ...] = ("own", "foreign", "emptied")
    for asking in asked:
        part = [
            each
            for each in found
            if each.asking == asking
            and each.language == language
            and dataset in ("all", each.dataset)
        ]
        total = sum(each.asked for each in part)
        share = sum(each.refused for each in part) / total if total else 0.0
        yield f"{share:.1%} of {total:,}"


async def _run(sets: Mapping[str, Sequence[EvalSet]], *, questions: int) -> list[Refused]:
    async with open_service(load_settings()) as service:
        return await count(list(tries(sets, questions=questions)), service)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--questions", type=int, default=120)
    arguments = parser.parse_args()
    sets = {
        language: [read_folder(arguments.data / name)[0] for name in names]
        for language, names in SETS.items()
    }
    found = asyncio.run(_run(sets, questions=arguments.questions))
    Console().print(table_of(found, languages=list(sets)))
    if not enough(found, languages=list(sets)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
