"""The indexer between a ledger and both indexes: nothing is shown that cannot be found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from cluster.errors import InvalidRequest, StoreRejected, StoreUnavailable
from cluster.indexer import MAX_TRY_REST, Indexer
from cluster.model import Scope
from cluster.settings import IndexerSettings, PostgresSettings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared, TextRow, VectorIndex, VectorRow
from cluster.stores.views import FixedViews, Within
from contract.postgres import wipe
from contract.samples import DIM, FINGERPRINT, NOW, chunk_ids, prepared, put, vector_of, vectors_of

ACME = Scope(tenant="acme")
MAX_ATTEMPTS = IndexerSettings().max_attempts


@dataclass
class MovableClock:
    moment: datetime = NOW

    def now(self) -> datetime:
        return self.moment

    def advance(self, by: timedelta = timedelta(minutes=1)) -> None:
        self.moment += by


class FragileVectors(MemoryVectorIndex):
    """Can be out of reach, refuse chunks, or forget what it was given."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self.reachable = True
        self.refused: set[str] = set()
        self.forgets: set[str] = set()
        self.refuses_probes = False
        self.flushes = 0
        self.upserts = 0

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        self.upserts += 1
        if not self.reachable:
            raise StoreUnavailable("vectors", "no route")
        for row in rows:
            if row.row.chunk_id in self.refused:
                raise StoreRejected("vectors", f"bad chunk {row.row.chunk_id}")
        await super().upsert(rows)
        if gone := [one.row.chunk_id for one in rows if one.row.chunk_id in self.forgets]:
            await self.delete(gone)

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        if self.refuses_probes:
            raise StoreRejected("vectors", "bad probe")
        return await super().versions(chunk_ids)

    async def flush(self) -> None:
        self.flushes += 1


@dataclass
class House:
    ledger: Ledger
    vectors: FragileVectors
    texts: MemoryTextIndex
    clock: MovableClock

    def indexer(self) -> Indexer:
        views = FixedViews(by_fingerprint={FINGERPRINT: self.vectors}, text_index=self.texts)
        return Indexer(self.ledger, views, self.clock)

    async def shown(self, *batch: Prepared) -> set[str]:
        async with self.ledger.transaction() as tx:
            found = await tx.documents.visible(ACME, chunk_ids(*batch))
        return {passage.path for passage in found.values()}

    async def indexed(self, *batch: Prepared) -> set[str]:
        ids = chunk_ids(*batch)
        both = (await self.vectors.versions(ids)).keys() & (await self.texts.versions(ids)).keys()
        return set(both)


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.stores)])
async def house(request: pytest.FixtureRequest) -> AsyncIterator[House]:
    ledger: Ledger = MemoryLedger()
    if request.param == "postgres":
        url = request.getfixturevalue("module_database_url")
        wipe(url)
        ledger = await PostgresLedger.open(url, PostgresSettings())
    yield House(ledger, FragileVectors(), MemoryTextIndex(), MovableClock())
    await ledger.close()


async def exhaust(indexer: Indexer) -> None:
    while await indexer.drain():
        pass


async def test_put_drain_shown(house: House) -> None:
    one, two = prepared("one.md"), prepared("two.md", "Other words here.")
    await put(house.ledger, one, two)
    indexer = house.indexer()
    assert await indexer.drain() == 4
    assert await house.shown(one, two) == {"one.md", "two.md"}
    assert await house.indexed(one, two) == set(chunk_ids(one, two))
    near = await house.vectors.search(vector_of("x"), scope=ACME, where=None, limit=9)
    assert {chunk for chunk, _ in near} == set(chunk_ids(one, two))
    status = indexer.status()
    assert (status.written, status.published, status.open_entries) == (4, 2, 0)
    assert status.rows_per_s > 0
    assert await indexer.drain() == 0


async def test_a_half_indexed_revision_stays_hidden(house: House) -> None:
    one = prepared(body="abcdef ghijkl mnopqr", pieces=4)
    await put(house.ledger, one)
    indexer = house.indexer()
    assert await indexer.drain(limit=3) == 3
    assert await house.shown(one) == set()
    assert indexer.status().open_entries == 1
    await indexer.drain(limit=3)
    assert await house.shown(one) == {"guide.md"}


