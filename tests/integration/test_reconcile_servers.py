"""The same damages on a Milvus and an Elasticsearch server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types
from reconciling import LATER, Rig, drift_of

from cluster.clock import FixedClock
from cluster.model import Generation
from cluster.settings import MilvusSettings, Settings
from cluster.stores.containers import (
    empty_text_index,
    empty_vector_index,
    look_at_text_index,
    look_at_vector_index,
)
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.milvus.schema import collection_name, entity
from cluster.stores.protocols import VectorRow
from contract.samples import DIM, NOW, chunk_ids, prepared, vector_of
from lifecycle.rebuild import begin_rebuild, rebuild
from servers.elasticsearch_index import new_settings, removed

pytestmark = pytest.mark.stores

DOCUMENTS = [prepared(f"{number}.md", f"words of page {number}, more.") for number in range(10)]
IDS = sorted(chunk_ids(*DOCUMENTS))
UNTIL_SHOWN_S = 30.0


@pytest.fixture
def generation() -> Generation:
    return Generation(fingerprint=f"test-{uuid.uuid4().hex}", dim=DIM, recipe={})


@pytest.fixture
async def on_milvus(milvus_uri: str, generation: Generation) -> AsyncIterator[Rig]:
    vectors = await MilvusVectorIndex.open(
        milvus_uri, token=None, generation=generation, settings=MilvusSettings()
    )
    yield Rig(MemoryLedger(), vectors, MemoryTextIndex())
    await vectors.close()
    MilvusClient(milvus_uri).drop_collection(collection_name(generation))


@pytest.fixture
async def on_elasticsearch(elasticsearch_url: str) -> AsyncIterator[tuple[Rig, Settings]]:
    settings = Settings(text_index=new_settings(elasticsearch_url))
    texts = await ElasticsearchTextIndex.open(settings.text_index)
    yield Rig(MemoryLedger(), MemoryVectorIndex(DIM), texts), settings
    await texts.close()
    await removed(settings.text_index)


async def filled(rig: Rig) -> None:
    """Bounded reads show rows after a moment; until then they would be drift without grace."""
    async with asyncio.timeout(UNTIL_SHOWN_S):
        await rig.fill(*DOCUMENTS)
        while not (await rig.compare(grace=timedelta(0))).sound:  # noqa: ASYNC110 - its pace
            await asyncio.sleep(0.5)


async def repaired(rig: Rig) -> None:
    """What is written is shown after a moment; the repair's own second look may be too early."""
    async with asyncio.timeout(UNTIL_SHOWN_S), rig.indexing():
        await rig.compare(repair=True)
        while not (await rig.compare()).sound:  # noqa: ASYNC110 - its pace
            await asyncio.sleep(0.5)
    assert await rig.texts.versions(IDS) == await rig.ledger_versions(*DOCUMENTS)
    assert await rig.vectors.versions(IDS) == await rig.ledger_versions(*DOCUMENTS)


async def drifting(rig: Rig, store: str, wanted: dict[str, int]) -> None:
    async with asyncio.timeout(UNTIL_SHOWN_S):
        while drift_of(await rig.compare(), store) != wanted:  # noqa: ASYNC110 - a server's pace
            await asyncio.sleep(0.5)


async def test_milvus(on_milvus: Rig, milvus_uri: str, generation: Generation) -> None:
    await filled(on_milvus)
    client, name = MilvusClient(milvus_uri), collection_name(generation)
    async with on_milvus.ledger.transaction() as tx:
        (work,) = await tx.outbox.work([IDS[9]])
    assert work.row is not None
    doubled = entity(VectorRow(row=work.row, vector=vector_of("x")), tags_as="array")
    client.insert(name, [doubled, doubled])
    await on_milvus.lose("vectors", IDS[:3])
    await on_milvus.foreign("vectors", IDS[3:5], version=1)
    await on_milvus.foreign("vectors", ["chk_foreign"], version=7)
    await drifting(on_milvus, "vectors", {"missing": 3, "stale": 2, "ghost": 1, "duplicate": 1})
    await repaired(on_milvus)
    assert await on_milvus.vectors.copies(IDS) == dict.fromkeys(IDS, 1)  # type: ignore[attr-defined]  # counted where rows can be doubled


async def test_a_milvus_collection_that_begins_empty(
    on_milvus: Rig, milvus_uri: str, generation: Generation
) -> None:
    settings = Settings(milvus=MilvusSettings(uri=milvus_uri))
    await filled(on_milvus)
    assert await look_at_vector_index(settings, generation) is None
    await empty_vector_index(settings, generation)
    await refilled(on_milvus, "vectors")


async def test_elasticsearch(on_elasticsearch: tuple[Rig, Settings]) -> None:
    rig, _ = on_elasticsearch
    await filled(rig)
    versions = await rig.ledger_versions(*DOCUMENTS)
    ahead = max(versions.values()) + 5000
    await rig.lose("text", IDS[:3])
    await rig.foreign("text", IDS[5:6], version=ahead)
    await rig.foreign("text", ["chk_foreign"], version=7)
    await drifting(rig, "text", {"missing": 3, "stale": 1, "ghost": 1})
    await repaired(rig)
    assert (await rig.ledger_versions(*DOCUMENTS))[IDS[5]] > ahead


async def test_an_elasticsearch_index_that_begins_empty(
    on_elasticsearch: tuple[Rig, Settings],
) -> None:
    rig, settings = on_elasticsearch
    await filled(rig)
    assert await look_at_text_index(settings) is None
    assert await empty_text_index(settings) == "replaced by an empty one"
    assert await rig.texts.versions(IDS) == {}
    await refilled(rig, "text")
    await removed(settings.text_index)
    assert await look_at_text_index(settings) == "it was not there"
    await refilled(rig, "text")


async def refilled(rig: Rig, store: str) -> None:
    await begin_rebuild(rig.ledger, refills=[store], now=NOW)
    async with rig.indexing():
        done = await rebuild(rig.ledger, FixedClock(LATER))
    assert (done.rows, done.left) == (20, 0)
    await drifting(rig, store, {})
