"""Many at once, on real stores: one result of many writers, whole answers for every reader,
and nothing of one tenant for another."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from serving import (
    DIM,
    EMBEDDER,
    NOW,
    TENANT,
    application,
    client_of,
    fill,
    make_key,
    prepared,
    service_on,
)

from cluster import ids
from cluster.model import Scope
from cluster.settings import EncoderSettings, PostgresSettings, ServeSettings, Settings
from cluster.stores.protocols import Ledger, Prepared
from contract.milvus_lite import milvus_lite
from fault.houses import Addresses, House, Surroundings, as_url, house_of, surroundings
from ingest.open import open_surroundings
from ingest.progress import Silent, Summary
from ingest.run import Request, ingest

pytestmark = [pytest.mark.stores, pytest.mark.slow]

WRITERS = 20
UPDATES = int(os.environ.get("PALIMPSEST_TEST_UPDATES", "60"))
"""200 in the long form that `docs/operations.md` names."""

LEAK_TRIES = int(os.environ.get("PALIMPSEST_TEST_LEAK_TRIES", "400"))
"""10,000 in the long form."""

PATIENT = Settings(serve=ServeSettings(deadline_s=30.0, channel_deadline_s=10.0))
"""A busy test machine may be slow; what it answers must be whole."""


@pytest.fixture(scope="module")
def around(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Surroundings]:
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as milvus:
        direct = Addresses(postgres=as_url(module_database_url), milvus=milvus.uri)
        with surroundings(direct, tmp_path_factory.mktemp("stores")) as made:
            yield made


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_many_runs_of_one_folder_write_once(database_url: str, tmp_path: Path) -> None:
    """A page and a turn, brought by twenty runs that start together."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "page.md").write_text("# Lamp\n\nThe lamp is green.\n", encoding="utf-8")
    turn = {"conversation": "c", "session": "s", "turn_id": "t", "speaker": "ada", "text": "Hi!"}
    (folder / "talk.jsonl").write_text(json.dumps(turn), encoding="utf-8")
    settings = Settings(
        home=tmp_path / "home",
        postgres=PostgresSettings(url=database_url, pool_size=2),
        encoder=EncoderSettings(backend="hashing", hashing_dim=DIM),
    )

    def run(_: int) -> Summary:
        with open_surroundings(settings, always_loop=True, wait_until_visible=False) as on:
            return ingest(Request(targets=(str(folder),), tenant=TENANT), on, Silent())

    with ThreadPoolExecutor(WRITERS) as pool:
        summaries = list(pool.map(run, range(WRITERS)))
    assert [summary.state for summary in summaries] == ["succeeded"] * WRITERS
    assert sum(summary.counts.get("published", 0) for summary in summaries) == 2
    kinds = rows(database_url, "SELECT kind, state, count(*) FROM revisions GROUP BY 1, 2")
    assert sorted(kinds) == [("document", "pending", 1), ("turn", "pending", 1)]
    assert rows(database_url, "SELECT count(*), count(DISTINCT chunk_id) FROM chunks") == [(2, 2)]
    assert rows(database_url, "SELECT count(*) FROM outbox") == [(2,)]


async def test_of_many_revisions_at_once_one_is_shown(around: Surroundings) -> None:
    """Whichever was put last, whole, and nothing of the others in either index."""
    pages = [prepared("busy.md", f"Busy page, state {at}.") for at in range(WRITERS)]
    async with house_of(around, settings=PATIENT) as house, house.indexing():
        await asyncio.gather(*(put(house.stores.ledger, page) for page in pages))
        await settled(house)
        shown = [row[0] for row in revisions(around, pages[0], "visible")]
        assert len(shown) == 1
        newest = "SELECT revision_id FROM revisions WHERE path = 'busy.md' ORDER BY put_order"
        assert rows(around.direct.postgres, newest)[-1] == (shown[0],)
        wanted = {
            chunk.chunk_id
            for page in pages
            if page.revision.revision_id in shown
            for chunk in page.chunks
        }
        every = [chunk.chunk_id for page in pages for chunk in page.chunks]
        assert (await house.stores.vector_index.versions(every)).keys() == wanted
        assert (await house.stores.text_index.versions(every)).keys() == wanted


