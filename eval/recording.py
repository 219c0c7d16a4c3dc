"""What each channel listed for a question, written down while the product answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from cluster.model import EncodedQuery
from serve.channels.channel import Channel, Found
from serve.channels.semantic import EncodeQuery, SemanticChannel
from serve.generations import Fixed
from serve.plan.plan import QueryPlan
from serve.query_cache import QueryCache
from serve.service import Service

Heard = dict[str, Found]
"""Channel name -> what it listed when it was asked last."""

_HEARD: ContextVar[Heard | None] = ContextVar("heard", default=None)


@contextmanager
def listening() -> Iterator[Heard]:
    """Everything that recorded channels list inside, in this task and those that it starts."""
    heard: Heard = {}
    token = _HEARD.set(heard)
    try:
        yield heard
    finally:
        _HEARD.reset(token)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A channel that tells who listens."""

    channel: Channel

    @property
    def name(self) -> str:
        return self.channel.name

    async def retrieve(self, plan: QueryPlan, *, limit: int) -> Found:
        found = await self.channel.retrieve(plan, limit=limit)
        heard = _HEARD.get()
        if heard is not None:
            heard[self.name] = Found(listed=tuple(found.listed), floor=found.floor)
        return found


class Remembered:
    """`EncodeQuery` that encodes a question once, however often it is asked."""

    def __init__(self, encode: EncodeQuery) -> None:
        self._encode = encode
        self._known: dict[tuple[str, str], EncodedQuery] = {}

    async def __call__(self, question: str, language: str) -> EncodedQuery:
        asked = (question, language)
        if asked not in self._known:
            self._known[asked] = await self._encode(question, language)
        return self._known[asked]


def remembering(service: Service) -> Service:
    """The same service, staying with the generation of now, that encodes no question twice and
    gives no kept answer."""
    searched = service.generations.searched
    once = replace(searched, encode=Remembered(searched.encode))
    return replace(service, generations=Fixed(once), cache=QueryCache(entries=0))


def recorded(service: Service) -> Service:
    """The same service, whose channels can be listened to."""
    service = remembering(service)
    searched = service.generations.searched
    channels: Mapping[str, Channel] = {
        "semantic": SemanticChannel(searched.index, searched.encode),
        **service.sources.channels,
    }
    told: Mapping[str, Channel] = {name: Recorded(each) for name, each in channels.items()}
    return replace(service, sources=replace(service.sources, channels=told))
