"""No task outlives who waits for it, and none stops unheard."""

from __future__ import annotations

import asyncio

import pytest
from serving import memory_stores

import serve.query_cache
import serve.usage
from cluster.stores.protocols import Ledger
from serve.metrics import Metrics
from serve.query_cache import QueryCache
from serve.tasks import ended_with
from serve.usage import ShownCounter


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
