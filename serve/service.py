"""All that the API needs, opened once: stores, encoder, clock, and what may be remembered."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from cluster.clock import Clock
from cluster.errors import DeadlineExceeded, InvalidRequest, StoreUnavailable
from cluster.model import ApiKey, ChannelFailure, Scope
from cluster.settings import Settings
from cluster.stores.open import Stores
from cluster.stores.protocols import Ledger, Standing
from rerank.by_rules import ByRules
from rerank.cross_encoder import NAME as CROSS_ENCODER
from rerank.cross_encoder import ScorePassages
from rerank.reranker import MOST_S, USUAL_RERANK, Reranker, RerankerName, RerankPlan
from serve.channels.channel import Channel
from serve.channels.facts import FactsChannel
from serve.channels.keyword import KeywordChannel
from serve.channels.neighbours import NeighboursChannel
from serve.channels.recent import RecentChannel
from serve.channels.semantic import EncodeQuery, SemanticChannel
from serve.channels.session import SessionChannel
from serve.channels.time_range import TimeRangeChannel
from serve.counting import counter_of
from serve.cross_encoding import by_cross_encoder
from serve.encoding import OnceEncoded
from serve.generations import Current, Fixed, Searched
from serve.metrics import Metrics
from serve.plan.llm import LanguageModelPlanner, open_planner
from serve.plan.plan import QueryPlan
from serve.plan.planner import Question, plan_question
from serve.plan.versions import KnownEdition
from serve.planning import known_for
from serve.query_cache import QueryCache
from serve.refilling import refilling
from serve.reranking import LateInteraction
from serve.retrieve import Retrieved, Sources, retrieve
from serve.short_lived import ShortLived
from serve.tasks import ended_with
from serve.usage import ShownCounter, cited_uses, new_search_id

KEY_TTL_S = 3.0
EDITIONS_TTL_S = 3.0
REFILLING_TTL_S = 1.0
SEMANTIC = "semantic"
SPARE_S = 0.05
"""What the rest of the answer needs after its channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    settings: Settings
    stores: Stores
    generations: Current
    clock: Clock
    metrics: Metrics
    sources: Sources
    keys: ShortLived[str, ApiKey | None]
    editions: ShortLived[Scope, list[KnownEdition]]
    refilling: ShortLived[None, tuple[ChannelFailure, ...]]
    cache: QueryCache
    shown: ShownCounter
    planner: LanguageModelPlanner | None
    waiters: asyncio.Semaphore
    """Uploads that may wait for their run at once; most places are for questions."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What goes on beside the answers."""
        async with AsyncExitStack() as beside:
            await beside.enter_async_context(self.shown.running())
            await beside.enter_async_context(self.cache.running(self.ledger))
            if self.planner is not None:
                await beside.enter_async_context(self.planner.running())
            yield

    async def search(self, question: Question | QueryPlan, *, passed_s: float = 0.0) -> Retrieved:
        """A plan is carried out as it is. Raises `DeadlineExceeded` when the whole budget is
        spent without an answer; `passed_s` of it had passed before."""
        started, asked_at = time.perf_counter(), self.clock.now()
        left_s = question.deadline_s - passed_s
        searched = self.generations.searched
        try:
            async with asyncio.timeout(left_s):
                standing, plan = await self._planned(question)
                plan_ms = round((time.perf_counter() - started) * 1000, 2)
                found = self._kept(plan, standing, searched)
                if found is None:
                    found = await self._found(plan, standing, searched, left_s=left_s)
                    self.cache.put(found, standing)
        except TimeoutError as error:
            limit_ms = round(question.deadline_s * 1000)
            raise DeadlineExceeded(
                f"no answer within {limit_ms} ms; retry, or allow more with deadline_ms"
            ) from error
        total_ms = round((time.perf_counter() - started) * 1000, 2)
        found = replace(
            found,
            timings_ms={"plan": plan_ms, **found.timings_ms, "total": total_ms},
            search_id=new_search_id(uuid.uuid4().hex),
        )
        self.metrics.retrieved(found.timings_ms, found.failures)
        self.shown.add(plan.scope, found.passages, since=asked_at)
        return found

    async def _planned(self, question: Question | QueryPlan) -> tuple[Standing, QueryPlan]:
        """The standing is read before any channel looks: what they find is at least as new."""
        reading = asyncio.create_task(self._standing(question.scope))
        planning = asyncio.create_task(self.plan(question))
        async with ended_with(reading, planning):
            return await reading, await planning

    async def _standing(self, scope: Scope) -> Standing:
        async with self.ledger.transaction() as tx:
            return await tx.writes.standing(scope.tenant)

    def _kept(self, plan: QueryPlan, standing: Standing, searched: Searched) -> Retrieved | None:
        """An answer to the same plan that is still the answer of now."""
        if not self.cache.on:
            return None
        started = time.perf_counter()
        kept = self.cache.get(plan, standing, generation=searched.fingerprint)
        self.metrics.cache(
            "miss" if kept is None else "hit", entries=len(self.cache), size=self.cache.bytes
        )
        if kept is None:
            return None
        spent_ms = round((time.perf_counter() - started) * 1000, 2)
        return replace(kept, timings_ms={"cache": spent_ms})

    async def _found(
        self, plan: QueryPlan, standing: Standing, searched: Searched, *, left_s: float
    ) -> Retrieved:
        async with _searching(self.sources, searched) as sources:
            found = await retrieve(plan, _within(sources, left_s))
        filling = await self.refilling.get(None)
        found = replace(
            found, generation=searched.fingerprint, failures=_with_filling(found, filling)
        )
        if not standing.has_usage:
            return found
        return await cited_uses(found, self.ledger, within_s=SPARE_S)

    async def plan(self, question: Question | QueryPlan) -> QueryPlan:
        if isinstance(question, QueryPlan):
            there = {*self.sources.channels, *self.sources.followers, SEMANTIC}
            return _known_channels(question, there)
        if question.rerank is None:
            question = replace(question, rerank=self.rerank_plan())
        known = await known_for(question, self.ledger, self.editions, planner=self.planner)
        return plan_question(question, known=known)

    def rerank_plan(self, name: RerankerName | None = None) -> RerankPlan:
        """By default with the best reranker that is configured."""
        there = CROSS_ENCODER in self.sources.rerankers
        if there and name in (None, CROSS_ENCODER):
            more_s = self.settings.cross_encoder.timeout_s
            deadline_s = min(USUAL_RERANK.deadline_s + more_s, MOST_S)
            return replace(USUAL_RERANK, name=CROSS_ENCODER, deadline_s=deadline_s)
        return replace(USUAL_RERANK, name=name or USUAL_RERANK.name)

    @property
    def encode(self) -> EncodeQuery:
        """Of the generation that is searched now."""
        return self.generations.searched.encode

    @property
    def fingerprint(self) -> str:
        return self.generations.searched.fingerprint

    @property
    def ledger(self) -> Ledger:
        return self.stores.ledger


