"""Elasticsearch keeps the contract of `TextIndex`, and what a server adds to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing

import httpx
import pytest

from cluster.errors import InvalidRequest, StoreRejected, StoreUnavailable
from cluster.filters import MAX_VALUES, AllOf, AnyOf, Eq, Filter, In, Missing, Not
from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.elasticsearch.replacement import Replacement
from cluster.stores.elasticsearch.rows import mappings
from cluster.stores.protocols import TextIndex
from contract.text_index import ACME, TextIndexContract, asked, ids, row, scanned
from servers.elasticsearch_index import new_settings, removed

pytestmark = pytest.mark.stores


@pytest.fixture
async def settings(elasticsearch_url: str) -> AsyncIterator[TextIndexSettings]:
    settings = new_settings(elasticsearch_url)
    yield settings
    await removed(settings)


@pytest.fixture
async def index(settings: TextIndexSettings) -> AsyncIterator[ElasticsearchTextIndex]:
    index = await ElasticsearchTextIndex.open(settings)
    yield index
    await index.close()


class TestElasticsearchTextIndex(TextIndexContract):
    """Of the index that the module's fixture opens."""


@pytest.mark.parametrize(
    "sentence",
    [
        TextIndexContract.test_score_is_the_weighted_sum_of_bm25,
        TextIndexContract.test_ties_go_by_chunk_id_also_at_the_limit,
        TextIndexContract.test_filters_come_before_the_limit,
        TextIndexContract.test_scan_gives_every_row_once,
    ],
    ids=lambda sentence: sentence.__name__,
)
async def test_several_shards_answer_as_one(
    elasticsearch_url: str,
    sentence: Callable[[TextIndexContract, TextIndex], Coroutine[None, None, None]],
) -> None:
    settings = new_settings(elasticsearch_url, shards=3, batch_rows=700)
    index = await ElasticsearchTextIndex.open(settings)
    try:
        await sentence(TextIndexContract(), index)
    finally:
        await index.close()
        await removed(settings)


async def test_says_which_terms_matched(index: ElasticsearchTextIndex) -> None:
    await index.upsert([row("c1", "b a"), row("c2", "b"), row("c3", "z")])
    await index.upsert([row("c4", "a", owner="ann"), row("c5", "a", tenant="other")])
    names = ["c1", "c2", "c3", "c4", "c5", "nowhere"]
    found = await index.matched(asked("a", "b", "c"), chunk_ids=names, scope=ACME)
    assert found == {"c1": ("a", "b"), "c2": ("b",)}


async def test_older_version_is_passed_over(index: ElasticsearchTextIndex) -> None:
    await index.upsert([row("c1", "new", version=7)])
    await index.upsert([row("c1", "old", version=6), row("c2", "old", version=6)])
    assert await ids(index, "old") == ["c2"]
    assert await index.versions(["c1", "c2"]) == {"c1": 7, "c2": 6}


async def test_late_write_does_not_bring_back_a_deleted_row(index: ElasticsearchTextIndex) -> None:
    await index.upsert([row("c1", version=7)])
    for _ in range(5):
        await index.delete(["c1"])
    await index.upsert([row("c1", version=7)])
    assert await ids(index) == []
    await index.upsert([row("c1", version=8)])
    assert await index.versions(["c1"]) == {"c1": 8}


async def test_long_values_and_odd_ids(index: ElasticsearchTextIndex) -> None:
    long = "x" * 40_000
    await index.upsert([row("c1", path=long, tags=("a", long)), row("c2", path="\udc80")])
    assert await ids(index, where=Eq("path", long[:4096])) == []
    assert await ids(index, where=Not(Missing("path"))) == ["c1", "c2"]
    assert await ids(index, where=Eq("tags", "a")) == ["c1"]
    odd = ["\udc80", "", "x" * 513]
    await index.delete(odd)
    assert await index.versions([*odd, "c1"]) == {"c1": 1}
    for name in odd:
        with pytest.raises(StoreRejected, match="chunk"):
            await index.upsert([row(name)])