async def test_superseded_and_deleted_chunks_leave_both_indexes(house: House) -> None:
    old, new = prepared(body="old words here"), prepared(body="new words there")
    indexer = house.indexer()
    await put(house.ledger, old)
    await exhaust(indexer)
    await put(house.ledger, new)
    await exhaust(indexer)
    assert await house.indexed(old, new) == set(chunk_ids(new))
    async with house.ledger.transaction() as tx:
        await tx.documents.delete(ACME, [new.revision.document_id])
    await exhaust(indexer)
    assert await house.indexed(old, new) == set()
    # Two when superseded, and all four when the document went: twice costs nothing.
    assert indexer.status().removed == 6


async def test_the_newest_state_wins_over_the_entry(house: House) -> None:
    one = prepared()
    await put(house.ledger, one)
    async with house.ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])
    await exhaust(house.indexer())
    assert await house.indexed(one) == set()
    await put(house.ledger, one)
    await exhaust(house.indexer())
    assert await house.shown(one) == {"guide.md"}


async def test_a_changed_flag_reaches_the_indexes(house: House) -> None:
    old, new = prepared(edition="1", body="text of one"), prepared(edition="2", body="text of two")
    indexer = house.indexer()
    await put(house.ledger, old)
    await exhaust(indexer)
    before = await house.texts.versions(chunk_ids(old))
    await put(house.ledger, new)
    await exhaust(indexer)
    after = await house.texts.versions(chunk_ids(old))
    assert all(after[chunk] > version for chunk, version in before.items())


async def test_an_unreachable_index_leaves_the_work_owed(house: House) -> None:
    one = prepared()
    await put(house.ledger, one)
    house.vectors.reachable = False
    indexer = house.indexer()
    with pytest.raises(StoreUnavailable):
        await indexer.drain()
    async with house.ledger.transaction() as tx:
        assert len(await tx.outbox.take(limit=9)) == 2
    house.vectors.reachable = True
    await exhaust(indexer)
    assert await house.shown(one) == {"guide.md"}


async def test_a_refused_chunk_hides_only_its_document(house: House) -> None:
    good = [prepared(f"{number}.md", f"good words {number}") for number in range(5)]
    bad = prepared("bad.md", "bad words here")
    await put(house.ledger, *good[:3], bad, *good[3:])
    house.vectors.refused = {bad.chunks[0].chunk_id}
    indexer = house.indexer()
    await exhaust(indexer)
    assert await house.shown(bad, *good) == {one.revision.path for one in good}
    assert (indexer.status().open_entries, indexer.status().set_aside) == (1, 0)
    for _ in range(MAX_ATTEMPTS - 1):
        house.clock.advance(MAX_TRY_REST)
        await exhaust(indexer)
    status = indexer.status()
    assert (status.open_entries, status.set_aside) == (0, 1)
    assert bad.chunks[0].chunk_id in (status.last_error or "")
    async with house.ledger.transaction() as tx:
        (aside,) = await tx.outbox.set_aside(limit=9)
    assert (aside.path, aside.revision_state) == ("bad.md", "pending")
    assert (aside.attempts, aside.since) == (MAX_ATTEMPTS, house.clock.now())
    assert "bad chunk" in aside.reason
    house.vectors.refused = set()
    house.clock.advance(timedelta(days=1))
    await exhaust(indexer)
    assert await house.shown(bad) == set()
    async with house.ledger.transaction() as tx:
        assert await tx.outbox.retry() == 1
    await exhaust(indexer)
    assert await house.shown(bad) == {"bad.md"}
    assert indexer.status().set_aside == 0


async def test_a_row_that_an_index_cannot_make_sense_of_holds_up_no_other(house: House) -> None:
    bad, good = prepared("bad.md", "A row with a wrong field."), prepared("good.md")
    house.texts = PickyTexts(bad.chunks[0].chunk_id)
    await put(house.ledger, bad, good)
    indexer = house.indexer()
    await exhaust(indexer)
    assert await house.shown(bad, good) == {"good.md"}
    assert "cannot be" in (indexer.status().last_error or "")


