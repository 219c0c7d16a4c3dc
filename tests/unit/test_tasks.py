"""No task outlives who waits for it, and none stops unheard."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from serving import NOW, memory_stores

import serve.query_cache
import serve.usage
from cluster.errors import ModelError, StoreUnavailable
from cluster.model import EncodedQuery, Scope
from cluster.settings import PlannerSettings
from cluster.stores.protocols import Ledger
from rerank.reranker import USUAL_RERANK, Asked
from serve.metrics import Metrics
from serve.plan.llm import LanguageModelPlanner
from serve.plan.question import Question
from serve.plan.suggestion import Suggestion
from serve.plan.versions import KnownEdition
from serve.planning import known_for
from serve.query_cache import QueryCache
from serve.reranking import LateInteraction
from serve.short_lived import ShortLived
from serve.tasks import ended_with
from serve.usage import ShownCounter

SCOPE = Scope(tenant="acme")


async def test_an_error_ends_those_that_still_run_and_is_raised_as_it_is() -> None:
    async def fails() -> None:
        raise ValueError("first")

    slow = asyncio.create_task(asyncio.sleep(60))
    failing = asyncio.create_task(fails())
    with pytest.raises(ValueError, match="first"):
        async with ended_with(slow, failing):
            await asyncio.gather(slow, failing)
    assert slow.cancelled()


async def test_a_block_without_tasks() -> None:
    async with ended_with():
        assert await asyncio.gather() == []


async def test_a_look_for_token_vectors_ends_when_the_question_cannot_be_encoded() -> None:
    ledger = memory_stores().ledger

    async def breaks(_text: str, _language: str) -> EncodedQuery:
        await asyncio.sleep(0)
        raise ModelError("no encoder")

    late = LateInteraction(ledger=ledger, encode=breaks, fingerprint="f")
    asked = Asked(text="?", language="en", terms=(), scope=SCOPE, plan=USUAL_RERANK)
    before = asyncio.all_tasks()
    async with ledger.transaction():  # nobody else gets one meanwhile
        with pytest.raises(ModelError, match="no encoder"):
            await late.score(asked, [])
        assert asyncio.all_tasks() == before


async def test_a_suggestion_is_not_waited_for_once_the_ledger_has_failed() -> None:
    ended = asyncio.Event()

    class Slow(LanguageModelPlanner):
        async def suggest(self, question: Question) -> Suggestion:
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()
            return Suggestion()

    async def fails(_scope: Scope) -> list[KnownEdition]:
        await asyncio.sleep(0)
        raise StoreUnavailable("ledger", "away")

    async def never(_asked: object) -> Suggestion:
        return Suggestion()

    question = Question(text="?", scope=SCOPE, limit=5, now=NOW, deadline_s=60.0)
    async with httpx.AsyncClient() as client:
        slow = Slow(settings=PlannerSettings(), client=client, known=ShortLived(never, ttl_s=1.0))
        with pytest.raises(StoreUnavailable):
            await known_for(
                question, memory_stores().ledger, ShortLived(fails, ttl_s=1.0), planner=slow
            )
    assert ended.is_set()


async def test_a_sweep_that_breaks_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(QueryCache):
        async def sweep(self, ledger: Ledger) -> None:
            raise RuntimeError("a sweep broke")

    monkeypatch.setattr(serve.query_cache, "SWEEP_S", 0.0)
    async with Broken(entries=1).running(memory_stores().ledger):
        await asyncio.sleep(0.01)
    assert "the check of kept answers has stopped: a sweep broke" in caplog.text
    assert "Traceback" in caplog.text


async def test_a_count_that_breaks_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ShownCounter):
        written = 0

        async def write(self) -> None:
            self.written += 1
            if self.written == 1:
                raise RuntimeError("a write broke")

    monkeypatch.setattr(serve.usage, "PAUSE_S", 0.0)
    counter = Broken(memory_stores().ledger, Metrics())
    async with counter.running():
        await asyncio.sleep(0.01)
    assert "the count of shown passages has stopped: a write broke" in caplog.text
    assert counter.written == 2