async def test_the_same_upload_many_times_at_once_is_one_run(around: Surroundings) -> None:
    async with house_of(around, settings=PATIENT) as house:
        app = application(service_on(house.stores, PATIENT), max_ongoing=WRITERS)
        key = await make_key(house.stores.ledger, role="write")
        async with client_of(app, key) as client:
            answers = await asyncio.gather(
                *(
                    client.post(
                        "/v1/documents",
                        json={"text": "# Twice\n\nSent twice.\n", "name": "twice.md"},
                        headers={"Idempotency-Key": "twice"},
                    )
                    for _ in range(WRITERS)
                )
            )
        assert {answer.status_code for answer in answers} == {202}, answers[0].text
        assert len({answer.json()["run_id"] for answer in answers}) == 1
        assert rows(around.direct.postgres, "SELECT count(*) FROM uploads") == [(1,)]


async def test_a_reader_sees_whole_revisions_and_never_none(around: Surroundings) -> None:
    async with house_of(around, settings=PATIENT) as house, house.indexing():
        await put(house.stores.ledger, revision(0))
        await settled(house)
        done = asyncio.Event()
        readers = [asyncio.create_task(read(house, done)) for _ in range(2)]
        for number in range(1, UPDATES + 1):
            await put(house.stores.ledger, revision(number))
            await asyncio.sleep(0.02)
        await settled(house)
        done.set()
        seen = Counter[str]()
        for reader in readers:
            seen.update(await reader)
        assert len(seen) > UPDATES // 10, "the reader saw too few revisions to tell"
        assert (await house.answer("moving page part"))["failures"] == []
        assert [row[0] for row in revisions(around, revision(0), "visible")] == [
            revision(UPDATES).revision.revision_id
        ]


def revision(number: int) -> Prepared:
    """Three chunks that all name their revision."""
    parts = [f"Moving page part {part} of state {number}. " * 6 for part in range(3)]
    cuts = [len(parts[0]), len(parts[0]) + len(parts[1])]
    return prepared("moving.md", "".join(parts), cuts=cuts)


async def read(house: House, done: asyncio.Event) -> Counter[str]:
    """Revisions by how often an answer showed them."""
    document = revision(0).revision.document_id
    seen = Counter[str]()
    while not done.is_set():
        found = await house.answer("moving page part")
        shown = [one["citation"] for one in found["results"]]
        shown = [one for one in shown if one["document_id"] == document]
        assert shown, "an answer showed none of its revisions"
        assert len({one["revision_id"] for one in shown}) == 1, "a mixture of two revisions"
        texts = [
            one["text"] for one in found["results"] if one["citation"]["document_id"] == document
        ]
        states = {text.partition("state ")[2].partition(".")[0] for text in texts}
        assert len(states) == 1
        (state,) = states
        assert shown[0]["revision_id"] == revision(int(state)).revision.revision_id
        listed = await house.client.get(f"/v1/documents/{document}", params={"text": True})
        assert listed.status_code == 200, listed.text
        assert len(listed.json()["editions"]) == 1
        seen[state] += 1
    return seen


async def test_deleting_the_bytes_of_one_tenant_leaves_those_of_the_other(
    around: Surroundings,
) -> None:
    text = "# Shared\n\nThe very same bytes for two tenants.\n"
    ours, theirs = prepared("same.md", text), prepared("same.md", text, tenant="globex")
    assert ids.vector_key("en", ours.chunks[0].indexed_text) == ids.vector_key(
        "en", theirs.chunks[0].indexed_text
    )
    async with house_of(around, settings=PATIENT) as house, house.indexing():
        await fill(house.stores, [ours, theirs])
        deleted = await house.client.delete(f"/v1/documents/{ours.revision.document_id}")
        assert deleted.status_code == 204
        await settled(house)
        both = [ours.chunks[0].chunk_id, theirs.chunks[0].chunk_id]
        assert list(await house.stores.vector_index.versions(both)) == both[1:]
        assert list(await house.stores.text_index.versions(both)) == both[1:]
        left = await house.answer("very same bytes")
        assert not any("very same bytes" in one["text"] for one in left["results"])
        async with visitors(house, ["globex"]) as clients:
            found = await clients["globex"].post("/v1/search", json={"query": "very same bytes"})
        assert [one["text"] for one in found.json()["results"]] == [text]


TENANTS = ("acme", "globex", "initech")
WORDS = ("harbour", "lantern", "ledger", "copper", "winter", "signal")


