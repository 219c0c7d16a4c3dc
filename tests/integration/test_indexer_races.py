"""Two drainers, leases that are lost, writes that come late: the indexes end as the ledger is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.errors import StoreUnavailable
from cluster.indexer import REST, Indexer
from cluster.indexing.late_writes import LATE
from cluster.model import Scope
from cluster.settings import IndexerSettings, PostgresSettings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Lease, Ledger, TextRow, Transaction, VectorRow
from cluster.stores.views import FixedViews
from contract.postgres import wipe
from contract.samples import DIM, FINGERPRINT, NOW, chunk_ids, prepared, put

ACME = Scope(tenant="acme")
REVISIONS = [
    prepared(path, body) for path in ("a.md", "b.md") for body in ("first words", "other words")
]
EDITIONS = [prepared("a.md", "the second edition", edition="2")]
EVERYTHING = [*REVISIONS, *EDITIONS]
IDS = chunk_ids(*EVERYTHING)


@dataclass
class MovableClock:
    at: timedelta = timedelta(0)

    def now(self) -> datetime:
        return NOW + self.at


class Line:
    """What one drainer writes goes through here: held back until it is let through, or given up
    by the drainer and applied later."""

    def __init__(self) -> None:
        self.is_open = False
        self.lose_next = False
        self.late: list[Callable[[], Awaitable[None]]] = []
        self._free = asyncio.Semaphore(0)
        self.waiting = 0

    def let_one(self) -> None:
        self._free.release()

    def open_for_good(self) -> None:
        self.is_open = True
        for _ in range(self.waiting):
            self._free.release()

    async def carry(self, write: Callable[[], Awaitable[None]]) -> None:
        if self.lose_next:
            self.lose_next = False
            self.late.append(write)
            raise StoreUnavailable("index", "timed out")
        if not self.is_open:
            self.waiting += 1
            await self._free.acquire()
            self.waiting -= 1
        await write()


class LinedVectors(MemoryVectorIndex):
    def __init__(self, behind: MemoryVectorIndex, line: Line) -> None:
        super().__init__(DIM)
        self._behind = behind
        self._line = line
        self.versions = behind.versions  # type: ignore[method-assign]

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        await self._line.carry(lambda: self._behind.upsert(rows))

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        await self._line.carry(lambda: self._behind.delete(chunk_ids))


class LinedTexts(MemoryTextIndex):
    def __init__(self, behind: MemoryTextIndex, line: Line) -> None:
        super().__init__()
        self._behind = behind
        self._line = line
        self.versions = behind.versions  # type: ignore[method-assign]

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        await self._line.carry(lambda: self._behind.upsert(rows))

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        await self._line.carry(lambda: self._behind.delete(chunk_ids))


class Right:
    """The right to drain, which can be taken from its holder without his noticing."""

    def __init__(self) -> None:
        self.holder: TakenLease | None = None

    def take_away(self) -> None:
        if self.holder:
            self.holder.lost = True
            self.holder = None


class TakenLease:
    def __init__(self) -> None:
        self.lost = False

    async def check(self) -> None:
        if self.lost:
            raise StoreUnavailable("ledger", "the lease is lost")


class Between:
    """A ledger whose leases are those of `right`."""

    def __init__(self, ledger: Ledger, right: Right) -> None:
        self._right = right
        self._ledger = ledger
        self.transaction = ledger.transaction

    @asynccontextmanager
    async def lease(self, *names: str) -> AsyncIterator[Lease]:
        async with self.lease_any([names]) as (_, lease):
            yield lease

    @asynccontextmanager
    async def lease_any(self, groups: Sequence[Sequence[str]]) -> AsyncIterator[tuple[int, Lease]]:
        while self._right.holder is not None:  # noqa: ASYNC110 - set by the test
            await asyncio.sleep(0.001)
        mine = self._right.holder = TakenLease()
        try:
            yield 0, mine
        finally:
            if self._right.holder is mine:
                self._right.holder = None

    async def wake_ups(self) -> AsyncGenerator[None, None]:
        while True:
            await asyncio.sleep(0.002)
            yield

    async def close(self) -> None:
        """Who opened the ledger closes it."""


class Race:
    """Two drainers before one ledger and the same two indexes."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.clock = MovableClock()
        self.right = Right()
        self.vectors, self.texts = MemoryVectorIndex(DIM), MemoryTextIndex()
        self.lines = [Line(), Line()]
        self.stop = asyncio.Event()
        self.drainers = [Indexer(Between(ledger, self.right), self._views(line), self.clock)
                         for line in self.lines]  # fmt: skip
        self.running = [asyncio.create_task(one.run(self.stop)) for one in self.drainers]

    def _views(self, line: Line) -> FixedViews:
        return FixedViews(
            by_fingerprint={FINGERPRINT: LinedVectors(self.vectors, line)},
            text_index=LinedTexts(self.texts, line),
        )

    async def act(self, name: str, which: int) -> None:
        line = self.lines[which % 2]
        match name:
            case "put":
                await put(self.ledger, EVERYTHING[which % len(EVERYTHING)])
            case "delete":
                document = EVERYTHING[which % len(EVERYTHING)].revision.document_id
                await self._do(lambda tx: tx.documents.delete(ACME, [document]))
            case "requeue":
                await self._do(lambda tx: tx.documents.requeue([IDS[which % len(IDS)]]))
            case "let":
                line.let_one()
            case "lose":
                line.lose_next = True
            case "late" if line.late:
                await line.late.pop(0)()
            case "hand over":
                self.right.take_away()
        await asyncio.sleep(0.004)

    async def finish(self) -> None:
        """Nothing is held back any more; what was given up arrives; time goes by."""
        for line in self.lines:
            line.lose_next = False
            line.open_for_good()
            for write in line.late:
                await write()
        async with asyncio.timeout(20):
            for _ in range(3):
                self.clock.at += max(LATE, REST)
                await asyncio.sleep(0.05)
                while await self._owed() or any(line.waiting for line in self.lines):
                    self.clock.at += timedelta(seconds=1)
                    await asyncio.sleep(0.01)
        self.stop.set()
        await asyncio.gather(*self.running)

    async def check(self) -> None:
        async with self.ledger.transaction() as tx:
            work = await tx.outbox.work(IDS)
            pending = (await tx.documents.counts(None))["pending"]
        wanted = {one.chunk_id: one.row.version for one in work if one.row is not None}
        assert await self.vectors.versions(IDS) == wanted
        assert await self.texts.versions(IDS) == wanted
        assert pending == 0

    async def _owed(self) -> int:
        async with self.ledger.transaction() as tx:
            count, _ = await tx.outbox.lag()
            return count + (await tx.documents.counts(None))["pending"]

    async def _do(self, work: Callable[[Transaction], Awaitable[object]]) -> None:
        async with self.ledger.transaction() as tx:
            await work(tx)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["put", "put", "delete", "requeue", "let", "let", "let", "lose", "late", "hand over"]
        ),
        st.integers(0, 9),
    ),
    min_size=4,
    max_size=24,
)


