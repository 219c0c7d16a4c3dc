"""The reconciler notices every damage done behind the product's back, and repair undoes it."""

from __future__ import annotations

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types
from reconciling import (
    ACME,
    GENERATION,
    LATER,
    Rig,
    drift_of,
    embedded,
    flying_of,
    milvus,
    rig,
)
from tantivy import Index

from cluster.clock import FixedClock
from cluster.settings import MilvusSettings
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.milvus.schema import collection_name
from cluster.stores.protocols import TextRow
from cluster.stores.tantivy.index import TantivyTextIndex
from cluster.stores.tantivy.rows import build_schema, document
from contract.milvus_lite import MilvusLite
from contract.samples import FINGERPRINT, chunk_ids, prepared, put
from lifecycle.reconcile import Side, reconcile

__all__ = ["embedded", "milvus", "rig"]

DOCUMENTS = [prepared(f"{number}.md", f"words of page {number}, more.") for number in range(30)]
IDS = sorted(chunk_ids(*DOCUMENTS))


async def test_undamaged_stores_agree(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS)
    report = await rig.compare()
    assert report.sound
    assert report.wanted == len(IDS) == 60
    assert [store.rows for store in report.stores] == [60, 60]
    async with rig.ledger.transaction() as tx:
        assert await tx.reconciling.latest() == report


async def test_empty_stores_agree(rig: Rig) -> None:
    report = await rig.compare()
    assert (report.sound, report.wanted) == (True, 0)


@pytest.mark.parametrize("store", ["vectors", "text"])
async def test_every_damage_is_named_and_repaired(rig: Rig, store: str) -> None:
    await rig.fill(*DOCUMENTS)
    versions = await rig.ledger_versions(*DOCUMENTS)
    await rig.lose(store, IDS[:3])
    await rig.foreign(store, IDS[3:5], version=1)
    await rig.foreign(store, IDS[5:6], version=max(versions.values()) + 500)
    await rig.foreign(store, ["chk_foreign", "chk_" + "z" * 60], version=7)
    report = await rig.compare()
    other = "text" if store == "vectors" else "vectors"
    assert drift_of(report, store) == {"missing": 3, "stale": 3, "ghost": 2}
    assert drift_of(report, other) == {}
    (damaged,) = (one for one in report.stores if one.store == store)
    assert damaged.examples["missing"] == tuple(IDS[:3])
    assert damaged.examples["stale"] == tuple(IDS[3:6])
    assert set(damaged.examples["ghost"]) == {"chk_foreign", "chk_" + "z" * 60}
    async with rig.ledger.transaction() as tx:  # kept without the ids, which may be forgotten
        assert await tx.reconciling.latest() == report.without_examples() != report
    async with rig.indexing():
        mended = await rig.compare(repair=True)
    assert (mended.sound, mended.repaired) == (True, 8)
    assert (await rig.compare()).sound
    now = await rig.ledger_versions(*DOCUMENTS)
    assert await rig.vectors.versions(IDS) == await rig.texts.versions(IDS) == now
    assert all(now[chunk] > versions[chunk] for chunk in IDS[:6])


async def test_superseded_and_deleted_rows_that_stayed_are_ghosts(rig: Rig) -> None:
    old, new, gone = prepared(body="old words"), prepared(body="new words"), prepared("gone.md")
    await rig.fill(old, gone)
    await rig.fill(new)
    async with rig.ledger.transaction() as tx:
        await tx.documents.delete(ACME, [gone.revision.document_id])
    await rig.work_off()
    await rig.foreign("text", chunk_ids(old, gone), version=3)
    await rig.foreign("vectors", chunk_ids(gone), version=3)
    young = await rig.compare(grace=timedelta(days=9000))
    assert flying_of(young, "text") == {"ghost": 2}
    report = await rig.compare(grace=timedelta(0))
    assert drift_of(report, "text") == {"ghost": 4}
    assert drift_of(report, "vectors") == {"ghost": 2}
    async with rig.indexing():
        assert (await rig.compare(repair=True, grace=timedelta(0))).sound
    assert await rig.texts.versions(chunk_ids(old, new, gone)) == await rig.ledger_versions(new)