def build_service(
    *,
    settings: Settings,
    stores: Stores,
    encode: EncodeQuery | None = None,
    fingerprint: str = "",
    clock: Clock,
    metrics: Metrics,
    generations: Current | None = None,
    cross_encoder: ScorePassages | None = None,
) -> Service:
    """`generations` follows the ledger; without it, `encode` and `fingerprint` stay.
    `cross_encoder`, where there is one, reads the best passages of every question."""

    async def find_key(digest: str) -> ApiKey | None:
        """In time: a request's deadline covers the look at its key."""
        try:
            async with asyncio.timeout(settings.serve.deadline_s), ledger.transaction() as tx:
                return await tx.keys.find(digest)
        except TimeoutError as error:
            raise StoreUnavailable("ledger", "no answer in time; retry after a moment") from error

    async def known_editions(scope: Scope) -> list[KnownEdition]:
        async with ledger.transaction() as tx:
            return await tx.documents.known_editions(scope)

    ledger = stores.ledger
    if generations is None:
        generations = _fixed(stores, encode, fingerprint)
    channels: tuple[Channel, ...] = (
        KeywordChannel(stores.text_index),
        FactsChannel(ledger, stores.text_index),
        TimeRangeChannel(ledger, stores.text_index),
        RecentChannel(ledger),
        SessionChannel(ledger),
    )
    neighbours = NeighboursChannel(ledger)
    return Service(
        settings=settings,
        stores=stores,
        generations=generations,
        clock=clock,
        metrics=metrics,
        sources=Sources(
            channels={channel.name: channel for channel in channels},
            followers={neighbours.name: neighbours},
            ledger=ledger,
            rerankers=_rerankers(settings, cross_encoder),
            token_vectors=settings.encoder.token_vectors,
            channel_deadline_s=settings.serve.channel_deadline_s,
            deadline_s=settings.serve.deadline_s,
        ),
        keys=ShortLived(find_key, ttl_s=KEY_TTL_S),
        editions=ShortLived(known_editions, ttl_s=EDITIONS_TTL_S),
        refilling=ShortLived(lambda _: refilling(ledger), ttl_s=REFILLING_TTL_S),
        cache=QueryCache(entries=settings.serve.query_cache_entries),
        shown=ShownCounter(ledger, metrics),
        planner=open_planner(settings.planner),
        waiters=asyncio.Semaphore(max(1, settings.serve.max_ongoing_requests // 4)),
    )


def _rerankers(settings: Settings, cross_encoder: ScorePassages | None) -> dict[str, Reranker]:
    rerankers: dict[str, Reranker] = {ByRules.name: ByRules()}
    if cross_encoder is not None:
        rerankers[CROSS_ENCODER] = by_cross_encoder(cross_encoder, settings.cross_encoder)
    return rerankers


def _known_channels(plan: QueryPlan, known: Set[str]) -> QueryPlan:
    """A plan from outside may ask only channels that are there, each once."""
    names = [channel.name for channel in plan.channels]
    for name in names:
        if name not in known or names.count(name) > 1:
            raise InvalidRequest(f"plan.channels: {name!r} is unknown or named twice; remove it")
    return plan


def _fixed(stores: Stores, encode: EncodeQuery | None, fingerprint: str) -> Current:
    if encode is None:
        raise InvalidRequest("a service needs an encoder, or generations that have theirs")
    return Fixed(
        Searched(
            fingerprint=fingerprint,
            index=stores.vector_index,
            encode=encode,
            count=counter_of(encode),
        )
    )


@asynccontextmanager
async def _searching(sources: Sources, searched: Searched) -> AsyncIterator[Sources]:
    """With what belongs to one generation, for one question: the semantic channel and the
    reranker, which share one pass of the encoder."""
    encode = OnceEncoded(searched.encode)
    semantic = SemanticChannel(searched.index, encode)
    late = LateInteraction(ledger=sources.ledger, encode=encode, fingerprint=searched.fingerprint)
    by_tokens = {late.name: late} if sources.token_vectors else {}
    try:
        yield replace(
            sources,
            channels={semantic.name: semantic, **sources.channels},
            rerankers={**by_tokens, **sources.rerankers},
            count=searched.count,
            counter=searched.fingerprint,
        )
    finally:
        await encode.close()


def _with_filling(
    found: Retrieved, filling: Sequence[ChannelFailure]
) -> tuple[ChannelFailure, ...]:
    """A channel that was asked and answered from an index that is not full again is told of."""
    failed = {failure.channel for failure in found.failures}
    asked = found.rankings.keys() - failed
    return (*found.failures, *(one for one in filling if one.channel in asked))


def _within(sources: Sources, deadline_s: float) -> Sources:
    """Channels must stop early enough that what they did find can still be told."""
    rest = max(deadline_s - SPARE_S, deadline_s / 2)
    within_s = min(sources.channel_deadline_s, rest)
    return replace(sources, channel_deadline_s=within_s, deadline_s=deadline_s)