async def test_refuses_what_it_would_hold_otherwise(index: ElasticsearchTextIndex) -> None:
    for field, value in (("said_at", "2024"), ("authority", "1"), ("tags", "a"), ("path", 1)):
        with pytest.raises(InvalidRequest, match=f"c1.*{field}"):
            await index.upsert([row("c0"), row("c1", **{field: value})])  # type: ignore[arg-type]  # wrong on purpose
    for term in ("two words", "", "a\u3000b", "a\x1cb", "\ud800"):
        with pytest.raises(StoreRejected, match="c1"):
            await index.upsert([row("c0"), row("c1", [term])])
    assert await scanned(index) == {}


async def test_longest_terms_are_found(index: ElasticsearchTextIndex) -> None:
    long, wide = "a" * 300, "😀" * 200
    await index.upsert([row("c1", [long, "b"]), row("c2", [wide])])
    assert await ids(index, long) == ["c1"]
    assert await ids(index, wide) == ["c2"]
    assert await ids(index, "a" * 45) == []


async def test_filters_of_ten_thousand_values(index: ElasticsearchTextIndex) -> None:
    await index.upsert([row(f"c{n:02d}", path=f"p{n}", authority=float(n)) for n in range(20)])
    paths = tuple(f"p{n}" for n in range(10, 10 + MAX_VALUES))
    numbers = tuple(float(n) for n in range(10, 10 + MAX_VALUES))
    wanted = [f"c{n:02d}" for n in range(10, 20)]
    several: tuple[Filter, ...] = (
        In("path", paths),
        In("authority", numbers),
        AnyOf(tuple(Eq("path", path) for path in paths)),
        AllOf((In("path", paths), Not(Not(In("path", paths))))),
    )
    for where in several:
        assert await ids(index, where=where) == wanted
    assert await ids(index, where=Not(In("path", paths))) == [f"c{n:02d}" for n in range(10)]


async def test_more_hits_than_one_answer_holds(index: ElasticsearchTextIndex) -> None:
    rows = [row(f"c{n:05d}", version=n + 1) for n in range(10_001)]
    await index.upsert([*rows[5000:], *rows[:5000]])
    assert await ids(index, limit=20_000) == [held.row.chunk_id for held in rows]
    assert await scanned(index) == {held.row.chunk_id: held.row.version for held in rows}
    assert len(await index.versions([held.row.chunk_id for held in rows])) == 10_001
    await index.delete([held.row.chunk_id for held in rows])
    assert await ids(index) == []


async def test_scan_is_of_one_moment_and_gives_its_view_back(
    index: ElasticsearchTextIndex, elasticsearch_url: str
) -> None:
    await index.upsert([row(f"c{n:05d}") for n in range(5001)])
    seen = 0
    async with aclosing(index.scan()) as batches:
        async for batch in batches:
            seen += len(batch)
            await index.delete(["c00000", "c05000"])
            await index.upsert([row(f"late{seen}")])
    assert seen == 5001
    async with aclosing(index.scan()) as batches:
        await anext(batches)
        assert await open_views(elasticsearch_url) == 1
    assert await open_views(elasticsearch_url) == 0


async def open_views(url: str) -> int:
    async with httpx.AsyncClient(base_url=url) as client:
        nodes = (await client.get("/_nodes/stats/indices/search")).json()["nodes"]
    return sum(node["indices"]["search"]["open_contexts"] for node in nodes.values())


async def test_reader_before_and_after_the_writer(settings: TextIndexSettings) -> None:
    reader = await ElasticsearchTextIndex.open(settings, read_only=True)
    with pytest.raises(StoreUnavailable, match="no index yet"):
        await ids(reader)
    with pytest.raises(StoreUnavailable, match="no index yet"):
        await reader.upsert([row("c1")])
    with pytest.raises(StoreUnavailable, match="no index yet"):
        await reader.delete(["c1"])
    writer, other = await asyncio.gather(
        ElasticsearchTextIndex.open(settings), ElasticsearchTextIndex.open(settings)
    )
    await asyncio.gather(writer.upsert([row("c1")]), other.upsert([row("c2")]))
    assert await ids(reader) == ["c1", "c2"]
    for one in (reader, writer, other):
        await one.close()