async def race(ledger: Ledger, acts: list[tuple[str, int]]) -> None:
    running = Race(ledger)
    for name, which in acts:
        await running.act(name, which)
    await running.finish()
    await running.check()


SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))


@given(acts=ACTS)
@settings(SETTINGS, max_examples=40)
def test_however_two_drainers_interleave_the_reference_ends_right(
    acts: list[tuple[str, int]],
) -> None:
    asyncio.run(race(MemoryLedger(), acts))


@pytest.fixture(scope="module")
def url(module_database_url: str) -> str:
    return module_database_url


@pytest.fixture(autouse=True)
def _no_long_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.indexer.FIRST_BACK_OFF_S", 0.004)
    monkeypatch.setattr("cluster.indexer.MAX_BACK_OFF_S", 0.02)


@pytest.mark.stores
@given(acts=ACTS)
@settings(SETTINGS, max_examples=12)
def test_however_two_drainers_interleave_postgres_ends_right(
    url: str, acts: list[tuple[str, int]]
) -> None:
    async def run() -> None:
        wipe(url)
        ledger = await PostgresLedger.open(url, PostgresSettings())
        try:
            await race(ledger, acts)
        finally:
            await ledger.close()

    asyncio.run(run())


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[PostgresLedger]:
    wipe(url)
    ledger = await PostgresLedger.open(url, PostgresSettings())
    yield ledger
    await ledger.close()


