"""Asking several channels at once: failures are values, the slow does not delay the quick."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from cluster.errors import (
    DeadlineExceeded,
    ModelError,
    Overloaded,
    PalimpsestError,
    StoreRejected,
    StoreUnavailable,
)
from cluster.model import Scope
from serve.channels.channel import Found, fan_out
from serve.channels.recent import freshness
from serve.plan.plan import ChannelPlan, QueryPlan
from serve.plan.planner import Known, Question, plan_question
from serve.short_lived import ShortLived

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@dataclass
class Made:
    """A channel that lists, waits or fails as told."""

    name: str
    listed: tuple[tuple[str, float], ...] = ()
    error: Exception | None = None
    wait_s: float = 0.0
    cancelled: bool = False

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        try:
            await asyncio.sleep(self.wait_s)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.error is not None:
            raise self.error
        return Found(listed=self.listed[:limit], floor=0.0)


def plan() -> QueryPlan:
    question = Question(text="q", scope=Scope(tenant="t"), limit=5, now=NOW, deadline_s=1.0)
    return plan_question(question, known=Known())


def asked(*names: str, limit: int = 3) -> list[ChannelPlan]:
    return [ChannelPlan(name=name, weight=1.0, limit=limit) for name in names]


async def test_hits_have_ranks_from_one_and_the_channel_s_scores() -> None:
    channel = Made("a", listed=(("x", 2.0), ("y", 0.0), ("z", -1.0)))
    (answer,) = await fan_out({"a": channel}, plan(), asked=asked("a"), deadline_s=1.0)
    assert [(hit.chunk_id, hit.rank, hit.score) for hit in answer.hits] == [
        ("x", 1, 2.0),
        ("y", 2, 0.0),
        ("z", 3, -1.0),
    ]
    assert not answer.exhausted
    assert answer.floor is None


async def test_a_short_list_is_all_there_is_and_its_floor_is_known() -> None:
    channel = Made("a", listed=(("x", 2.0),))
    (answer,) = await fan_out({"a": channel}, plan(), asked=asked("a"), deadline_s=1.0)
    assert answer.exhausted
    assert answer.floor == 0.0


@pytest.mark.parametrize(
    ("error", "late"),
    [
        (StoreUnavailable("store", "down"), False),
        (StoreRejected("store", "no"), False),
        (ModelError("model"), False),
        (Overloaded("full"), False),
        (DeadlineExceeded("late"), True),
    ],
)
async def test_a_failure_is_a_value(error: PalimpsestError, late: bool) -> None:
    channels = {"a": Made("a", error=error), "b": Made("b", listed=(("x", 1.0),))}
    first, second = await fan_out(channels, plan(), asked=asked("a", "b"), deadline_s=1.0)
    assert first.failure is not None
    assert (first.failure.channel, first.failure.reason) == ("a", str(error))
    assert first.late is late
    assert first.hits == ()
    assert second.failure is None
    assert len(second.hits) == 1


async def test_a_fault_of_ours_is_not_hidden_as_a_failed_channel() -> None:
    with pytest.raises(ZeroDivisionError):
        await fan_out(
            {"a": Made("a", error=ZeroDivisionError())}, plan(), asked=asked("a"), deadline_s=1.0
        )


async def test_the_slow_is_stopped_and_does_not_delay_the_quick() -> None:
    slow = Made("slow", wait_s=30.0)
    started = time.perf_counter()
    late, quick = await fan_out(
        {"slow": slow, "quick": Made("quick")},
        plan(),
        asked=asked("slow", "quick"),
        deadline_s=0.05,
    )
    assert time.perf_counter() - started < 5
    assert late.late
    assert late.failure is not None
    assert late.failure.reason == "no answer within 50 ms"
    assert slow.cancelled
    assert quick.took_ms < 5000


def test_freshness_halves_and_never_rises_with_age() -> None:
    assert freshness(NOW, now=NOW) == 1.0
    assert freshness(NOW + timedelta(days=1), now=NOW) == 1.0
    assert freshness(NOW - timedelta(days=30), now=NOW) == 0.5
    assert freshness(NOW - timedelta(days=60), now=NOW) == 0.25


async def test_short_lived_values_are_read_once_by_many_and_again_later() -> None:
    reads = 0

    async def load(key: str) -> str:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0.01)
        return key.upper()

    values = ShortLived(load, ttl_s=0.2, capacity=2)
    assert await asyncio.gather(*(values.get("a") for _ in range(5))) == ["A"] * 5
    assert reads == 1
    await asyncio.sleep(0.25)
    await values.get("a")
    assert reads == 2
    for key in "bc":
        await values.get(key)
    await values.get("a")
    assert reads == 5


async def test_a_failed_read_is_told_and_not_kept() -> None:
    answers: list[Exception | str] = [StoreUnavailable("ledger", "down"), "up"]

    async def load(_key: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    values = ShortLived(load, ttl_s=10.0)
    with pytest.raises(StoreUnavailable):
        await values.get("a")
    assert await values.get("a") == "up"
