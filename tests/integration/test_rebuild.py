"""Both indexes come back from the ledger alone, whatever happened to them."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from pymilvus import DataType, MilvusClient  # type: ignore[import-untyped]  # has no types
from reconciling import GENERATION, LATER, Rig, drift_of, embedded, milvus, rig
from tantivy import Index, SchemaBuilder

import cluster.stores.containers
import lifecycle.rebuild
from cluster.clock import FixedClock
from cluster.model import ChannelFailure
from cluster.settings import MilvusSettings, Settings
from cluster.stores.containers import (
    empty_text_index,
    empty_vector_index,
    look_at_text_index,
    look_at_vector_index,
)
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.milvus.schema import collection_name
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.milvus_lite import MilvusLite
from contract.samples import NOW, chunk_ids, prepared
from lifecycle.rebuild import Progress, begin_rebuild, rebuild
from serve.refilling import gauges, refilling

__all__ = ["embedded", "milvus", "rig"]

CLOCK = FixedClock(NOW)
DOCUMENTS = [prepared(f"{number}.md", f"words of page {number}, more.") for number in range(30)]
IDS = sorted(chunk_ids(*DOCUMENTS))


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle.rebuild, "BATCH", 7)
    monkeypatch.setattr(lifecycle.rebuild, "POLL_S", 0.02)
    monkeypatch.setattr(cluster.stores.containers, "PAUSE_S", 0.02)


NEW_ONE = "its writer makes a new one"


async def test_emptied_indexes_come_back(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS)
    before = await rig.ledger_versions(*DOCUMENTS)
    await rig.vectors.delete(IDS)
    await rig.texts.delete(IDS)
    seen: list[Progress] = []
    async with rig.indexing():
        done = await rebuild(rig.ledger, CLOCK, watch=seen.append)
    assert (done.rows, done.left, done.bare, done.resumed) == (60, 0, 0, False)
    assert done.complete
    now = await rig.ledger_versions(*DOCUMENTS)
    assert await rig.vectors.versions(IDS) == await rig.texts.versions(IDS) == now
    assert all(now[chunk] > before[chunk] for chunk in IDS)
    assert (seen[-1].written, seen[-1].total) == (60, 60)
    assert [one.written for one in seen] == sorted(one.written for one in seen)
    assert (await rig.compare()).sound
    async with rig.ledger.transaction() as tx:
        assert await tx.rebuilds.unfinished() is None


class Killed(BaseException):
    """As if the process had died."""


async def test_a_killed_rebuild_goes_on_where_it_was(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS)
    left = iter([False, False, True])

    def die(_: Progress) -> None:
        if next(left):
            raise Killed

    with pytest.raises(Killed):
        await rebuild(rig.ledger, CLOCK, watch=die)
    between = await rig.ledger_versions(*DOCUMENTS)
    async with rig.ledger.transaction() as tx:
        job = await tx.rebuilds.unfinished()
        assert job is not None
        assert (job.owed, job.owed_to, job.total) == (21, IDS[20], 60)
        assert len(await tx.outbox.take(limit=99)) == 21
    async with rig.indexing():
        done = await rebuild(rig.ledger, FixedClock(LATER))
    assert (done.rows, done.resumed, done.complete) == (60, True, True)
    after = await rig.ledger_versions(*DOCUMENTS)
    assert [after[chunk] == between[chunk] for chunk in IDS] == [True] * 21 + [False] * 39
    assert (await rig.compare()).sound


async def test_without_an_indexer_it_says_so_and_stays_open(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS[:5])
    await begin_rebuild(rig.ledger, refills=["text"], now=NOW)
    stalled = await rebuild(rig.ledger, CLOCK, stalled_s=0.1)
    assert (stalled.left, stalled.complete, stalled.refills) == (10, False, ("text",))
    reason = "its index is being filled again, 99 % so far; some may be missing"
    assert await refilling(rig.ledger) == tuple(
        ChannelFailure(channel=channel, reason=reason)
        for channel in ("keyword", "facts", "time_range")
    )
    async with rig.ledger.transaction() as tx:
        lines = gauges(await tx.reconciling.latest(), await tx.rebuilds.unfinished())
    assert 'palimpsest_rebuild_rows{what="total"} 10' in lines
    async with rig.indexing():
        done = await rebuild(rig.ledger, CLOCK)
    assert (done.left, done.resumed) == (0, True)
    assert await refilling(rig.ledger) == ()


async def test_it_does_not_run_far_ahead_of_the_indexer(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle.rebuild, "MAX_OWED", 10)
    await rig.fill(*DOCUMENTS)
    stalled = await rebuild(rig.ledger, CLOCK, stalled_s=0.1)
    async with rig.ledger.transaction() as tx:
        assert (await tx.outbox.lag())[0] == 14
    assert (stalled.rows, stalled.left, stalled.complete) == (14, 60, False)
    async with rig.indexing():
        done = await rebuild(rig.ledger, CLOCK)
    assert (done.rows, done.left) == (60, 0)


@pytest.mark.stores
async def test_rows_without_a_vector_are_reported(embedded: Rig, module_database_url: str) -> None:
    await embedded.fill(*DOCUMENTS[:2])
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        connection.execute(
            "DELETE FROM embeddings e USING chunks c "
            "WHERE e.vector_key = c.vector_key AND c.ordinal = 0"
        )
    async with embedded.indexing():
        done = await rebuild(embedded.ledger, CLOCK, stalled_s=1.0)
    assert (done.rows, done.bare, done.complete) == (4, 2, False)
    firsts = sorted(one.chunks[0].chunk_id for one in DOCUMENTS[:2])
    assert done.bare_examples == tuple(firsts)


def garble(folder: Path) -> None:
    (folder / "meta.json").write_text("{garbage")


def cut_segment(folder: Path) -> None:
    for segment in folder.glob("*.store"):
        raw = segment.read_bytes()
        segment.unlink()
        segment.write_bytes(raw[: len(raw) // 2])


def lose_segment(folder: Path) -> None:
    for segment in folder.glob("*.idx"):
        segment.unlink()


def other_layout(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    builder = SchemaBuilder()
    builder.add_text_field("body", stored=True)
    Index(builder.build(), path=str(folder))


@pytest.mark.stores
@pytest.mark.parametrize("harm", [garble, cut_segment, lose_segment, other_layout, shutil.rmtree])
async def test_the_embedded_text_index_is_replaced(
    embedded: Rig, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """While its writer runs, and for readers that had it open."""
    settings = Settings(home=tmp_path / "home")
    folder = settings.data_dir / "text-index"
    await embedded.texts.close()
    embedded.texts = TantivyTextIndex.open(folder, writer_heap_mb=16)
    await embedded.fill(*DOCUMENTS)
    reader = TantivyTextIndex.open(folder, read_only=True)
    assert len(await reader.versions(IDS)) == 60
    assert await look_at_text_index(settings) is None
    harm(folder)
    why = await look_at_text_index(settings)
    assert why is not None
    assert "damaged" in why or why == "it was not there"
    told = await mend(embedded, "text", lambda: empty_text_index(settings))
    moved = folder.with_name("text-index.damaged-1")
    assert moved.is_dir() == (harm is not shutil.rmtree)
    assert told == ("moved to text-index.damaged-1" if moved.is_dir() else NEW_ONE)
    assert await look_at_text_index(settings) is None
    assert await reader.versions(IDS) == await embedded.ledger_versions(*DOCUMENTS)
    again = TantivyTextIndex.open(folder, read_only=True)
    assert await again.versions(IDS) == await embedded.ledger_versions(*DOCUMENTS)


def as_stranger(client: MilvusClient, name: str) -> None:
    """Another schema under our name."""
    client.drop_collection(name)
    schema = client.create_schema()
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=4)
    client.create_collection(name, schema=schema)


def as_gone(client: MilvusClient, name: str) -> None:
    client.drop_collection(name)


@pytest.mark.stores
@pytest.mark.parametrize("harm", [as_stranger, as_gone])
async def test_the_collection_is_replaced(
    embedded: Rig, milvus: MilvusLite, tmp_path: Path, harm: Callable[[MilvusClient, str], None]
) -> None:
    settings = Settings(home=tmp_path, milvus=MilvusSettings(uri=milvus.uri))
    await embedded.fill(*DOCUMENTS)
    assert await look_at_vector_index(settings, GENERATION) is None
    harm(MilvusClient(milvus.uri), collection_name(GENERATION))
    why = await look_at_vector_index(settings, GENERATION)
    assert why is not None
    assert ("has other fields" in why) == (harm is as_stranger)
    assert (why == "it was not there") == (harm is as_gone)
    await mend(embedded, "vectors", lambda: empty_vector_index(settings, GENERATION))
    assert await look_at_vector_index(settings, GENERATION) is None
    other = await MilvusVectorIndex.open(
        milvus.uri, token=None, generation=GENERATION, settings=MilvusSettings()
    )
    assert await other.versions(IDS) == await embedded.ledger_versions(*DOCUMENTS)
    await other.close()


async def mend(rig: Rig, store: str, empty: Callable[[], Awaitable[str]]) -> str:
    """As the command does; the running indexer writes all rows. What happened to the old one."""
    await begin_rebuild(rig.ledger, refills=[store], now=NOW)
    told = await empty()
    async with rig.indexing():
        done = await rebuild(rig.ledger, CLOCK)
    assert (done.rows, done.left, done.refills) == (60, 0, (store,))
    report = await rig.compare(grace=timedelta(0))
    assert drift_of(report, "text") == drift_of(report, "vectors") == {}
    return told
