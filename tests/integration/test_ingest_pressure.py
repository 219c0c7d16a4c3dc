"""Ingest waits for indexes that are too far behind, says so, and in the end gives up whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingesting import CLOCK, TENANT, Bench, settings_for, write_pages

from cluster.errors import IndexesBehind
from cluster.settings import IndexerSettings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.protocols import Failure, Transaction
from ingest.link import LedgerLink
from ingest.pressure import Room, Teller, owed_entries
from ingest.run import wait_until_visible

FEW = IndexerSettings(max_open_entries=6, patience_s=0.4)


@pytest.fixture
def bench() -> Iterator[Bench]:
    settings = settings_for(block_items=2).model_copy(update={"indexer": FEW})
    bench = Bench(settings)
    yield bench
    bench.link.close()


def stop_indexing(bench: Bench) -> None:
    bench.index = lambda: None  # type: ignore[method-assign]


def test_a_stuck_indexer_ends_the_run_and_loses_nothing(bench: Bench, tmp_path: Path) -> None:
    write_pages(tmp_path, 12)
    index = bench.index
    stop_indexing(bench)
    with pytest.raises(IndexesBehind, match="run the same command again"):
        bench.ingest(tmp_path)
    (run,) = bench.link.call(lambda tx: tx.runs.latest(TENANT, limit=2))
    assert (run.state, "entries behind" in (run.error or "")) == ("failed", True)
    pending = bench.counts()["pending"]
    assert 0 < pending < 12
    bench.index = index  # type: ignore[method-assign]
    index()
    assert bench.counts()["documents"] == pending
    bench.settings = bench.settings.model_copy(update={"indexer": IndexerSettings()})
    bench.ingest(tmp_path)
    assert (bench.counts()["documents"], bench.counts()["pending"]) == (12, 0)


def test_a_slow_indexer_is_waited_for(bench: Bench, tmp_path: Path) -> None:
    write_pages(tmp_path, 8)
    stop_indexing(bench)
    with pytest.raises(IndexesBehind):
        bench.ingest(tmp_path)
    before = owed_entries(bench.link)
    assert before > FEW.max_open_entries
    owed: list[int] = []

    def drain_one(_seconds: float) -> None:
        """As slow as can be: what took longer than all the patience, but moved."""
        owed.append(owed_entries(bench.link))
        time.sleep(FEW.patience_s * 0.75)

        async def one(tx: Transaction) -> None:
            await tx.outbox.done(await tx.outbox.take(limit=1))

        bench.link.call(one)

    Room(bench.link, FEW, sleep=drain_one)()
    assert owed == list(range(before, FEW.max_open_entries, -1))


def test_what_was_set_aside_is_not_waited_for(bench: Bench, tmp_path: Path) -> None:
    write_pages(tmp_path, 8)
    stop_indexing(bench)
    with pytest.raises(IndexesBehind):
        bench.ingest(tmp_path)

    async def refuse(tx: Transaction) -> None:
        entries = await tx.outbox.take(limit=99)
        failures = [Failure(entry=one, reason="no", not_before=None) for one in entries]
        await tx.outbox.failed(failures, now=CLOCK.now())

    bench.link.call(refuse)
    Room(bench.link, FEW)()


def test_who_waits_is_told(bench: Bench, tmp_path: Path) -> None:
    write_pages(tmp_path, 8)
    stop_indexing(bench)
    with pytest.raises(IndexesBehind):
        bench.ingest(tmp_path)
    said: list[str] = []
    told, gone_on = threading.Event(), threading.Event()

    def say(words: str) -> None:
        said.append(words)
        (gone_on if words == "ingesting" else told).set()

    owed = owed_entries(bench.link)

    async def ledger() -> MemoryLedger:
        return bench.ledger

    with Teller(LedgerLink(ledger), FEW, say, every_s=0.02):
        assert told.wait(5)
        bench.ledger._state = replace(bench.ledger._state, outbox={})  # noqa: SLF001 - all at once
        assert gone_on.wait(5)
    assert said[0] == f"waiting for the indexes: {owed} owed"
    assert said[-1] == "ingesting"
    assert not [one for one in threading.enumerate() if one.name == "backlog"]


def test_a_run_tells_what_an_index_refuses(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pages(tmp_path, 1)
    stop_indexing(bench)
    run = bench.ingest(tmp_path)

    async def refuse(tx: Transaction) -> None:
        entries = await tx.outbox.take(limit=99)
        failures = [Failure(entry=one, reason="no", not_before=None) for one in entries]
        await tx.outbox.failed(failures, now=CLOCK.now())

    bench.link.call(refuse)
    monkeypatch.setattr("ingest.run._REFUSED_AFTER_S", 0.0)
    left = wait_until_visible(bench.link, TENANT, run.run_id, sleep=lambda _s: None)
    assert left is not None
    assert (left.count, left.refused) == (1, True)
    assert "palimpsest outbox list" in left.reason
    (problem,) = left.report().problems
    assert "outbox list" in problem.reason