@dataclass(frozen=True, slots=True)
class Visit:
    """One try to reach what is not the visitor's."""

    client: httpx.AsyncClient
    tenant: str
    chance: random.Random
    foreign: Sequence[Prepared]

    async def go(self) -> None:
        told = await self.chance.choice((self._search, self._list, self._delete, self._look))()
        others = [name for name in TENANTS if name != self.tenant]
        assert not any(f"belongs-to-{name}" in told for name in others), told

    async def _search(self) -> str:
        page = self.chance.choice(self.foreign).revision
        words = self.chance.choice((page.text, self.chance.choice(WORDS), page.path))
        body: dict[str, object] = {"query": words, "top_k": 50}
        if self.chance.random() < 0.5:
            body["filter"] = self.chance.choice(
                (
                    {"not": {"language": "xx"}},
                    {"any_of": [{"language": "en"}, {"source": "tests"}]},
                    {"path": page.path},
                    {"tenant": page.tenant},
                    {"not": {"tenant": self.tenant}},
                )
            )
        answer = await self.client.post("/v1/search", json=body)
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        return json.dumps(results)

    async def _list(self) -> str:
        page = self.chance.choice(self.foreign).revision
        only = self.chance.choice(
            ({"path": page.path}, {"not": {"language": "xx"}}, {"tenant": page.tenant})
        )
        after = f"{page.document_id}|{page.edition_key}"
        params = {"filter": json.dumps(only), "limit": "200"}
        if self.chance.random() < 0.3:
            params["cursor"] = after
        answer = await self.client.get("/v1/documents", params=params)
        assert answer.status_code in (200, 422), answer.text
        return answer.text if answer.status_code == 200 else ""

    async def _delete(self) -> str:
        page = self.chance.choice(self.foreign).revision
        answer = await self.client.delete(f"/v1/documents/{page.document_id}")
        assert answer.status_code == 404, answer.text
        return answer.text

    async def _look(self) -> str:
        page = self.chance.choice(self.foreign)
        address = self.chance.choice(
            (
                f"/v1/documents/{page.revision.document_id}",
                f"/v1/documents/{page.revision.document_id}?text=true",
                f"/v1/passages/{page.chunks[0].chunk_id}?before=20&after=20",
                f"/v1/runs/{page.revision.run_id}",
            )
        )
        answer = await self.client.get(address)
        assert answer.status_code == 404, answer.text
        return answer.text


async def test_nothing_of_one_tenant_reaches_another(around: Surroundings) -> None:
    chance = random.Random(4)
    pages = {name: [secret_page(name, at) for at in range(30)] for name in TENANTS}
    async with house_of(around, settings=PATIENT) as house:
        await fill(house.stores, [page for some in pages.values() for page in some])
        async with visitors(house, TENANTS) as clients:
            for _ in range(LEAK_TRIES):
                tenant = chance.choice(TENANTS)
                foreign = [page for name in TENANTS if name != tenant for page in pages[name]]
                await Visit(clients[tenant], tenant, chance, foreign).go()
            for name, some in pages.items():
                chunks = [page.chunks[0].chunk_id for page in some]
                async with house.stores.ledger.transaction() as tx:
                    shown = await tx.documents.visible(Scope(tenant=name), chunks)
                assert len(shown) == len(some)


def secret_page(tenant: str, number: int) -> Prepared:
    words = " ".join(random.Random(number).sample(WORDS, 3))
    return prepared(f"{number}.md", f"{words} belongs-to-{tenant} {number}.", tenant=tenant)


@asynccontextmanager
async def visitors(
    house: House, tenants: Sequence[str]
) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """A client of each tenant, with a key that may write."""
    app = application(service_on(house.stores, PATIENT))
    async with AsyncExitStack() as opened:
        yield {
            name: await opened.enter_async_context(
                client_of(app, await make_key(house.stores.ledger, tenant=name, role="write"))
            )
            for name in tenants
        }


async def put(ledger: Ledger, page: Prepared) -> None:
    texts = [chunk.indexed_text for chunk in page.chunks]
    language = page.revision.metadata.language
    made = EMBEDDER.embed_documents(texts, languages=[language] * len(texts))
    keys = [ids.vector_key(language, text) for text in texts]
    async with ledger.transaction() as tx:
        await tx.vectors.put(dict(zip(keys, made, strict=True)), fingerprint=EMBEDDER.fingerprint)
        await tx.documents.put([page], now=NOW)


async def settled(house: House, *, within_s: float = 120.0) -> None:
    """Until the indexer owes nothing and nothing is pending."""
    async with asyncio.timeout(within_s):
        while True:
            async with house.stores.ledger.transaction() as tx:
                owed, _ = await tx.outbox.lag()
                pending = (await tx.documents.counts(None))["pending"]
            if not owed and not pending:
                return
            await asyncio.sleep(0.05)


def revisions(around: Surroundings, page: Prepared, state: str) -> list[tuple[Any, ...]]:
    query = "SELECT revision_id FROM revisions WHERE document_id = %s AND state = %s"
    with psycopg.connect(around.direct.postgres) as connection:
        found = connection.execute(query, (page.revision.document_id, state))
        return found.fetchall()
