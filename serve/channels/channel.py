"""One way of finding passages, and asking several of them at once, each against the clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.errors import DeadlineExceeded, ModelError, Overloaded, StoreError
from cluster.model import ChannelFailure, Hit
from serve.plan.plan import ChannelPlan, QueryPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a channel listed, best first, `(chunk_id, score)`, scores on its own scale.

    `floor` is the score of what it did not list, where that is known.
    """

    listed: Sequence[tuple[str, float]]
    floor: float | None = None


class Channel(Protocol):
    """Raises `StoreError`, `ModelError`, `Overloaded` or `DeadlineExceeded`; an empty list
    says that nothing matches, never that something broke."""

    @property
    def name(self) -> str: ...

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A channel's hits, or why there are none, and how long that took."""

    channel: str
    hits: tuple[Hit, ...] = ()
    floor: float | None = None
    exhausted: bool = True
    failure: ChannelFailure | None = None
    late: bool = False
    took_ms: float = 0.0


async def fan_out(
    channels: Mapping[str, Channel],
    plan: QueryPlan,
    *,
    asked: Sequence[ChannelPlan],
    deadline_s: float,
) -> list[Answer]:
    """Ask all channels of `asked` at once; one answer for each, in their order. A channel that
    is not done after `deadline_s` is stopped and counted as failed; it does not delay others."""
    tasks = [
        _ask(channels[each.name], plan, limit=each.limit, within_s=deadline_s) for each in asked
    ]
    return list(await asyncio.gather(*tasks))


async def _ask(channel: Channel, plan: QueryPlan, *, limit: int, within_s: float) -> Answer:
    started = time.perf_counter()
    reason, late = "", False
    try:
        async with asyncio.timeout(within_s):
            found = await channel.retrieve(plan, limit=limit)
    except TimeoutError:
        reason, late = f"no answer within {round(within_s * 1000)} ms", True
    except DeadlineExceeded as error:
        reason, late = str(error), True
    except (StoreError, ModelError, Overloaded) as error:
        reason = str(error)
    took_ms = (time.perf_counter() - started) * 1000
    if reason:
        failure = ChannelFailure(channel=channel.name, reason=reason)
        return Answer(channel=channel.name, failure=failure, late=late, took_ms=took_ms)
    exhausted = len(found.listed) < limit
    return Answer(
        channel=channel.name,
        hits=_hits(channel.name, found.listed),
        floor=found.floor if exhausted else None,
        exhausted=exhausted,
        took_ms=took_ms,
    )


def _hits(channel: str, listed: Sequence[tuple[str, float]]) -> tuple[Hit, ...]:
    return tuple(
        Hit(chunk_id=chunk_id, channel=channel, rank=rank, score=score)
        for rank, (chunk_id, score) in enumerate(listed, start=1)
    )
