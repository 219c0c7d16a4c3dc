"""Which chunks may answer? What the channels find, as far as the ledger lets it be shown.

The channels are asked again when documents were updated under the question, and once more with
longer lists when so much of what they found is gone that the answer would be short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from cluster.errors import DeadlineExceeded, StoreUnavailable
from cluster.model import ChannelFailure, StoredPassage
from cluster.stores.protocols import Ledger, Transaction
from rerank.dedup import newest_editions
from rerank.fusion import Ranking
from serve.channels.channel import Answer, Channel, Follower, Following, fan_out
from serve.plan.plan import ChannelPlan, QueryPlan
from serve.timings import Timings

DEEPER = 4
MAX_CANDIDATES = 1000

MAX_REPLACED = 2
"""How often the channels are asked again because documents were updated under the question."""

JUST_NOW = timedelta(seconds=5)
"""An update so long before the question may still have been under it: clocks differ a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where candidates come from. One round of channels may take `channel_deadline_s`, all that
    is done for one question `deadline_s`."""

    channels: Mapping[str, Channel]
    ledger: Ledger
    followers: Mapping[str, Follower] = field(default_factory=dict)
    channel_deadline_s: float
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """`passages` by chunk id may be shown, all of them as of one moment; `answers` are the
    channels' own, with what may not be shown still in them. `left_behind` are the editions whose
    pages were left out because the newest edition has no such page any more."""

    answers: tuple[Answer, ...]
    passages: Mapping[str, StoredPassage]
    left_behind: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[ChannelFailure, ...]:
        return tuple(each.failure for each in self.answers if each.failure is not None)

    @property
    def found(self) -> Mapping[str, tuple[str, ...]]:
        """Chunk ids by channel, best first, as the channel gave them."""
        return {each.channel: tuple(hit.chunk_id for hit in each.hits) for each in self.answers}


async def gather(plan: QueryPlan, places: Places, *, timings: Timings) -> Candidates:
    """Raises `StoreUnavailable` (or `DeadlineExceeded`, when all were late) if no channel gave
    an answer; the ledger's own errors pass through, as nothing may be shown unchecked."""
    within_s = min(places.channel_deadline_s, places.deadline_s)
    asked = _first(plan, places)
    answers = await _ask(plan, places, asked=asked, within_s=within_s, timings=timings)
    _refuse_silence(answers)
    answers += await _followed(plan, places, answers, timings=timings)
    checked = await _checked(plan, places.ledger, answers, timings=timings)
    for _ in range(MAX_REPLACED):
        if not checked.replaced or timings.passed_s() > places.deadline_s / 2:
            break
        answers = await _asked_again(plan, places, answers, timings=timings)
        checked = await _checked(plan, places.ledger, answers, timings=timings)
    if _too_few(plan, answers, checked.passages):
        answers = await _deepened(plan, places, answers, timings=timings)
        checked = await _checked(plan, places.ledger, answers, timings=timings)
    return Candidates(
        answers=tuple(answers), passages=checked.passages, left_behind=checked.left_behind
    )


def rankings(plan: QueryPlan, candidates: Candidates) -> list[Ranking]:
    """What each channel gave, with the trust that the plan has in it, of what may be shown."""
    planned = {channel.name: channel for channel in plan.channels}
    return [
        Ranking(
            channel=answer.channel,
            hits=tuple(hit for hit in answer.hits if hit.chunk_id in candidates.passages),
            weight=planned[answer.channel].weight,
            floor=answer.floor,
            tail_cut=planned[answer.channel].tail_cut,
        )
        for answer in candidates.answers
    ]


async def _ask(
    plan: QueryPlan,
    places: Places,
    *,
    asked: Sequence[ChannelPlan],
    within_s: float,
    timings: Timings,
) -> list[Answer]:
    with timings.stage("channels"):
        answers = await fan_out(places.channels, plan, asked=asked, deadline_s=within_s)
    for answer in answers:
        timings.add(f"channel:{answer.channel}", answer.took_ms)
    return answers


def _first(plan: QueryPlan, places: Places) -> list[ChannelPlan]:
    """Those that look for themselves; the others follow them."""
    return [each for each in plan.channels if each.name not in places.followers]


async def _followed(
    plan: QueryPlan, places: Places, answers: Sequence[Answer], *, timings: Timings
) -> list[Answer]:
    """A second step, in half of the time that is left."""
    hits = [hit for answer in answers for hit in answer.hits]
    asked = [each for each in plan.channels if each.name in places.followers]
    within_s = min(places.channel_deadline_s, (places.deadline_s - timings.passed_s()) / 2)
    if not asked or within_s <= 0:
        return []
    following = {each.name: Following(places.followers[each.name], hits) for each in asked}
    second = replace(places, channels=following)
    return await _ask(plan, second, asked=asked, within_s=within_s, timings=timings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """`replaced`: a document was updated after a channel had looked, and its new revision is
    not among the candidates. `left_behind` as in `Candidates`."""

    passages: Mapping[str, StoredPassage]
    left_behind: tuple[str, ...] = ()
    replaced: bool = False


async def _checked(
    plan: QueryPlan, ledger: Ledger, answers: Sequence[Answer], *, timings: Timings
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
    former = plan.editions.left_behind(passages.values())
    return _Checked(
        passages={key: each for key, each in passages.items() if key not in former},
        left_behind=tuple(sorted({_edition_of(passages[key]) for key in former})),
        replaced=replaced,
    )


def _edition_of(passage: StoredPassage) -> str:
    return f"{passage.metadata.product} {passage.edition}"


async def _new_revisions(plan: QueryPlan, tx: Transaction, gone: Sequence[str]) -> set[str]:
    since = plan.now - JUST_NOW
    return await tx.documents.replaced(plan.scope, gone, since=since)


async def _asked_again(
    plan: QueryPlan, places: Places, answers: Sequence[Answer], *, timings: Timings
) -> list[Answer]:
    """The channels' answers of now. One that is late or fails this time keeps what it gave."""
    within_s = min(places.channel_deadline_s, (places.deadline_s - timings.passed_s()) / 2)
    asked = _first(plan, places)
    again = await _ask(plan, places, asked=asked, within_s=within_s, timings=timings)
    return _better(answers, again)


async def _deepened(
    plan: QueryPlan, places: Places, answers: Sequence[Answer], *, timings: Timings
) -> list[Answer]:
    """The answers with longer lists from the channels that had more. One that is late or fails
    this time keeps what it gave; half of the time that is left is for what comes afterwards."""
    more = {answer.channel for answer in answers if not answer.exhausted}
    within_s = min(places.channel_deadline_s, (places.deadline_s - timings.passed_s()) / 2)
    if within_s <= 0:
        return list(answers)
    asked = [_deeper(each) for each in _first(plan, places) if each.name in more]
    again = await _ask(plan, places, asked=asked, within_s=within_s, timings=timings)
    return _better(answers, again)


def _better(answers: Sequence[Answer], again: Sequence[Answer]) -> list[Answer]:
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
