"""One way of finding passages, and asking several of them at once, each against the clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cluster.errors import DeadlineExceeded, ModelError, Overloaded, StoreError
from cluster.filters import Eq
from cluster.model import ChannelFailure, DocumentKind, Hit
from serve.plan.filter_json import joined
from serve.plan.plan import ChannelPlan, QueryPlan

MIN_KINDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a channel listed, best first, `(chunk_id, score)`, scores on its own scale.

    `floor` is the score of what it did not list, where that is known. `exhausted`: there is no
    more, however much is asked for (`None`: so it is when the list is short).
    """

    listed: Sequence[tuple[str, float]]
    floor: float | None = None
    exhausted: bool | None = None


class Channel(Protocol):
    """Raises `StoreError`, `ModelError`, `Overloaded` or `DeadlineExceeded`; an empty list
    says that nothing matches, never that something broke."""

    @property
    def name(self) -> str: ...

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found: ...


class Follower(Protocol):
    """A channel that goes on from what others found (`hits`). Raises as channels do."""

    @property
    def name(self) -> str: ...

    async def follow(self, plan: QueryPlan, hits: Sequence[Hit], *, limit: int) -> Found: ...


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


@dataclass(frozen=True, slots=True)
class Following:
    """A follower with what it follows, as a channel."""

    follower: Follower
    hits: Sequence[Hit]

    @property
    def name(self) -> str:
        return self.follower.name

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        return await self.follower.follow(plan, self.hits, limit=limit)


async def _ask(channel: Channel, plan: QueryPlan, *, limit: int, within_s: float) -> Answer:
    started = time.perf_counter()
    reason, late = "", False
    try:
        async with asyncio.timeout(within_s):
            found = await retrieve_kinds(channel, plan, limit=limit)
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
    short = len(found.listed) < limit
    exhausted = short if found.exhausted is None else found.exhausted
    return Answer(
        channel=channel.name,
        hits=_hits(channel.name, found.listed),
        floor=found.floor if exhausted else None,
        exhausted=exhausted,
        took_ms=took_ms,
    )


async def retrieve_kinds(channel: Channel, plan: QueryPlan, *, limit: int) -> Found:
    """Each kind of the plan apart, so that none crowds out another: an equal share of `limit`, at
    least twice its budget. Together best first, ties by chunk id."""
    if len(plan.kinds) < MIN_KINDS or isinstance(channel, Following):
        return await channel.retrieve(plan, limit=limit)
    shares = [max(limit // len(plan.kinds), 2 * one.limit) for one in plan.kinds]
    parts = await asyncio.gather(
        *(
            channel.retrieve(_only(plan, one.kind), limit=share)
            for one, share in zip(plan.kinds, shares, strict=True)
        )
    )
    ended = [
        len(part.listed) < share if part.exhausted is None else part.exhausted
        for part, share in zip(parts, shares, strict=True)
    ]
    floors = [part.floor for part in parts if part.floor is not None]
    listed = {chunk_id: score for part in parts for chunk_id, score in part.listed}
    return Found(
        listed=sorted(listed.items(), key=lambda pair: (-pair[1], pair[0])),
        floor=min(floors) if len(floors) == len(parts) else None,
        exhausted=all(ended),
    )


def _only(plan: QueryPlan, kind: DocumentKind) -> QueryPlan:
    return replace(plan, where=joined(plan.where, Eq("kind", kind)), kinds=())


def _hits(channel: str, listed: Sequence[tuple[str, float]]) -> tuple[Hit, ...]:
    return tuple(
        Hit(chunk_id=chunk_id, channel=channel, rank=rank, score=score)
        for rank, (chunk_id, score) in enumerate(listed, start=1)
    )