class PickyTexts(MemoryTextIndex):
    def __init__(self, wrong: str) -> None:
        super().__init__()
        self._wrong = wrong

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        if any(row.row.chunk_id == self._wrong for row in rows):
            raise InvalidRequest(f"chunk {self._wrong}: field 'tags' cannot be 7")
        await super().upsert(rows)


async def test_an_outage_is_no_attempt(house: House) -> None:
    one = prepared()
    await put(house.ledger, one)
    house.vectors.reachable = False
    indexer = house.indexer()
    for _ in range(2 * MAX_ATTEMPTS):
        with pytest.raises(StoreUnavailable):
            await indexer.drain()
        house.clock.advance()
    async with house.ledger.transaction() as tx:
        assert {entry.attempts for entry in await tx.outbox.take(limit=9)} == {0}


async def test_a_refused_row_is_tried_anew_when_it_is_owed_anew(house: House) -> None:
    one = prepared()
    await put(house.ledger, one)
    house.vectors.refused = {one.chunks[0].chunk_id}
    indexer = house.indexer()
    for _ in range(MAX_ATTEMPTS):
        await exhaust(indexer)
        house.clock.advance(MAX_TRY_REST)
    assert indexer.status().set_aside == 1
    house.vectors.refused = set()
    async with house.ledger.transaction() as tx:
        await tx.documents.requeue([one.chunks[0].chunk_id])
        assert await tx.outbox.aside() == 0
    await exhaust(indexer)
    assert await house.shown(one) == {"guide.md"}


async def test_a_flag_that_an_index_refuses_stays_owed(house: House) -> None:
    old, new = prepared(edition="1", body="text of one"), prepared(edition="2", body="text of two")
    indexer = house.indexer()
    await put(house.ledger, old)
    await exhaust(indexer)
    before = await house.vectors.versions(chunk_ids(old))
    house.vectors.refused = {old.chunks[0].chunk_id}
    await put(house.ledger, new)
    await exhaust(indexer)
    other = prepared("other.md", "words that come later")
    await put(house.ledger, other)
    await exhaust(indexer)
    assert await house.shown(other) == {"other.md"}
    assert indexer.status().open_entries == 1
    house.vectors.refused = set()
    assert await indexer.drain() == 0
    house.clock.advance()
    await exhaust(indexer)
    assert indexer.status().open_entries == 0
    after = await house.vectors.versions(chunk_ids(old))
    assert all(after[chunk] > version for chunk, version in before.items())


