"""Does every shown passage stand where it says it stands?

    python -m eval.citations [SET…] [--answers 1000] [--seed N]

Random questions of the sets are asked; for each passage the stored text of its revision is read
anew: the cited span must be the shown text, the digest of the whole must be the one that is told,
and the passage must say why it was found. Needs the local stack and sets that were ingested by
`palimpsest eval`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.ids import sha256_hex
from cluster.model import Scope
from cluster.settings import load_settings
from eval.duplicates import repeated
from eval.open import open_service
from eval.recording import remembering
from eval.run import AT_ONCE, as_question, patient
from eval.sets import ORDER, Asked, EvalSet, read_folder
from rerank.citations import CitedPassage
from serve.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """`wrong` tells what does not hold, passage by passage; empty when everything does.
    `sources` are different documents, answer by answer; `stale` passages are of an edition that
    is not the newest; `repeated` ones are more than 85 % similar to one before."""

    answers: int = 0
    passages: int = 0
    sources: int = 0
    stale: int = 0
    repeated: int = 0
    wrong: tuple[str, ...] = ()

    def __add__(self, other: Traced) -> Traced:
        return Traced(
            answers=self.answers + other.answers,
            passages=self.passages + other.passages,
            sources=self.sources + other.sources,
            stale=self.stale + other.stale,
            repeated=self.repeated + other.repeated,
            wrong=self.wrong + other.wrong,
        )


def faults(passage: CitedPassage, *, stored: str | None) -> list[str]:
    """What of the citation does not hold against the stored text of its revision."""
    cited = passage.citation
    where = f"{cited.source}/{cited.path} [{cited.start}, {cited.end})"
    if stored is None:
        return [f"{where}: its revision {cited.revision_id} is not stored"]
    found = []
    if stored[cited.start : cited.end] != passage.text:
        found.append(f"{where}: the stored text is not the shown one")
    if sha256_hex(stored) != cited.content_sha256:
        found.append(f"{where}: the digest is not that of the stored text")
    if not passage.reasons.channels:
        found.append(f"{where}: nothing says why it was found")
    return found


async def trace(of: EvalSet, questions: Sequence[Asked], service: Service) -> Traced:
    """The questions asked of the set, every passage followed to its source."""
    told = remembering(service)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(question: Asked) -> Traced:
        async with slots:
            return await _trace(of, question, told)

    traced = await asyncio.gather(*(one(question) for question in questions))
    return sum(traced, Traced())


async def _trace(of: EvalSet, question: Asked, service: Service) -> Traced:
    scope = Scope(tenant=of.corpus.tenant)
    plan = patient(await service.plan(as_question(question, scope=scope)))
    found = await service.search(plan)
    stored = await _stored(found.passages, service, scope=scope)
    wrong = [
        fault
        for passage in found.passages
        for fault in faults(passage, stored=stored.get(passage.citation.revision_id))
    ]
    return Traced(
        answers=1,
        passages=len(found.passages),
        sources=len({passage.citation.document_id for passage in found.passages}),
        stale=sum(not passage.citation.newest_edition for passage in found.passages),
        repeated=repeated([passage.text for passage in found.passages]),
        wrong=tuple(wrong),
    )


async def _stored(
    passages: Sequence[CitedPassage], service: Service, *, scope: Scope
) -> Mapping[str, str]:
    revision_ids = sorted({passage.citation.revision_id for passage in passages})
    if not revision_ids:
        return {}
    async with service.ledger.transaction() as tx:
        return await tx.documents.texts(scope, revision_ids)


async def _run(sets: Sequence[EvalSet], *, answers: int, seed: int) -> Traced:
    rng = random.Random(seed)  # noqa: S311  # repeatable
    pairs = [(at, question) for at, of in enumerate(sets) for question in of.questions]
    chosen = rng.sample(pairs, min(answers, len(pairs)))
    async with open_service(load_settings()) as service:
        total = Traced()
        for at, of in enumerate(sets):
            asked = [question for number, question in chosen if number == at]
            part = await trace(of, asked, service)
            print(_line(of.name, part), flush=True)
            total += part
    return total


def _line(name: str, told: Traced) -> str:
    passages = max(told.passages, 1)
    return (
        f"{name}: {told.answers:,} answers, {told.passages:,} passages, {len(told.wrong):,} "
        f"faults; {told.sources / max(told.answers, 1):.1f} documents an answer, "
        f"{told.stale / passages:.1%} stale, {told.repeated / passages:.1%} repeated"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", type=Path, help="folders; all known ones if none")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    folders = arguments.sets or [arguments.data / name for name in ORDER]
    sets = [each for folder in folders for each in read_folder(folder)]
    total = asyncio.run(_run(sets, answers=arguments.answers, seed=seed))
    for fault in total.wrong[:20]:
        print(f"  {fault}")
    print(_line(f"seed {seed}", total))
    if total.wrong or not total.passages:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