@pytest.mark.stores
async def test_a_drainer_whose_session_ended_takes_back_what_it_wrote(
    ledger: PostgresLedger, url: str
) -> None:
    """As after a failover: the lease is gone with its connection, a second drainer deletes the
    rows, and the first one, which was in the middle of writing them, goes on."""
    one = prepared(body="words that shall not come back")
    vectors, texts = MemoryVectorIndex(DIM), MemoryTextIndex()
    line = Line()
    slow = FixedViews(
        by_fingerprint={FINGERPRINT: LinedVectors(vectors, line)},
        text_index=LinedTexts(texts, line),
    )
    fast = FixedViews(by_fingerprint={FINGERPRINT: vectors}, text_index=texts)
    stop, clock = asyncio.Event(), MovableClock()
    first = Indexer(ledger, slow, clock)
    tasks = [asyncio.create_task(first.run(stop))]
    await put(ledger, one)
    await until(lambda: line.waiting)
    cut_connections(url)
    second = Indexer(ledger, fast, clock)
    tasks.append(asyncio.create_task(second.run(stop)))
    await until(lambda: second.status().active)
    async with ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])
    await until(lambda: second.status().removed >= 2)
    line.open_for_good()
    await until(lambda: first.status().requeued == 2)
    await until(lambda: second.status().removed >= 4)
    stop.set()
    await asyncio.gather(*tasks)
    assert await vectors.versions(chunk_ids(one)) == {}
    assert await texts.versions(chunk_ids(one)) == {}


@pytest.mark.stores
async def test_what_nobody_called_for_is_found_by_looking(ledger: PostgresLedger, url: str) -> None:
    stop = asyncio.Event()
    vectors, texts = MemoryVectorIndex(DIM), MemoryTextIndex()
    views = FixedViews(by_fingerprint={FINGERPRINT: vectors}, text_index=texts)
    indexer = Indexer(ledger, views, MovableClock())
    running = asyncio.create_task(indexer.run(stop))
    await until(lambda: indexer.status().active)
    await asyncio.sleep(0.3)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO outbox (chunk_id, version, operation)"
            " VALUES ('chk_silent', nextval('row_versions'), 'delete')"
        )
    await until(lambda: indexer.status().removed == 1)
    stop.set()
    await running


@pytest.mark.stores
async def test_thirty_thousand_deletes_of_one_tenant_delay_no_other(ledger: PostgresLedger) -> None:
    many = [
        prepared(f"{number}.md", f"{number:09}" * 1000, tenant="globex", pieces=3000)
        for number in range(10)
    ]
    new = prepared("new.md", "a new document")
    await put(ledger, *many)
    async with ledger.transaction() as tx:
        await tx.outbox.done(await tx.outbox.take(limit=50_000))
        documents = [one.revision.document_id for one in many]
        assert await tx.documents.delete(Scope(tenant="globex"), documents) == 10
    await put(ledger, new)
    async with ledger.transaction() as tx:
        assert (await tx.outbox.lag())[0] == 30_002
        entries = await tx.outbox.take(limit=512)
    places = [at for at, one in enumerate(entries) if one.chunk_id in chunk_ids(new)]
    assert len(entries) == 512
    assert max(places) <= 3
    vectors, texts = MemoryVectorIndex(DIM), MemoryTextIndex()
    views = FixedViews(by_fingerprint={FINGERPRINT: vectors}, text_index=texts)
    await Indexer(ledger, views, MovableClock()).drain(limit=8)
    async with ledger.transaction() as tx:
        assert len(await tx.documents.visible(ACME, chunk_ids(new))) == 2


@pytest.mark.stores
async def test_two_processes_share_the_shards_and_one_takes_over(ledger: PostgresLedger) -> None:
    vectors, texts = MemoryVectorIndex(DIM), MemoryTextIndex()
    views = FixedViews(by_fingerprint={FINGERPRINT: vectors}, text_index=texts)
    sharded = IndexerSettings(shards=4)
    here, there = (
        [Indexer(ledger, views, MovableClock(), sharded) for _ in range(count)] for count in (2, 4)
    )
    stops = asyncio.Event(), asyncio.Event()
    running = [asyncio.create_task(one.run(stops[0])) for one in here]
    await until(lambda: all(one.status().active for one in here))
    running += [asyncio.create_task(one.run(stops[1])) for one in there]
    await until(lambda: sum(one.status().active for one in there) == 2)
    batch = [prepared(f"{number}.md", f"number {number:04}", pieces=4) for number in range(60)]
    await put(ledger, *batch)
    await until(lambda: sum(one.status().published for one in (*here, *there)) == 60)
    shares = [one.status().written for one in (*here, *there)]
    assert sum(shares) == 240
    assert sum(share > 0 for share in shares) == 4
    stops[0].set()
    await until(lambda: all(one.status().active for one in there))
    async with ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id for one in batch])
    await until(lambda: sum(one.status().removed for one in there) == 240)
    stops[1].set()
    await asyncio.gather(*running)
    assert await texts.versions(chunk_ids(*batch)) == {}


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - watches another task's state
            await asyncio.sleep(0.01)


def cut_connections(url: str) -> None:
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