class Generations:
    """A house with a second vector index that is being built."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.building = FragileVectors()
        views = FixedViews(
            by_fingerprint={FINGERPRINT: house.vectors, "newer": self.building},
            text_index=house.texts,
        )
        self.indexer = Indexer(house.ledger, views, house.clock)

    async def encode(self, *batch: Prepared) -> None:
        async with self.house.ledger.transaction() as tx:
            await tx.vectors.put(vectors_of(batch), fingerprint="newer")
            await tx.outbox.owe(chunk_ids(*batch), target="newer")


async def test_each_generation_gets_what_it_has_vectors_for(house: House) -> None:
    twice = Generations(house)
    one, two = prepared("one.md"), prepared("two.md", "Other words here.")
    await put(house.ledger, one, two)
    await exhaust(twice.indexer)
    assert await house.shown(one, two) == {"one.md", "two.md"}
    assert await twice.building.versions(chunk_ids(one, two)) == {}
    upserts = house.vectors.upserts
    versions = await house.vectors.versions(chunk_ids(one, two))
    await twice.encode(one)
    await exhaust(twice.indexer)
    assert house.vectors.upserts == upserts
    assert (await twice.building.versions(chunk_ids(one))).items() <= versions.items()
    assert len(await twice.building.versions(chunk_ids(one, two))) == 2
    async with house.ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])
    await exhaust(twice.indexer)
    assert await twice.building.versions(chunk_ids(one)) == {}


async def test_a_generation_that_refuses_does_not_hide_anything(house: House) -> None:
    twice = Generations(house)
    one = prepared()
    async with house.ledger.transaction() as tx:
        await tx.vectors.put(vectors_of([one]), fingerprint="newer")
    twice.building.refused = set(chunk_ids(one))
    await put(house.ledger, one)
    await exhaust(twice.indexer)
    assert await house.shown(one) == {"guide.md"}
    async with house.ledger.transaction() as tx:
        left = await tx.outbox.take(limit=9)
    assert {(entry.chunk_id, entry.target) for entry in left} == {
        (chunk, "newer") for chunk in chunk_ids(one)
    }
    twice.building.refused = set()
    house.clock.advance()
    await exhaust(twice.indexer)
    assert len(await twice.building.versions(chunk_ids(one))) == 2


class AwayViews:
    """As `LiveViews` while the index of the generation that is built cannot be opened."""

    def __init__(self, twice: Generations) -> None:
        self.twice, self.text_index, self.away = twice, twice.house.texts, True

    async def vector_indexes(self) -> Mapping[str, VectorIndex]:
        return {FINGERPRINT: self.twice.house.vectors, "newer": self.twice.building}

    async def within_reach(self) -> Within:
        every = await self.vector_indexes()
        if not self.away:
            return Within(reach=every, away={})
        return Within(reach={FINGERPRINT: every[FINGERPRINT]}, away={"newer": "is damaged"})

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_generation_that_cannot_be_opened_holds_up_no_other(house: House) -> None:
    twice = Generations(house)
    views = AwayViews(twice)
    indexer = Indexer(house.ledger, views, house.clock)
    gone, one, plain = prepared("gone.md"), prepared("one.md"), prepared("plain.md", "No vector.")
    async with house.ledger.transaction() as tx:
        await tx.vectors.put(vectors_of([gone, one]), fingerprint="newer")
    await put(house.ledger, gone)
    await exhaust(twice.indexer)
    await put(house.ledger, one, plain)
    async with house.ledger.transaction() as tx:
        await tx.documents.delete(ACME, [gone.revision.document_id])
    await exhaust(indexer)
    assert await house.shown(gone, one, plain) == {"one.md", "plain.md"}
    assert "is damaged" in (indexer.status().last_error or "")
    async with house.ledger.transaction() as tx:
        left = await tx.outbox.take(limit=99)
    assert {(entry.chunk_id, entry.target, entry.attempts) for entry in left} == {
        (chunk, "newer", 0) for chunk in chunk_ids(gone, one)
    }
    views.away = False
    await exhaust(indexer)
    there = await twice.building.versions(chunk_ids(gone, one, plain))
    assert there.keys() == set(chunk_ids(one))
    assert indexer.status().open_entries == 0


async def test_what_a_generation_that_is_not_live_is_owed_stays_owed(house: House) -> None:
    one = prepared()
    await put(house.ledger, one)
    async with house.ledger.transaction() as tx:
        await tx.outbox.owe(chunk_ids(one), target="unknown")
    await exhaust(house.indexer())
    assert await house.shown(one) == {"guide.md"}
    async with house.ledger.transaction() as tx:
        assert {entry.target for entry in await tx.outbox.take(limit=9)} == {"unknown"}
        assert await tx.outbox.drop_target("unknown") == 2
        assert await tx.outbox.lag() == (0, timedelta(0))


async def test_without_its_vector_nothing_is_shown(house: House) -> None:
    one = prepared(fingerprint="former")
    await put(house.ledger, one)
    indexer = house.indexer()
    await exhaust(indexer)
    assert await house.shown(one) == set()
    assert "vector" in (indexer.status().last_error or "")
    async with house.ledger.transaction() as tx:
        await tx.vectors.put(vectors_of([one]), fingerprint=FINGERPRINT)
    house.clock.advance()
    await exhaust(indexer)
    assert await house.shown(one) == {"guide.md"}


async def test_what_an_index_forgot_is_written_again(house: House) -> None:
    one = prepared()
    await put(house.ledger, one)
    house.vectors.forgets = {one.chunks[1].chunk_id}
    indexer = house.indexer()
    await exhaust(indexer)
    assert await house.shown(one) == set()
    house.vectors.forgets = set()
    house.clock.advance()
    await exhaust(indexer)
    house.clock.advance()
    await exhaust(indexer)
    assert await house.shown(one) == {"guide.md"}
    assert indexer.status().requeued == 1


async def test_the_old_revision_is_shown_until_the_new_one_is_found(house: House) -> None:
    old, new = prepared(body="old words here"), prepared(body="new words there")
    indexer = house.indexer()
    await put(house.ledger, old)
    await exhaust(indexer)
    house.vectors.forgets = {new.chunks[1].chunk_id}
    await put(house.ledger, new)
    for _ in range(4):
        await exhaust(indexer)
        assert await house.shown(old) == {"guide.md"}
        assert await house.shown(new) == set()
        assert await house.indexed(old) == set(chunk_ids(old))
        house.clock.advance()
    house.vectors.forgets = set()
    for _ in range(2):
        await exhaust(indexer)
        house.clock.advance()
    assert await house.shown(old) == set()
    assert await house.shown(new) == {"guide.md"}
    await exhaust(indexer)
    assert await house.indexed(old, new) == set(chunk_ids(new))


async def test_running_until_stopped(house: House) -> None:
    stop = asyncio.Event()
    indexer = house.indexer()
    running = asyncio.create_task(indexer.run(stop))
    one = prepared()
    await put(house.ledger, one)
    await eventually(lambda: house.shown(one))
    assert indexer.status().active
    stop.set()
    await asyncio.wait_for(running, timeout=5)
    assert not indexer.status().active


async def test_running_through_an_outage(house: House) -> None:
    stop = asyncio.Event()
    house.vectors.reachable = False
    indexer = house.indexer()
    running = asyncio.create_task(indexer.run(stop))
    one = prepared()
    await put(house.ledger, one)

    async def complained() -> bool:
        return "no route" in (indexer.status().last_error or "")

    await eventually(complained)
    house.vectors.reachable = True
    await eventually(lambda: house.shown(one))
    stop.set()
    await asyncio.wait_for(running, timeout=5)


async def test_running_through_a_refusal(house: House) -> None:
    stop = asyncio.Event()
    house.vectors.refuses_probes = True
    indexer = house.indexer()
    running = asyncio.create_task(indexer.run(stop))
    one = prepared()
    await put(house.ledger, one)

    async def complained() -> bool:
        return "bad probe" in (indexer.status().last_error or "")

    await eventually(complained)
    assert not running.done()
    house.vectors.refuses_probes = False
    await eventually(lambda: house.shown(one))
    stop.set()
    await asyncio.wait_for(running, timeout=5)


async def test_a_second_indexer_waits_and_takes_over(house: House) -> None:
    stops = [asyncio.Event(), asyncio.Event()]
    first, second = house.indexer(), house.indexer()
    tasks = [asyncio.create_task(first.run(stops[0]))]

    async def active(indexer: Indexer) -> bool:
        return indexer.status().active

    await eventually(lambda: active(first))
    tasks.append(asyncio.create_task(second.run(stops[1])))
    await asyncio.sleep(0.3)
    assert not second.status().active
    stops[0].set()
    await eventually(lambda: active(second))
    assert not first.status().active
    stops[1].set()
    await asyncio.wait_for(asyncio.gather(*tasks), timeout=5)


async def test_a_waiting_indexer_can_be_stopped(house: House) -> None:
    async with house.ledger.lease("indexer"):
        stop = asyncio.Event()
        running = asyncio.create_task(house.indexer().run(stop))
        await asyncio.sleep(0.2)
        stop.set()
        await asyncio.wait_for(running, timeout=5)


async def test_flushes_after_bulk_work_and_after_a_quiet_time(house: House) -> None:
    stop = asyncio.Event()
    indexer = house.indexer()
    running = asyncio.create_task(indexer.run(stop))
    one = prepared()
    await put(house.ledger, one)
    await eventually(lambda: house.shown(one))
    await asyncio.sleep(1.2)
    assert house.vectors.flushes == 0
    house.clock.advance()

    async def flushed() -> bool:
        return house.vectors.flushes == 1

    await eventually(flushed)
    bulk = [prepared(f"{number}.md", f"words {number}" * 9, pieces=6) for number in range(200)]
    await put(house.ledger, *bulk)

    async def flushed_again() -> bool:
        return house.vectors.flushes == 2

    await eventually(flushed_again)
    stop.set()
    await asyncio.wait_for(running, timeout=5)
    assert indexer.status().flushes == 2


async def eventually(true: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(20):
        while not await true():  # noqa: ASYNC110 - polls stores, which have no events
            await asyncio.sleep(0.02)
