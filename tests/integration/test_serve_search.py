"""Questions over HTTP, on the reference stores, without Ray."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from serving import (
    NOW,
    application,
    client_of,
    encode,
    fill,
    make_key,
    memory_stores,
    prepared,
    service_on,
    views_of,
)

from cluster.clock import FixedClock
from cluster.errors import StoreUnavailable
from cluster.filters import Filter
from cluster.ids import sha256_hex
from cluster.indexer import Indexer
from cluster.model import EncodedQuery, Metadata, Scope, Turn
from cluster.settings import ServeSettings, Settings
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.open import Stores
from cluster.text.terms import QueryTerm
from serve.api.schemas import SearchAnswer
from serve.service import Service

TOKENS = (
    "# Tokens\n\nAccess tokens are valid for 30 minutes.\n\nRefresh tokens are valid for a day.\n"
)
CUT = TOKENS.index("Refresh")
ZH = Metadata(title="令牌", language="zh", source_type="official_doc", quote_policy="citable")


def edition(text: str, version: str) -> Any:
    about = Metadata(title="Cache", language="en", product="harbour", product_version=version)
    return prepared("cache.md", text, edition=version, metadata=about)


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    await fill(
        made,
        [
            prepared("tokens.md", TOKENS, cuts=(CUT,)),
            prepared("tls.md", "Use TLS 1.3 everywhere. Error FIT-2024-0087 means a bad chain."),
            prepared("token.zh.md", "访问令牌的有效期为三十分钟。", metadata=ZH),
            prepared("secret.md", "Access tokens of Globex last a year.", tenant="globex"),
            prepared("mine.md", "Access tokens of Ada last a week.", owner="ada"),
            edition("The cache holds 100 entries.", "1.0"),
            edition("The cache holds 250 entries.", "2.0"),
            edition("The cache holds 9000 entries.", "10.0"),
        ],
    )
    return made


@pytest.fixture
async def client(stores: Stores) -> AsyncIterator[httpx.AsyncClient]:
    key = await make_key(stores.ledger)
    async with client_of(application(service_on(stores)), key) as made:
        yield made


async def ask(client: httpx.AsyncClient, query: str, **more: object) -> dict[str, Any]:
    answer = await client.post("/v1/search", json={"query": query, **more})
    assert answer.status_code == 200, answer.text
    SearchAnswer.model_validate_json(answer.text)
    found: dict[str, Any] = answer.json()
    return found


async def test_an_answer_is_cited_exactly_and_says_why(client: httpx.AsyncClient) -> None:
    found = await ask(client, "How long are access tokens valid?", top_k=3)
    best = found["results"][0]
    citation = best["citation"]
    stored = await client.get(f"/v1/documents/{citation['document_id']}", params={"text": True})
    text = stored.json()["text"]
    assert text[citation["start"] : citation["end"]] == best["text"]
    assert "valid for 30 minutes" in best["text"]
    assert citation["content_sha256"] == sha256_hex(text)
    assert best["reasons"]["matched_terms"] == ["access", "tokens", "valid"]
    assert {hit["channel"]: hit["rank"] for hit in best["reasons"]["channels"]} == {
        "keyword": 1,
        "semantic": 1,
    }
    assert best["reasons"]["filters"] == ["newest_edition", "tenant"]
    assert found["failures"] == []
    assert "explanation" not in found


async def test_neighbouring_chunks_come_as_one_block(client: httpx.AsyncClient) -> None:
    best = (await ask(client, "access tokens refresh tokens valid"))["results"][0]
    assert len(best["citation"]["chunk_ids"]) == 2
    assert best["text"] == TOKENS


async def test_a_chinese_question_finds_the_chinese_page(client: httpx.AsyncClient) -> None:
    found = await ask(client, "访问令牌的有效期是多久？")
    assert found["language"] == "zh"
    assert found["results"][0]["text"] == "访问令牌的有效期为三十分钟。"
    terms = "".join(found["results"][0]["reasons"]["matched_terms"])
    assert "访问令牌" in terms
    assert "有效期" in terms


async def test_an_exact_identifier_comes_first(client: httpx.AsyncClient) -> None:
    assert "FIT-2024-0087" in (await ask(client, "FIT-2024-0087"))["results"][0]["text"]


@pytest.mark.parametrize(
    ("query", "more", "number"),
    [
        ("How many entries does the cache hold?", {}, "9000"),
        ("How many entries does the cache hold in 1.0?", {}, "100"),
        ("harbour v2.0 里缓存多少 entries", {}, "250"),
        ("How many entries does the cache hold?", {"version": "2.0"}, "250"),
        ("cache entries", {"filter": {"product_version": ["1.0", "2.0"]}}, "250"),
    ],
)
async def test_only_the_edition_that_is_meant_answers(
    client: httpx.AsyncClient, query: str, more: dict[str, Any], number: str
) -> None:
    found = await ask(client, query, **more)
    shown = [each["text"] for each in found["results"] if "cache" in each["text"]]
    assert shown == [f"The cache holds {number} entries."]


async def test_both_versions_of_a_comparison_answer(client: httpx.AsyncClient) -> None:
    found = await ask(client, "difference between 1.0 and 2.0 in cache entries")
    shown = {each["text"] for each in found["results"]}
    assert shown == {"The cache holds 100 entries.", "The cache holds 250 entries."}


async def test_a_missing_version_is_told(client: httpx.AsyncClient) -> None:
    found = await ask(client, "harbour 3.0 cache entries")
    assert found["notes"] == [
        "there is no harbour 3.0 here; there are 10.0, 2.0, 1.0. Answered from the newest"
    ]
    assert "9000" in found["results"][0]["text"]


async def test_other_tenants_and_owners_do_not_exist(
    stores: Stores, client: httpx.AsyncClient
) -> None:
    texts = [each["text"] for each in (await ask(client, "access tokens last"))["results"]]
    assert not any("Globex" in text or "Ada" in text for text in texts)
    ada = await make_key(stores.ledger, owner="ada")
    found = await client.post(
        "/v1/search", json={"query": "Ada tokens"}, headers={"Authorization": f"Bearer {ada}"}
    )
    assert "Ada" in found.json()["results"][0]["text"]


async def test_deleted_and_stale_rows_are_never_shown(stores: Stores) -> None:
    """The indexes still list what the ledger has deleted: the ledger decides."""
    async with client_of(
        application(service_on(stores)), await make_key(stores.ledger, role="write")
    ) as client:
        found = await ask(client, "access tokens valid")
        document = found["results"][0]["citation"]["document_id"]
        assert (await client.delete(f"/v1/documents/{document}")).status_code == 204
        shown = (await ask(client, "access tokens valid"))["results"]
        assert document not in {each["citation"]["document_id"] for each in shown}
        assert (await client.delete(f"/v1/documents/{document}")).status_code == 404


async def test_candidates_that_vanished_are_replaced_from_deeper_down(stores: Stores) -> None:
    many = [prepared(f"n{place:03}.md", f"needle number {place}") for place in range(130)]
    await fill(stores, many)
    service = service_on(stores)
    scope = Scope(tenant="acme")
    listed = [await _listed(service, scope, limit=100)]
    async with stores.ledger.transaction() as tx:
        gone = (await tx.documents.visible(scope, listed[0])).values()
        await tx.documents.delete(scope, [each.document_id for each in gone])
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        assert len((await ask(client, "needle number", top_k=10))["results"]) == 10


async def _listed(service: Service, scope: Scope, *, limit: int) -> list[str]:
    vector = (await encode("needle number", "en")).vector
    index = service.stores.vector_index
    found = await index.search(vector, scope=scope, where=None, limit=limit)
    return [chunk_id for chunk_id, _ in found]


async def test_recent_turns_are_found_when_asked_for(stores: Stores) -> None:
    def turn(place: int, text: str, said_at: datetime) -> Any:
        about = Metadata(title="standup", language="en")
        said = Turn(conversation="c1", session="s1", ordinal=place, speaker="mira", said_at=said_at)
        return prepared(f"c1/{place}", text, metadata=about, turn=said)

    await fill(
        stores,
        [
            turn(0, "The deploy plan is blue green.", NOW - timedelta(days=400)),
            turn(1, "The deploy plan is canary.", NOW - timedelta(hours=3)),
        ],
    )
    async with client_of(application(service_on(stores)), await make_key(stores.ledger)) as client:
        best = (await ask(client, "what is the latest deploy plan"))["results"][0]
        assert best["text"] == "The deploy plan is canary."
        assert best["reasons"]["bonuses"]["recency"] == 0.1
        assert "recent" in {hit["channel"] for hit in best["reasons"]["channels"]}
        assert best["citation"]["speaker"] == "mira"
        around = (await client.get(f"/v1/passages/{best['citation']['chunk_ids'][0]}")).json()
        assert [each["text"] for each in around["before"]] == ["The deploy plan is blue green."]


async def test_explain_gives_the_plan_and_the_rankings(client: httpx.AsyncClient) -> None:
    found = await ask(client, "cache entries", explain=True, filter={"language": "en"})
    explanation = found["explanation"]
    assert explanation["plan"]["filter"] == {
        "all_of": [{"language": "en"}, {"newest_edition": True}]
    }
    assert set(explanation["rankings"]) == {"semantic", "keyword"}
    assert explanation["fused"][0] in found["results"][0]["citation"]["chunk_ids"]


async def test_now_is_what_the_caller_says(client: httpx.AsyncClient) -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    found = await ask(client, "cache", now=moment.isoformat(), explain=True)
    assert found["explanation"]["plan"]["now"] == "2030-01-01T00:00:00+00:00"


async def test_times_are_read_in_the_caller_s_zone(client: httpx.AsyncClient) -> None:
    moment = datetime(2026, 4, 15, 2, tzinfo=UTC).isoformat()
    text = "what did we say about tokens yesterday?"
    found = await ask(client, text, now=moment, timezone="Asia/Tokyo", explain=True)
    (mention,) = found["explanation"]["plan"]["times"]
    assert (mention["raw"], mention["begins"]) == ("yesterday", "2026-04-13T15:00:00+00:00")
    assert found["explanation"]["plan"]["zone"] == "Asia/Tokyo"


async def test_an_unknown_zone_is_a_422(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/search", json={"query": "yesterday", "timezone": "Mars/Base"})
    assert answer.status_code == 422
    assert "timezone: 'Mars/Base' is unknown" in answer.text


class BrokenTexts(MemoryTextIndex):
    """A reference text index whose server is out of reach."""

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        raise StoreUnavailable("text index", "connection refused")


async def broken_encoder(question: str, language: str) -> EncodedQuery:
    raise StoreUnavailable("encoder", "gone")


def with_texts(stores: Stores, texts: MemoryTextIndex) -> Stores:
    return Stores(ledger=stores.ledger, vector_index=stores.vector_index, text_index=texts)


async def test_a_failed_channel_is_named_and_the_other_answers(stores: Stores) -> None:
    service = service_on(with_texts(stores, BrokenTexts()))
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        found = await ask(client, "access tokens")
        assert found["failures"] == [
            {"channel": "keyword", "reason": "text index: connection refused"}
        ]
        assert found["results"]
        page = (await client.get("/metrics")).text
        assert 'palimpsest_channel_failures_total{channel="keyword"} 1.0' in page


async def test_all_channels_failed_is_an_error_never_an_empty_answer(stores: Stores) -> None:
    service = service_on(with_texts(stores, BrokenTexts()), encoder=broken_encoder)
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        answer = await client.post("/v1/search", json={"query": "access tokens"})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "every channel failed" in answer.json()["detail"]


class SlowTexts(MemoryTextIndex):
    """A reference text index that takes its time."""

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        await asyncio.sleep(5)
        return []


async def test_late_channels(stores: Stores) -> None:
    slow = with_texts(stores, SlowTexts())
    settings = Settings(serve=ServeSettings(channel_deadline_s=0.05))
    async with client_of(
        application(service_on(slow, settings)), await make_key(stores.ledger)
    ) as client:
        found = await ask(client, "access tokens")
        assert found["failures"] == [{"channel": "keyword", "reason": "no answer within 50 ms"}]
        alone = await client.post("/v1/search", json={"query": "tokens", "channels": ["keyword"]})
        assert alone.status_code == 504
        assert alone.json()["type"] == "/docs#deadline-exceeded"


async def test_a_function_word_alone_is_no_hit(client: httpx.AsyncClient) -> None:
    found = await ask(client, "are the zebras", channels=["keyword"])
    assert found["results"] == []
    assert (await ask(client, "are the", channels=["keyword"]))["results"]


class TextsOnce(MemoryTextIndex):
    """A reference text index that answers once, then takes its time."""

    asked = 0

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        self.asked += 1
        if self.asked > 1:
            await asyncio.sleep(60)
        return await super().search(terms, scope=scope, where=where, limit=limit)


async def test_when_looking_deeper_takes_too_long_the_first_answers_stay(stores: Stores) -> None:
    texts = TextsOnce()
    held = with_texts(stores, texts)
    many = [prepared(f"n{place:03}.md", f"needle number {place}") for place in range(130)]
    await fill(held, many)
    gone = [each.revision.document_id for each in many[5:]]
    async with held.ledger.transaction() as tx:
        await tx.documents.delete(Scope(tenant="acme"), gone)
    settings = Settings(serve=ServeSettings(channel_deadline_s=10))
    async with client_of(
        application(service_on(held, settings)), await make_key(held.ledger)
    ) as client:
        found = await ask(client, "needle number", channels=["keyword"], deadline_ms=3000)
    assert texts.asked == 2
    assert found["failures"] == []
    assert found["results"]
    assert found["timings_ms"]["total"] < 3000


async def test_the_answer_is_the_same_after_a_rebuild(stores: Stores) -> None:
    """Nothing depends on the order in which rows came into the indexes."""
    service = service_on(stores)
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        first = await ask(client, "access tokens valid")
    texts = MemoryTextIndex()
    ids = [chunk_id async for batch in stores.vector_index.scan() for chunk_id, _ in batch]
    async with stores.ledger.transaction() as tx:
        await tx.documents.requeue(sorted(ids, reverse=True))
    indexer = Indexer(stores.ledger, views_of(stores, text_index=texts), FixedClock(NOW))
    while await indexer.drain():
        pass
    service = service_on(with_texts(stores, texts))
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        again = await ask(client, "access tokens valid")
    assert json.dumps(again["results"]) == json.dumps(first["results"])
