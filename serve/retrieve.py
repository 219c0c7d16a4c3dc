"""A plan becomes cited passages: ask the channels, check with the ledger, rank, cite."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from cluster.errors import DeadlineExceeded, InvalidRequest, StoreUnavailable
from cluster.filters import fields_of
from cluster.model import ChannelFailure, StoredPassage
from cluster.stores.protocols import Ledger, Transaction
from rerank.citations import CitedPassage, cite
from rerank.dedup import Block, block_text, gaps, newest_editions
from rerank.fusion import Ranking
from rerank.matched import matched_in
from rerank.pipeline import rank
from serve.channels.channel import Answer, Channel, fan_out
from serve.plan.plan import ChannelPlan, QueryPlan

DEEPER = 4
MAX_CANDIDATES = 1000

MAX_REPLACED = 2
"""How often the channels are asked again because documents were updated under the question."""

JUST_NOW = timedelta(seconds=5)
"""An update so long before the question may still have been under it: clocks differ a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What answers come from: the channels by name, and the ledger that has the last word.
    One round of channels may take `channel_deadline_s`, the whole `deadline_s`."""

    channels: Mapping[str, Channel]
    ledger: Ledger
    channel_deadline_s: float
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """An answer. `rankings` and `fused` are chunk ids, best first: per channel as it gave
    them, and after fusion and priors, before neighbouring chunks merge. `timings_ms` has
    `channels`, each `channel:<name>`, `ledger`, `rank`, `cite` and `total`. `generation` is the
    fingerprint of the encoder whose index was searched."""

    plan: QueryPlan
    passages: tuple[CitedPassage, ...]
    rankings: Mapping[str, tuple[str, ...]]
    fused: tuple[str, ...]
    failures: tuple[ChannelFailure, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]
    generation: str = ""


async def retrieve(plan: QueryPlan, sources: Sources) -> Retrieved:
    """Raises `StoreUnavailable` (or `DeadlineExceeded`, when all were late) if no channel gave
    an answer; the ledger's own errors pass through, as nothing may be shown unchecked."""
    if not plan.channels:
        raise InvalidRequest("the question has no words to look up; ask for the channel 'semantic'")
    timings = _Timings()
    within_s = min(sources.channel_deadline_s, sources.deadline_s)
    answers = await _ask(plan, sources, asked=plan.channels, within_s=within_s, timings=timings)
    _refuse_silence(answers)
    checked = await _checked(plan, sources.ledger, answers, timings=timings)
    for _ in range(MAX_REPLACED):
        if not checked.replaced or timings.passed_s() > sources.deadline_s / 2:
            break
        answers = await _asked_again(plan, sources, answers, timings=timings)
        checked = await _checked(plan, sources.ledger, answers, timings=timings)
    if _too_few(plan, answers, checked.passages):
        answers = await _deepened(plan, sources, answers, timings=timings)
        checked = await _checked(plan, sources.ledger, answers, timings=timings)
    passages = checked.passages
    with timings.stage("rank"):
        ranked = rank(
            _rankings(plan, answers),
            passages=passages,
            method=plan.fusion,
            language=plan.language,
            now=plan.now,
            limit=plan.limit,
        )
    with timings.stage("cite"):
        cited = _cite_all(plan, await _texts(plan, sources.ledger, ranked.blocks))
    return Retrieved(
        plan=plan,
        passages=cited,
        rankings={each.channel: tuple(hit.chunk_id for hit in each.hits) for each in answers},
        fused=ranked.order,
        failures=tuple(each.failure for each in answers if each.failure is not None),
        notes=plan.notes,
        timings_ms=timings.read(),
    )


async def _ask(
    plan: QueryPlan,
    sources: Sources,
    *,
    asked: Sequence[ChannelPlan],
    within_s: float,
    timings: _Timings,
) -> list[Answer]:
    with timings.stage("channels"):
        answers = await fan_out(sources.channels, plan, asked=asked, deadline_s=within_s)
    for answer in answers:
        timings.add(f"channel:{answer.channel}", answer.took_ms)
    return answers


async def _deepened(
    plan: QueryPlan, sources: Sources, answers: Sequence[Answer], *, timings: _Timings
) -> list[Answer]:
    """The answers with longer lists from the channels that had more. One that is late or fails
    this time keeps what it gave; half of the time that is left is for what comes afterwards."""
    more = {answer.channel for answer in answers if not answer.exhausted}
    within_s = min(sources.channel_deadline_s, (sources.deadline_s - timings.passed_s()) / 2)
    if within_s <= 0:
        return list(answers)
    asked = [_deeper(each) for each in plan.channels if each.name in more]
    again = await _ask(plan, sources, asked=asked, within_s=within_s, timings=timings)
    better = {answer.channel: answer for answer in again if answer.failure is None}
    return [better.get(answer.channel, answer) for answer in answers]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """`passages` may be shown, all of them as of one moment. `replaced`: a document was updated
    after a channel had looked, and its new revision is not among the candidates."""

    passages: Mapping[str, StoredPassage]
    replaced: bool = False