async def test_replacement_is_seen_by_all_at_once(
    settings: TextIndexSettings, index: ElasticsearchTextIndex
) -> None:
    await index.upsert([row("old")])
    left_over = await Replacement.begin(settings)
    await left_over.index.upsert([row("half")])
    await left_over.index.close()
    replacement = await Replacement.begin(settings)
    await replacement.index.upsert([row("new", version=2)])
    assert await ids(index) == ["old"]
    await replacement.swap()
    assert await ids(index) == ["new"]
    await index.upsert([row("later")])
    assert await scanned(index) == {"new": 2, "later": 1}
    abandoned = await Replacement.begin(settings)
    await abandoned.abandon()
    assert sorted(await ids(index)) == ["later", "new"]


async def test_foreign_index_is_refused_with_the_way_out(
    settings: TextIndexSettings, elasticsearch_url: str
) -> None:
    async with httpx.AsyncClient(base_url=elasticsearch_url) as client:
        body: dict[str, object] = {"aliases": {settings.index: {}}}
        (await client.put(f"/{settings.index}-v1-000007", json=body)).raise_for_status()
        with pytest.raises(StoreRejected, match=r"not made by Palimpsest.*text_index\.index"):
            await ElasticsearchTextIndex.open(settings)
        body = {"_meta": {"palimpsest_layout": 0}}
        answer = await client.put(f"/{settings.index}-v1-000007/_mapping", json=body)
        answer.raise_for_status()
    with pytest.raises(StoreRejected, match=r"layout 0, not 1; rebuild"):
        await ElasticsearchTextIndex.open(settings, read_only=True)
    await (await Replacement.begin(settings)).swap()
    index = await ElasticsearchTextIndex.open(settings)
    assert await scanned(index) == {}
    await index.close()


async def test_full_disk_is_named_and_costs_nothing(
    index: ElasticsearchTextIndex, settings: TextIndexSettings, elasticsearch_url: str
) -> None:
    """The block is the one that the server sets at its flood-stage watermark."""
    await index.upsert([row("c1")])
    path = f"/{settings.index}/_settings"
    async with httpx.AsyncClient(base_url=elasticsearch_url) as client:
        await client.put(path, json={"index.blocks.read_only_allow_delete": True})
        with pytest.raises(StoreUnavailable, match=r"watermark.*free some space"):
            await index.upsert([row("c2")])
        assert await ids(index) == ["c1"]
        await client.put(path, json={"index.blocks.read_only_allow_delete": None})
        await index.upsert([row("c2")])
        await client.put(path, json={"index.blocks.write": True})
        with pytest.raises(StoreUnavailable, match=r"blocked.*lift"):
            await index.delete(["c2"])
    assert await ids(index) == ["c1", "c2"]


async def test_red_index_is_unavailable(elasticsearch_url: str) -> None:
    settings = new_settings(elasticsearch_url, timeout_s=2.0)
    async with httpx.AsyncClient(base_url=elasticsearch_url) as client:
        nowhere: dict[str, object] = {
            "settings": {
                "index.routing.allocation.require._name": "nobody",
                "number_of_replicas": 0,
            },
            "mappings": mappings(),
            "aliases": {settings.index: {}},
        }
        path = f"/{settings.index}-v1-000001?wait_for_active_shards=0"
        (await client.put(path, json=nowhere)).raise_for_status()
    with pytest.raises(StoreUnavailable, match=r"is red: 1 of its shards.*allocation/explain"):
        await ElasticsearchTextIndex.open(settings)
    reader = await ElasticsearchTextIndex.open(settings, read_only=True)
    with pytest.raises(StoreUnavailable, match="search"):
        await ids(reader)
    for call in (reader.upsert([row("c1")]), reader.delete(["c1"]), reader.versions(["c1"])):
        with pytest.raises(StoreUnavailable):
            await call
    with pytest.raises(StoreUnavailable):
        await scanned(reader)
    await reader.close()
    await removed(settings)


async def test_nobody_there() -> None:
    settings = new_settings("http://127.0.0.1:9", timeout_s=2.0)
    with pytest.raises(StoreUnavailable, match="not reached"):
        await ElasticsearchTextIndex.open(settings)
