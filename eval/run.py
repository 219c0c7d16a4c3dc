"""The questions of a set, asked of the product's own retrieval, each answer kept as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from cluster.model import Scope, StoredPassage
from eval.recording import Heard, listening, recorded
from eval.records import Given, Listed, Record
from eval.sets import Asked, EvalSet, Unit, half_of
from rerank.citations import CitedPassage
from rerank.fusion import FusionMethod
from serve.plan.plan import QueryPlan
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service

TOP_K = 10
"""As many passages as the API shows when a caller does not say."""

PATIENCE_S = 60.0
AT_ONCE = 2
NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""When questions of sets without dates are asked: the same on every day."""


async def ask_all(
    questions: Sequence[Asked],
    service: Service,
    *,
    of: EvalSet,
    fusion: FusionMethod | None = None,
    keep: Callable[[Record], None],
) -> None:
    """Ask each question of the corpus, which was ingested before. `keep` gets the answers as
    they come, in no fixed order."""
    told = recorded(service)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(question: Asked) -> None:
        async with slots:
            keep(await ask(question, told, of=of, fusion=fusion))

    await asyncio.gather(*(one(question) for question in questions))


async def ask(
    question: Asked, service: Service, *, of: EvalSet, fusion: FusionMethod | None = None
) -> Record:
    """One question as a caller would put it, with time enough for every stage."""
    scope = Scope(tenant=of.corpus.tenant)
    plan = patient(await service.plan(as_question(question, scope=scope, fusion=fusion)))
    with listening() as heard:
        found = await service.search(plan)
    units = await _units(found, heard, service, scope=scope, unit=of.unit)
    return Record(
        question_id=question.question_id,
        kind=question.kind,
        language=question.language,
        half=half_of(question.group),
        relevant=question.relevant,
        stages=_stages(found, heard, units),
        channels={
            name: Given(listed=tuple(each.listed), floor=each.floor) for name, each in heard.items()
        },
        failures=tuple(f"{each.channel}: {each.reason}" for each in found.failures),
        notes=found.notes,
        timings_ms=found.timings_ms,
        relevant_found=found.relevant,
    )


def as_question(asked: Asked, *, scope: Scope, fusion: FusionMethod | None = None) -> Question:
    question = Question(
        text=asked.text,
        scope=scope,
        limit=TOP_K,
        now=asked.now or NOW,
        deadline_s=PATIENCE_S,
        where=asked.where,
    )
    return replace(question, fusion=fusion) if fusion else question


def units_of(passages: Sequence[CitedPassage], *, unit: Unit) -> list[str]:
    """What these passages count as, as in the stage `final`; best first."""
    own = {
        chunk: each.citation.session or each.citation.path
        if unit == "session"
        else each.citation.path
        for each in passages
        for chunk in each.citation.chunk_ids
    }
    return list(dict.fromkeys(one for each in passages for _, one, _ in with_copies(each, own)))


def patient(plan: QueryPlan) -> QueryPlan:
    """The plan with time enough: a late stage would be measured as a bad one."""
    return replace(
        plan,
        rerank=replace(plan.rerank, deadline_s=PATIENCE_S),
        selection=replace(plan.selection, known_copies_s=PATIENCE_S),
    )


async def _units(
    found: Retrieved, heard: Heard, service: Service, *, scope: Scope, unit: Unit
) -> dict[str, str]:
    """Chunk id -> what it counts as; only those that may be shown."""
    listed = {chunk for each in heard.values() for chunk, _ in each.listed}
    shown = {chunk for each in found.passages for chunk in each.citation.chunk_ids}
    chunk_ids = sorted(listed | shown | set(found.ranked))
    if not chunk_ids:
        return {}
    async with service.ledger.transaction() as tx:
        visible = await tx.documents.visible(scope, chunk_ids)
    return {chunk: _unit(passage, unit) for chunk, passage in visible.items()}


def _unit(passage: StoredPassage, unit: Unit) -> str:
    in_session = unit == "session" and passage.turn is not None
    return passage.turn.session if in_session and passage.turn else passage.path


def _stages(
    found: Retrieved, heard: Heard, units: Mapping[str, str]
) -> dict[str, tuple[Listed, ...]]:
    channels = {name: _listed(heard[name].listed, units) for name in sorted(heard)}
    between = {
        name: _listed([(chunk, None) for chunk in order], units)
        for name, order in (("fused", found.fused), ("ranked", found.ranked))
    }
    passages = _listed(
        [(chunk, each.score) for each in found.passages for chunk in each.citation.chunk_ids],
        units,
    )
    final = tuple(each for passage in found.passages for each in with_copies(passage, units))
    return {**channels, **between, "passages": passages, "final": final}


def with_copies(passage: CitedPassage, units: Mapping[str, str]) -> Iterator[Listed]:
    """A passage as it is shown: itself, then the documents that it names as having the same text.
    One of them stands for all of them, so each takes a place behind it."""
    for chunk in passage.citation.chunk_ids:
        if chunk in units:
            yield chunk, units[chunk], passage.score
    for copy in passage.also_in:
        if copy.kind == "near_copy":
            yield copy.chunk_id, units.get(copy.chunk_id, copy.path), passage.score


def _listed(
    scored: Sequence[tuple[str, float | None]], units: Mapping[str, str]
) -> tuple[Listed, ...]:
    return tuple((chunk, units[chunk], score) for chunk, score in scored if chunk in units)