async def test_owed_and_young_differences_are_in_flight(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS[:2])
    await put(rig.ledger, DOCUMENTS[2])
    report = await rig.compare(grace=timedelta(0))
    assert report.sound
    assert flying_of(report, "vectors") == flying_of(report, "text") == {"missing": 2}
    await rig.work_off()
    lost = chunk_ids(DOCUMENTS[2])
    await rig.lose("text", lost)
    assert flying_of(await rig.compare(grace=timedelta(days=9000)), "text") == {"missing": 2}
    assert drift_of(await rig.compare(grace=timedelta(0)), "text") == {"missing": 2}


async def test_a_generation_that_is_built_may_lack_rows(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS[:2])
    await rig.lose("vectors", chunk_ids(DOCUMENTS[0]))
    side = Side(index=rig.vectors, generation=FINGERPRINT, building=True)
    report = await reconcile(rig.ledger, {"vectors": side}, FixedClock(LATER), settle_s=0)
    assert flying_of(report, "vectors") == {"missing": 2}
    assert report.sound


async def test_ingest_meanwhile_gives_no_false_drift(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS[:10])
    stop = asyncio.Event()

    async def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            page = prepared(f"{number % 7}.md", f"words of edit {number}, more.")
            await put(rig.ledger, page)
            if number % 3 == 0:
                async with rig.ledger.transaction() as tx:
                    await tx.documents.delete(ACME, [page.revision.document_id])
            await asyncio.sleep(0.01)

    async with rig.indexing():
        writing = asyncio.create_task(write())
        for _ in range(4):
            report = await rig.compare(grace=timedelta(0))
            assert report.sound, report
        stop.set()
        await writing


@pytest.mark.stores
async def test_doubled_rows_of_the_text_index(embedded: Rig, tmp_path: Path) -> None:
    await embedded.fill(*DOCUMENTS[:3])
    chunk = sorted(chunk_ids(*DOCUMENTS[:3]))[0]
    async with embedded.ledger.transaction() as tx:
        (work,) = await tx.outbox.work([chunk])
    assert work.row is not None
    await embedded.texts.close()
    writer = Index(build_schema(), path=str(tmp_path / "text"), reuse=True).writer(num_threads=1)
    writer.add_document(document(TextRow(row=work.row, terms=("word",))))
    writer.commit()
    del writer
    embedded.texts = TantivyTextIndex.open(tmp_path / "text", writer_heap_mb=16)
    report = await embedded.compare()
    assert drift_of(report, "text") == {"duplicate": 1}
    async with embedded.indexing():
        assert (await embedded.compare(repair=True)).sound
    assert await embedded.texts.copies([chunk]) == {chunk: 1}


@pytest.mark.stores
async def test_a_dropped_collection_and_a_removed_folder(
    embedded: Rig, milvus: MilvusLite, tmp_path: Path
) -> None:
    await embedded.fill(*DOCUMENTS)
    MilvusClient(milvus.uri).drop_collection(collection_name(GENERATION))
    reader = TantivyTextIndex.open(tmp_path / "text", read_only=True)
    shutil.rmtree(tmp_path / "text")
    unreadable = await reconcile(
        embedded.ledger,
        {"vectors": Side(index=embedded.vectors), "text": Side(index=reader)},
        FixedClock(LATER),
        settle_s=0,
    )
    assert not unreadable.sound
    assert all(store.error for store in unreadable.stores)
    await embedded.vectors.close()
    embedded.vectors = await MilvusVectorIndex.open(
        milvus.uri, token=None, generation=GENERATION, settings=MilvusSettings()
    )
    report = await embedded.compare()
    assert drift_of(report, "vectors") == drift_of(report, "text") == {"missing": 60}
    async with embedded.indexing():
        mended = await embedded.compare(repair=True)
    assert mended.sound
    assert mended.repaired in (60, 120)  # what the vectors lacked was owed to both


async def test_one_reconciliation_at_a_time(rig: Rig) -> None:
    await rig.fill(*DOCUMENTS[:1])
    async with rig.ledger.lease("reconcile"):
        waiting = asyncio.create_task(rig.compare())
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert (await asyncio.wait_for(waiting, timeout=20)).sound
