"""The indexes of live generations open and close as the ledger says, on both kinds of store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types
from reembedding import hashing

from cluster.errors import StoreRejected
from cluster.model import Generation
from cluster.settings import MilvusSettings
from cluster.stores.live_views import LiveViews
from cluster.stores.memory.collections import MemoryCollections
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.milvus.collections import ALIAS, MilvusCollections
from cluster.stores.milvus.schema import collection_name
from cluster.stores.protocols import Collections
from contract.milvus_lite import milvus_lite

OLD, NEW = hashing(16), hashing(8)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


@dataclass
class Opened:
    """Which indexes are open, in the order of opening."""

    now: list[str] = field(default_factory=list)

    async def open(self, generation: Generation) -> MemoryVectorIndex:
        self.now.append(generation.fingerprint)
        return _Index(self.now, generation)


class _Index(MemoryVectorIndex):
    def __init__(self, opened: list[str], generation: Generation) -> None:
        super().__init__(generation.dim)
        self._opened, self._fingerprint = opened, generation.fingerprint

    async def close(self) -> None:
        self._opened.remove(self._fingerprint)


async def test_views_follow_the_ledger_at_every_call() -> None:
    ledger, opened = MemoryLedger(), Opened()
    views = LiveViews(ledger, MemoryTextIndex(), opened.open)
    assert await views.vector_indexes() == {}
    async with ledger.transaction() as tx:
        await tx.generations.activate(OLD)
    (index,) = (await views.vector_indexes()).values()
    async with ledger.transaction() as tx:
        await tx.generations.begin(NEW, now=NOW)
    both = await views.vector_indexes()
    assert list(both) == [OLD.fingerprint, NEW.fingerprint]
    assert both[OLD.fingerprint] is index
    async with ledger.transaction() as tx:
        await tx.generations.switch(NEW.fingerprint, now=NOW, grace=timedelta(days=1))
    assert list(await views.vector_indexes()) == [NEW.fingerprint, OLD.fingerprint]
    assert opened.now == [OLD.fingerprint, NEW.fingerprint]
    async with ledger.transaction() as tx:
        await tx.generations.retire(OLD.fingerprint, now=NOW)
    assert list(await views.vector_indexes()) == [NEW.fingerprint]
    assert opened.now == [NEW.fingerprint]
    await views.close()
    assert opened.now == []


async def test_only_the_active_index_has_to_open() -> None:
    ledger, opened = MemoryLedger(), Opened()
    damaged = {NEW.fingerprint}

    async def open_index(generation: Generation) -> MemoryVectorIndex:
        if generation.fingerprint in damaged:
            raise StoreRejected("vectors", f"{generation.fingerprint} is of another layout")
        return await opened.open(generation)

    views = LiveViews(ledger, MemoryTextIndex(), open_index)
    async with ledger.transaction() as tx:
        await tx.generations.activate(OLD)
        await tx.generations.begin(NEW, now=NOW)
    within = await views.within_reach()
    assert list(within.reach) == [OLD.fingerprint]
    assert "another layout" in within.away[NEW.fingerprint]
    with pytest.raises(StoreRejected, match="another layout"):
        await views.vector_indexes()
    damaged = {OLD.fingerprint}
    assert list((await views.within_reach()).reach) == [OLD.fingerprint, NEW.fingerprint]
    async with ledger.transaction() as tx:
        await tx.generations.switch(NEW.fingerprint, now=NOW, grace=timedelta(days=1))
    await views.close()
    damaged = {NEW.fingerprint}
    with pytest.raises(StoreRejected, match="another layout"):
        await views.within_reach()
    assert opened.now == []


@pytest.fixture(scope="module")
def lite_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with milvus_lite(tmp_path_factory.mktemp("lite")) as server:
        yield server.uri


@pytest.mark.parametrize("kind", ["memory", pytest.param("milvus", marks=pytest.mark.stores)])
async def test_a_collection_is_dropped_once_and_made_anew(
    kind: str, request: pytest.FixtureRequest
) -> None:
    collections: Collections = MemoryCollections()
    if kind == "milvus":
        collections = _milvus(request.getfixturevalue("lite_uri"))
    for _ in range(2):
        index = await collections.open(OLD)
        assert [row async for batch in index.scan() for row in batch] == []
        await index.close()
        assert await collections.drop([OLD, NEW]) == 1
        assert await collections.drop([OLD, NEW]) == 0


@pytest.mark.stores
async def test_the_alias_names_the_active_collection(lite_uri: str) -> None:
    collections = _milvus(lite_uri)
    client = MilvusClient(lite_uri)
    for generation in (OLD, NEW, NEW, OLD):
        await (await collections.open(generation)).close()
        await collections.point(generation)
        named = client.describe_alias(ALIAS)["collection_name"]
        assert named == collection_name(generation)
    await collections.drop([OLD])
    assert client.list_aliases(collection_name(NEW))["aliases"] == []
    await collections.point(OLD)  # not there: nothing to name
    assert not client.has_collection(ALIAS)
    await collections.drop([NEW])
    client.close()


def _milvus(uri: str) -> MilvusCollections:
    return MilvusCollections(uri=uri, token=None, settings=MilvusSettings())


@pytest.mark.stores
async def test_a_store_that_cannot_name_the_active_one_goes_without(lite_uri: str) -> None:
    collections = _milvus(lite_uri)
    client = MilvusClient(lite_uri)
    client.create_collection(ALIAS, dimension=8)  # a collection of that name, so no alias
    await (await collections.open(OLD)).close()
    await collections.point(OLD)
    assert client.list_aliases(collection_name(OLD))["aliases"] == []
    await collections.drop([OLD])
    client.drop_collection(ALIAS)
    client.close()
