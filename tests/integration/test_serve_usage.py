"""What became of answers, told and read over HTTP, and answers that are kept until a write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import (
    NOW,
    application,
    client_of,
    fill,
    make_key,
    memory_stores,
    prepared,
    service_on,
)

from cluster.errors import StoreUnavailable
from cluster.forget.key_files import KeyFile
from cluster.forget.request import Wish, commit
from cluster.model import Scope
from cluster.settings import ServeSettings, Settings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.open import Stores
from cluster.stores.protocols import Selector
from serve.service import Service

TENANT = "acme"
SCOPE = Scope(tenant=TENANT)
PAGES = (
    ("tokens.md", "Access tokens are valid for 30 minutes."),
    ("tls.md", "Use TLS 1.3 everywhere on every port."),
)


@pytest.fixture
async def stores(tmp_path: Path) -> Stores:
    made = memory_stores()
    ledger = MemoryLedger(tombstone_key=key_file(tmp_path))
    made = Stores(ledger=ledger, vector_index=made.vector_index, text_index=made.text_index)
    await fill(made, [prepared(path, text) for path, text in PAGES])
    await fill(made, [prepared("tokens.md", "Their tokens last a year.", tenant="globex")])
    return made


def key_file(folder: Path) -> KeyFile:
    return KeyFile(folder / "keys" / "tombstone.key", setting="tests")


@pytest.fixture
async def client(stores: Stores) -> AsyncIterator[httpx.AsyncClient]:
    async with writer(stores, service_on(stores)) as made:
        yield made


def writer(stores: Stores, service: Service, **more: Any) -> Any:
    return _Client(stores, service, more)


class _Client:
    """A client with a key that may write, on a service of its own."""

    def __init__(self, stores: Stores, service: Service, more: dict[str, Any]) -> None:
        self._stores, self._service, self._more = stores, service, more

    async def __aenter__(self) -> httpx.AsyncClient:
        key = await make_key(self._stores.ledger, **{"role": "write", **self._more})
        self._held = client_of(application(self._service), key)
        return await self._held.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._held.__aexit__(*error)


async def ask(client: httpx.AsyncClient, query: str = "How long are tokens valid?") -> Any:
    answer = await client.post("/v1/search", json={"query": query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def first(found: Any) -> Any:
    return found["results"][0]["citation"]


def texts(found: Any) -> list[str]:
    return [one["text"] for one in found["results"]]


async def test_a_citation_tells_what_its_passage_went_into(client: httpx.AsyncClient) -> None:
    found = await ask(client)
    chunk = first(found)["chunk_ids"][0]
    assert first(found)["used_in"] == []
    body = {"search_id": found["search_id"], "artifact": "handbook.md", "used": [chunk]}
    for _ in range(2):
        told = await client.post("/v1/usage", json={**body, "used": [chunk, "chk_none"]})
        assert told.json() == {
            "search_id": found["search_id"],
            "kept": [chunk],
            "unknown": ["chk_none"],
        }
    again = await ask(client)
    assert first(again)["used_in"] == ["handbook.md"]
    assert again["search_id"] != found["search_id"]


async def test_shown_and_unused_is_counted_beside_the_answer(stores: Stores) -> None:
    service = service_on(stores)
    async with writer(stores, service) as client:
        found = [await ask(client) for _ in range(3)]
        citation = first(found[0])
        await service.shown.write()
        await client.post(
            "/v1/usage",
            json={
                "search_id": found[0]["search_id"],
                "used": citation["chunk_ids"],
                "corrections": [{"chunk_id": citation["chunk_ids"][0], "verdict": "outdated"}],
            },
        )
        told = (await client.get(f"/v1/documents/{citation['document_id']}/usage")).json()
        metrics = (await client.get("/metrics")).text
    assert told["more"] is False
    assert told["passages"] == [
        {
            "chunk_id": citation["chunk_ids"][0],
            "shown": 3,
            "used": 1,
            "unused": 2,
            "verdicts": {"outdated": 1},
            "used_in": [],
        }
    ]
    assert 'palimpsest_passages_shown_total{outcome="kept"} 6.0' in metrics


async def test_what_waits_is_written_when_the_service_ends(stores: Stores) -> None:
    async with writer(stores, service_on(stores)) as client:
        document = first(await ask(client))["document_id"]
    async with stores.ledger.transaction() as tx:
        (usage,) = await tx.usage.of_document(SCOPE, document)
    assert usage.shown == 1


async def test_what_waits_of_an_owner_who_was_forgotten_is_not_written(
    stores: Stores, tmp_path: Path
) -> None:
    service = service_on(stores)
    async with writer(stores, service, owner="ann") as client:
        document = first(await ask(client))["document_id"]
        wish = Wish(tenant=TENANT, selector=Selector(kind="owner", value="ann"))
        now = service.clock.now() + timedelta(seconds=1)
        await commit(stores.ledger, wish, key_file=key_file(tmp_path), now=now)
        await service.shown.write()
        async with stores.ledger.transaction() as tx:
            assert await tx.usage.of_document(Scope(tenant=TENANT, owner="ann"), document) == []


async def test_showing_that_cannot_be_counted_is_lost_and_told(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_on(stores)
    async with writer(stores, service) as client:
        await ask(client)

        def broken() -> Any:
            raise StoreUnavailable("ledger", "down")

        with monkeypatch.context() as broken_ledger:
            broken_ledger.setattr(stores.ledger, "transaction", broken)
            await service.shown.write()
        metrics = (await client.get("/metrics")).text
        assert 'palimpsest_passages_shown_total{outcome="lost"} 2.0' in metrics
        assert len(texts(await ask(client))) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"search_id": "mine"},
        {"used": ["not an id"]},
        {"used": []},
        {"corrections": [{"chunk_id": "chk_a", "verdict": "boring"}]},
        {"artifact": "x" * 161, "used": ["chk_a"]},
        {"note": "free text", "used": ["chk_a"]},
    ],
)
async def test_wrong_reports_are_problems(client: httpx.AsyncClient, wrong: Any) -> None:
    body = {"search_id": "srch_" + "a" * 26, **wrong}
    told = await client.post("/v1/usage", json=body)
    assert told.status_code == 422, told.text
    assert told.headers["content-type"] == "application/problem+json"


async def test_a_key_that_reads_cannot_tell_and_no_key_reaches_other_tenants(
    stores: Stores,
) -> None:
    service = service_on(stores)
    async with writer(stores, service) as client:
        found = await ask(client)
        document = first(found)["document_id"]
    body = {"search_id": found["search_id"], "used": first(found)["chunk_ids"]}
    async with writer(stores, service, role="read") as reader:
        assert (await reader.post("/v1/usage", json=body)).status_code == 403
    async with writer(stores, service, tenant="globex") as other:
        told = (await other.post("/v1/usage", json=body)).json()
        assert (told["kept"], told["unknown"]) == ([], first(found)["chunk_ids"])
        assert (await other.get(f"/v1/documents/{document}/usage")).status_code == 404


async def test_the_same_question_again_comes_from_the_cache(client: httpx.AsyncClient) -> None:
    once, again = await ask(client), await ask(client)
    assert "cache" not in once["timings_ms"]
    assert "cache" in again["timings_ms"]
    assert once["results"] == again["results"]
    metrics = (await client.get("/metrics")).text
    assert 'palimpsest_query_cache_total{outcome="hit"} 1.0' in metrics
    assert "palimpsest_query_cache_entries 1.0" in metrics


async def test_a_write_makes_the_next_answer_fresh_on_every_replica(stores: Stores) -> None:
    async with (
        writer(stores, service_on(stores)) as one,
        writer(stores, service_on(stores)) as other,
    ):
        for client in (one, other, one, other):
            found = await ask(client)
        assert "cache" in found["timings_ms"]
        await fill(stores, [prepared("more.md", "Tokens of machines are valid for 90 minutes.")])
        for client in (one, other):
            found = await ask(client)
            assert "cache" not in found["timings_ms"]
            assert any("90 minutes" in text for text in texts(found))


async def test_what_is_deleted_or_forgotten_is_in_no_kept_answer(
    stores: Stores, tmp_path: Path
) -> None:
    async with (
        writer(stores, service_on(stores)) as one,
        writer(stores, service_on(stores)) as other,
    ):
        for client in (one, other, one, other):
            found = await ask(client)
        document = first(found)["document_id"]
        await one.delete(f"/v1/documents/{document}")
        assert [texts(await ask(client)) for client in (one, other)] == [[PAGES[1][1]]] * 2
        for client in (one, other):
            await ask(client, "Which TLS?")
        wish = Wish(tenant=TENANT, selector=Selector(kind="source", value="tests"))
        await commit(stores.ledger, wish, key_file=key_file(tmp_path), now=NOW)
        assert [texts(await ask(client, "Which TLS?")) for client in (one, other)] == [[], []]


async def test_forgotten_text_leaves_the_memory_of_a_replica_that_nobody_asks(
    stores: Stores, tmp_path: Path
) -> None:
    service = service_on(stores)
    async with writer(stores, service) as client:
        await ask(client)
        assert len(service.cache) == 1
        wish = Wish(tenant=TENANT, selector=Selector(kind="source", value="tests"))
        await commit(stores.ledger, wish, key_file=key_file(tmp_path), now=NOW)
        await service.cache.sweep(stores.ledger)
        assert (len(service.cache), service.cache.bytes) == (0, 0)


async def test_a_write_of_one_tenant_leaves_the_answers_of_another(stores: Stores) -> None:
    service = service_on(stores)
    async with (
        writer(stores, service) as ours,
        writer(stores, service, tenant="globex") as theirs,
    ):
        for client in (ours, theirs):
            await ask(client)
        await fill(stores, [prepared("more.md", "Tokens of machines are valid for 90 minutes.")])
        assert "cache" in (await ask(theirs))["timings_ms"]
        assert "cache" not in (await ask(ours))["timings_ms"]


async def test_owners_and_tenants_never_share_a_kept_answer(stores: Stores) -> None:
    service = service_on(stores)
    await fill(stores, [prepared("mine.md", "Ada's tokens last a week.", owner="ada")])
    async with (
        writer(stores, service, owner="ada") as ada,
        writer(stores, service, owner="ben") as ben,
        writer(stores, service, tenant="globex") as theirs,
    ):
        for _ in range(2):
            assert any("Ada's" in text for text in texts(await ask(ada)))
            assert not any("Ada's" in text for text in texts(await ask(ben)))
            assert texts(await ask(theirs)) == ["Their tokens last a year."]


async def test_partial_answers_are_not_kept(stores: Stores) -> None:
    async def broken(question: str, language: str) -> Any:
        raise StoreUnavailable("encoder", "down")

    async with writer(stores, service_on(stores, encoder=broken)) as client:
        for _ in range(2):
            found = await ask(client)
            assert found["failures"]
            assert "cache" not in found["timings_ms"]


async def test_nothing_is_kept_while_index_work_is_owed(stores: Stores) -> None:
    async with writer(stores, service_on(stores)) as client:
        chunk = first(await ask(client))["chunk_ids"][0]
        async with stores.ledger.transaction() as tx:
            await tx.documents.requeue([chunk])
        for _ in range(2):
            assert "cache" not in (await ask(client))["timings_ms"]


async def test_without_entries_there_is_no_cache(stores: Stores) -> None:
    off = Settings(serve=ServeSettings(query_cache_entries=0))
    service = service_on(stores, off)
    async with writer(stores, service) as client:
        for _ in range(2):
            assert "cache" not in (await ask(client))["timings_ms"]
    assert len(service.cache) == 0
