"""The pipeline once more on what the channels listed before: no index is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eval.records import Given, Record
from rerank.reranker import Asked, Pooled, Reranked, Reranker
from serve.channels.channel import Channel, Found
from serve.plan.plan import QueryPlan
from serve.reranking import LateInteraction
from serve.service import Service

NOTHING = Given(listed=(), floor=None)


def replayed(service: Service, record: Record, *, windows: bool = True) -> Service:
    """The service whose channels list what they listed for this record. Without `windows` its
    reranker judges each turn of a conversation alone."""
    channels: Mapping[str, Channel] = {
        **{name: Kept(name=name) for name in service.sources.channels},
        **{name: Kept(name=name, given=given) for name, given in record.channels.items()},
    }
    rerankers = service.sources.rerankers
    if not windows:
        alone = Alone(_late_interaction(service))
        rerankers = {**rerankers, alone.name: alone}
    sources = replace(service.sources, channels=channels, rerankers=rerankers)
    return replace(service, sources=sources)


def _late_interaction(service: Service) -> LateInteraction:
    searched = service.generations.searched
    return LateInteraction(
        ledger=service.ledger, encode=searched.encode, fingerprint=searched.fingerprint
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A channel that lists what was kept of it."""

    name: str
    given: Given = NOTHING

    async def retrieve(self, _plan: QueryPlan, *, limit: int) -> Found:
        return Found(listed=self.given.listed[:limit], floor=self.given.floor)


@dataclass(frozen=True, slots=True)
class Alone:
    """A reranker that is not told which passages are turns of one session."""

    reranker: Reranker

    @property
    def name(self) -> str:
        return self.reranker.name

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked:
        apart = [replace(each, passage=replace(each.passage, turn=None)) for each in pool]
        return await self.reranker.score(asked, apart)