async def _checked(
    plan: QueryPlan, ledger: Ledger, answers: Sequence[Answer], *, timings: _Timings
) -> _Checked:
    """Those candidates that may be shown: the ledger's word, not the indexes'."""
    chunk_ids = sorted({hit.chunk_id for answer in answers for hit in answer.hits})
    if not chunk_ids:
        return _Checked(passages={})
    with timings.stage("ledger"):
        async with ledger.transaction() as tx:
            passages = await tx.documents.visible(plan.scope, chunk_ids)
            gone = [chunk_id for chunk_id in chunk_ids if chunk_id not in passages]
            new = await _new_revisions(plan, tx, gone) if gone else set()
    replaced = bool(new - {each.chunk.revision_id for each in passages.values()})
    passages = {key: each for key, each in passages.items() if plan.editions.admit(each)}
    if plan.editions.collapse:
        passages = newest_editions(passages, asked=plan.editions.asked)
    return _Checked(passages=passages, replaced=replaced)


async def _new_revisions(plan: QueryPlan, tx: Transaction, gone: Sequence[str]) -> set[str]:
    since = plan.now - JUST_NOW
    return await tx.documents.replaced(plan.scope, gone, since=since)


async def _asked_again(
    plan: QueryPlan, sources: Sources, answers: Sequence[Answer], *, timings: _Timings
) -> list[Answer]:
    """The channels' answers of now. One that is late or fails this time keeps what it gave."""
    within_s = min(sources.channel_deadline_s, (sources.deadline_s - timings.passed_s()) / 2)
    again = await _ask(plan, sources, asked=plan.channels, within_s=within_s, timings=timings)
    better = {answer.channel: answer for answer in again if answer.failure is None}
    return [better.get(answer.channel, answer) for answer in answers]


def _refuse_silence(answers: Sequence[Answer]) -> None:
    failures = [answer.failure for answer in answers if answer.failure is not None]
    if len(failures) < len(answers):
        return
    told = "; ".join(f"{failure.channel}: {failure.reason}" for failure in failures)
    if all(answer.late for answer in answers):
        raise DeadlineExceeded(f"no channel answered in time ({told}); retry or allow more time")
    raise StoreUnavailable("search", f"every channel failed ({told}); retry after a moment")


def _too_few(
    plan: QueryPlan, answers: Sequence[Answer], passages: Mapping[str, StoredPassage]
) -> bool:
    """Did so many candidates vanish that an answer is short although there may be more?"""
    cut_off = any(not answer.exhausted for answer in answers)
    return cut_off and len(passages) < plan.limit


def _deeper(channel: ChannelPlan) -> ChannelPlan:
    return replace(channel, limit=min(channel.limit * DEEPER, MAX_CANDIDATES))


def _rankings(plan: QueryPlan, answers: Sequence[Answer]) -> list[Ranking]:
    planned = {channel.name: channel for channel in plan.channels}
    return [
        Ranking(
            channel=answer.channel,
            hits=answer.hits,
            weight=planned[answer.channel].weight,
            floor=answer.floor,
            tail_cut=planned[answer.channel].tail_cut,
        )
        for answer in answers
    ]


async def _texts(
    plan: QueryPlan, ledger: Ledger, blocks: Sequence[Block]
) -> list[tuple[Block, str]]:
    """Each block with its exact text. One that was deleted since the check is left out; one
    that was superseded is still the answer as of the check."""
    revision_ids = sorted({block.revision_id for block in blocks if gaps(block)})
    stored: dict[str, str] = {}
    if revision_ids:
        async with ledger.transaction() as tx:
            stored = await tx.documents.texts(plan.scope, revision_ids)
    return [
        (block, block_text(block, revision_text=stored.get(block.revision_id)))
        for block in blocks
        if block.revision_id in stored or not gaps(block)
    ]


def _cite_all(plan: QueryPlan, texts: Sequence[tuple[Block, str]]) -> tuple[CitedPassage, ...]:
    filters = sorted(fields_of(plan.where) | {"tenant"})

    def surfaces(text: str) -> tuple[str, ...]:
        return matched_in(text, terms=plan.terms)

    return tuple(
        cite(block, rank=place, text=text, surfaces=surfaces, filters=filters)
        for place, (block, text) in enumerate(texts, start=1)
    )


class _Timings:
    """Milliseconds by stage; a stage that runs twice counts twice."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._spent: dict[str, float] = {}

    def add(self, stage: str, took_ms: float) -> None:
        self._spent[stage] = self._spent.get(stage, 0.0) + took_ms

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.add(name, (time.perf_counter() - started) * 1000)

    def passed_s(self) -> float:
        return time.perf_counter() - self._started

    def read(self) -> dict[str, float]:
        total = (time.perf_counter() - self._started) * 1000
        return {stage: round(spent, 2) for stage, spent in {**self._spent, "total": total}.items()}
