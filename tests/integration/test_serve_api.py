"""The rest of the API: documents, uploads, keys, limits, and everything a caller may do wrong."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
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
)

from cluster.model import EncodedQuery, Generation, ItemProblem, Turn
from cluster.settings import ServeSettings, Settings
from cluster.stores.open import Stores
from serve.api.health import LOOK_TTL_S
from serve.api.problems import CONTENT_TYPE, KINDS
from serve.api.schemas import TextUpload
from serve.secret import key_id_of
from serve.service import KEY_TTL_S

JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    await fill(
        made,
        [
            prepared("tokens.md", "Access tokens are valid for 30 minutes."),
            prepared("tls.md", "Use TLS 1.3 everywhere."),
            prepared("secret.md", "Globex only.", tenant="globex"),
        ],
    )
    return made


@pytest.fixture
async def app(stores: Stores) -> FastAPI:
    return application(service_on(stores))


@pytest.fixture
async def client(app: FastAPI, stores: Stores) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app, await make_key(stores.ledger, role="write")) as made:
        yield made


def problem(answer: httpx.Response, status: int, name: str) -> str:
    """Checks the whole form of a problem; gives its detail."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == CONTENT_TYPE
    told = answer.json()
    assert told["type"] == f"/docs#{name}"
    assert told["status"] == status
    assert told["title"] == KINDS[name].title
    assert told["instance"].startswith("/")
    assert told["request_id"] == answer.headers["x-request-id"]
    detail: str = told["detail"]
    return detail


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "body: no question; write one as query, or send the plan of an answer"),
        ({"query": ""}, "query: the question is blank; write one"),
        ({"query": " \n\t　"}, "query: the question is blank; write one"),
        ({"query": "x" * 102_400}, "query: 102,400 characters; a question may have 8,192"),
        ({"query": "a\0b"}, "query: NUL is not allowed here; remove it"),
        ({"query": 7}, "query: Input should be a valid string"),
        ({"query": "a", "top_k": 0}, "top_k: Input should be greater than or equal to 1"),
        ({"query": "a", "top_k": -1}, "top_k: Input should be greater than or equal to 1"),
        ({"query": "a", "top_k": 10_000}, "top_k: Input should be less than or equal to 100"),
        ({"query": "a", "top_k": "5"}, "top_k: Input should be a valid integer"),
        ({"query": "a", "top_k": True}, "top_k: Input should be a valid integer"),
        ({"query": "a", "topk": 3}, "topk: unknown key; remove it or see /docs"),
        ({"query": "a", "channels": []}, "channels: List should have at least 1 item"),
        ({"query": "a", "channels": ["magic"]}, "channels.0: Input should be 'semantic', 'key"),
        ({"query": "a", "fusion": "vote"}, "fusion: Input should be 'score' or 'reciprocal_rank'"),
        ({"query": "a", "deadline_ms": 0}, "deadline_ms: Input should be greater than or equal"),
        ({"query": "a", "now": "2024-01-01T00:00:00"}, "now: Input should have timezone info"),
        ({"query": "a", "now": "0001-01-01T00:00:00+14:00"}, "now: before the year 1 or after"),
        ({"query": "a", "version": " "}, "version: blank; name one such as 7.5, or leave it out"),
        ({"query": "!!", "channels": ["keyword"]}, "the question has no words to look up"),
        ([], "body: Input should be a valid dictionary"),
    ],
)
async def test_wrong_questions(client: httpx.AsyncClient, body: Any, told: str) -> None:
    assert told in problem(await client.post("/v1/search", json=body), 422, "invalid-request")


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"colour": "red"}, "unknown filter field 'colour'; known: agent, api_version"),
        ({}, "a filter is a non-empty object"),
        ({"language": []}, "an empty list matches nothing; drop it"),
        ({"authority": "high"}, "'high' is not a number"),
        ({"authority": {"gte": "0"}}, "'0' is not a number"),
        ({"language": 5}, "5 is not a text"),
        ({"published_at": "yesterday"}, "'yesterday' is no ISO 8601 moment"),
        ({"published_at": {"gte": "2024-01-01T00:00:00"}}, "has no time zone"),
        ({"product": "a\0"}, "NUL and lone surrogates match nothing"),
        ({"language": ""}, "an empty text"),
        ({"tags": {"gte": "a"}}, "this field has no order"),
        ({"product": {"like": "x"}}, "a range has gte and lt, not 'like'"),
        ({"all_of": []}, "an empty list of filters has no meaning"),
        (
            {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {}}}}}}}}}},
            "deep",
        ),
    ],
)
async def test_wrong_filters(client: httpx.AsyncClient, where: Any, told: str) -> None:
    answer = await client.post("/v1/search", json={"query": "a", "filter": where})
    assert told in problem(answer, 422, "invalid-filter")
    listing = await client.get("/v1/documents", params={"filter": json.dumps(where)})
    assert told in problem(listing, 422, "invalid-filter")


async def test_a_number_of_thousands_of_digits_is_no_filter(client: httpx.AsyncClient) -> None:
    where = '{"authority": ' + "1" * 5000 + "}"
    answer = await client.get("/v1/documents", params={"filter": where})
    assert "filter is not JSON" in problem(answer, 422, "invalid-filter")


async def test_a_cursor_may_be_as_long_as_editions_make_it(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/documents", params={"cursor": "x" * 2000})
    assert "no cursor of a former page" in problem(answer, 422, "invalid-request")


async def test_turns_of_one_ordinal_lie_on_both_sides(
    client: httpx.AsyncClient, stores: Stores
) -> None:
    turn = Turn(conversation="c", session="s", ordinal=0, speaker="ada", said_at=NOW)
    said = [prepared(f"t{place}", f"turn {place}", turn=turn) for place in range(3)]
    await fill(stores, said)
    first, middle, last = sorted(said, key=lambda each: each.revision.document_id)
    found = (await client.get(f"/v1/passages/{middle.chunks[0].chunk_id}")).json()
    assert [each["text"] for each in found["before"]] == [first.chunks[0].text]
    assert [each["text"] for each in found["after"]] == [last.chunks[0].text]


@pytest.mark.parametrize("value", ['"', "\\", "'; --", 'a" or tenant != "', "%", "*", "]]", "\n"])
async def test_quotes_and_backslashes_in_filters_are_plain_values(
    client: httpx.AsyncClient, value: str
) -> None:
    answer = await client.post("/v1/search", json={"query": "tokens", "filter": {"product": value}})
    assert answer.status_code == 200
    assert answer.json()["results"] == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"query": "a"} trailing',
        b"\xff\xfe{}",
        b'{"query": "\xff"}',
        b"[" * 100_000,
        b'{"query": "a", "filter": ' + b'{"not":' * 5000 + b"1" + b"}" * 5000 + b"}",
    ],
)
async def test_bodies_that_are_no_json(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/v1/search", content=body, headers=JSON)
    if answer.status_code == 422:
        problem(answer, 422, "invalid-request")
    else:
        problem(answer, 400, "malformed-body")


@pytest.mark.parametrize("body", ['{"query": "\\ud800"}', '{"query": "a", "version": "\\udfff"}'])
async def test_lone_surrogates(client: httpx.AsyncClient, body: str) -> None:
    answer = await client.post("/v1/search", content=body.encode(), headers=JSON)
    detail = problem(answer, 422, "invalid-request")
    assert "surrogate" in detail or "unicode" in detail


@pytest.mark.parametrize(
    "query",
    ["😀", "\U0001f469\u200d\U0001f466 tokens", "\u202etokens", "\ufb01t", "a" * 8192, "?!", "中"],
)
async def test_odd_but_right_questions(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.post("/v1/search", json={"query": query})
    assert answer.status_code == 200
    assert answer.json()["query"] == query


async def test_a_body_that_is_too_large_is_refused_unread(client: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield b" " * 65_536

    answer = await client.post("/v1/search", content=endless(), headers=JSON)
    assert "1,048,576 bytes" in problem(answer, 413, "too-large")
    assert sent < 2_000_000
    announced = await client.post(
        "/v1/search", content=b"{}", headers={**JSON, "Content-Length": "99999999"}
    )
    problem(announced, 413, "too-large")
    upload = await client.post("/v1/documents", files={"file": ("a.md", b"x" * 3_000_000)})
    assert "2,097,152 bytes" in problem(upload, 413, "too-large")


async def test_wrong_addresses_and_methods(client: httpx.AsyncClient) -> None:
    problem(await client.get("/v2/search"), 404, "not-found")
    problem(await client.get("/v1/search/"), 404, "not-found")
    answer = await client.get("/v1/search")
    problem(answer, 405, "wrong-method")
    assert answer.headers["allow"] == "POST"
    media = await client.post("/v1/documents", content=b"x", headers={"Content-Type": "text/plain"})
    problem(media, 415, "wrong-media-type")


async def test_keys(app: FastAPI, stores: Stores) -> None:
    body = {"query": "tokens"}
    reader = await make_key(stores.ledger, role="read")
    async with client_of(app, None) as client:
        answer = await client.post("/v1/search", json=body)
        assert "no API key" in problem(answer, 401, "not-authenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
        for secret in ("pk_wrong", "", "x" * 5000, "pk_\xff"):
            answer = await client.post(
                "/v1/search", json=body, headers=[(b"X-API-Key", secret.encode("latin-1"))]
            )
            problem(answer, 401, "not-authenticated")
        answer = await client.post("/v1/search", json=body, headers={"X-API-Key": reader})
        assert answer.status_code == 200
        header = {"Authorization": f"Bearer {reader}"}
        for refused in (
            await client.delete("/v1/documents/doc_a", headers=header),
            await client.post("/v1/documents", json={"text": "a", "name": "a"}, headers=header),
        ):
            detail = problem(refused, 403, "not-allowed")
            assert detail == "this needs a key of role write; yours is read"


async def test_a_revoked_key_stops_working_soon(app: FastAPI, stores: Stores) -> None:
    assert KEY_TTL_S <= 5
    secret = await make_key(stores.ledger)
    async with client_of(app, secret) as client:
        async with stores.ledger.transaction() as tx:
            await tx.keys.revoke(key_id_of(secret), now=NOW)
        problem(await client.get("/v1/runs"), 401, "not-authenticated")


async def test_another_tenant_s_document_is_as_missing_as_none(
    client: httpx.AsyncClient, stores: Stores
) -> None:
    foreign = prepared("secret.md", "Globex only.", tenant="globex")
    document, chunk = foreign.revision.document_id, foreign.chunks[0].chunk_id
    for path in (f"/v1/documents/{document}", f"/v1/passages/{chunk}"):
        there = (await client.get(path)).json()
        none = (await client.get(path[:-1] + ("a" if path[-1] != "a" else "b"))).json()
        for told in (there, none):
            del told["request_id"], told["instance"]
            told["detail"] = told["detail"].split("_")[0]
        assert there == none
        assert there["status"] == 404
    problem(await client.delete(f"/v1/documents/{document}"), 404, "not-found")
    async with client_of(
        application(service_on(stores)), await make_key(stores.ledger, tenant="globex")
    ) as globex:
        assert (await globex.get(f"/v1/documents/{document}")).status_code == 200


@pytest.mark.parametrize("identifier", ["%00", "a%00b", "..%2f..", "DOC", "é", "x" * 500, "'--"])
async def test_ids_of_no_known_form_are_not_found(
    client: httpx.AsyncClient, identifier: str
) -> None:
    for room in ("documents", "passages", "runs"):
        problem(await client.get(f"/v1/{room}/{identifier}"), 404, "not-found")


async def test_listing_pages_through_everything_once(
    client: httpx.AsyncClient, stores: Stores
) -> None:
    await fill(stores, [prepared(f"p{place}.md", f"page {place}") for place in range(7)])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params: dict[str, Any] = {"limit": 4} | ({"cursor": cursor} if cursor else {})
        page = (await client.get("/v1/documents", params=params)).json()
        seen += [each["path"] for each in page["documents"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(["tokens.md", "tls.md", *(f"p{place}.md" for place in range(7))])
    for params in ({"limit": 0}, {"limit": 1000}, {"cursor": "\x01"}):
        answer = await client.get("/v1/documents", params=params)
        problem(answer, 422, "invalid-request")


async def test_an_upload_waits_for_the_worker_and_tells_its_end(
    client: httpx.AsyncClient, stores: Stores
) -> None:
    body = {"name": "n.md", "text": "# N\n\n新的", "version": "2.0", "tags": ["a", "b"]}
    answer = await client.post("/v1/documents", json=body)
    assert answer.status_code == 202
    run = answer.json()
    assert answer.headers["location"] == f"/v1/runs/{run['run_id']}"
    assert run["state"] == "queued"
    async with stores.ledger.transaction() as tx:
        assert await tx.uploads.waiting() == [run["run_id"]]
        tenant, name, media_type, content, arguments = await tx.uploads.get(run["run_id"])
    assert (tenant, name, media_type) == ("acme", "n.md", None)
    assert content.decode() == body["text"]
    assert arguments == {"name": "n.md", "product_version": "2.0", "tags": '["a", "b"]'}

    async def worker() -> None:
        await asyncio.sleep(0.05)
        async with stores.ledger.transaction() as tx:
            await tx.runs.add_problems(
                second["run_id"],
                [
                    ItemProblem(
                        origin="b.pdf", stage="parse", outcome="skipped", kind="scanned", reason="r"
                    )
                ],
            )
            await tx.runs.update(second["run_id"], state="succeeded", counts={"loaded": 1}, now=NOW)

    files = {"file": ("b.pdf", b"%PDF", "application/pdf")}
    form = {"title": "B", "tags": "x, y"}
    idempotency = {"Idempotency-Key": "k1"}
    second = (
        await client.post("/v1/documents", files=files, data=form, headers=idempotency)
    ).json()
    digest = second["arguments"].pop("upload_digest")
    assert second["arguments"] == {"name": "b.pdf", "title": "B", "tags": '["x", "y"]'}
    assert digest.startswith("upload_")
    done, _ = await asyncio.gather(
        client.post("/v1/documents?wait=5", files=files, data=form, headers=idempotency),
        worker(),
    )
    assert done.status_code == 200
    assert done.json()["run_id"] == second["run_id"]
    assert done.json()["state"] == "succeeded"
    assert done.json()["problems"][0]["kind"] == "scanned"
    assert (await client.get(f"/v1/runs/{second['run_id']}")).json() == done.json()
    listed = (await client.get("/v1/runs")).json()["runs"]
    assert {each["run_id"] for each in listed} == {run["run_id"], second["run_id"]}


async def test_an_idempotency_key_stands_for_one_upload(
    client: httpx.AsyncClient, stores: Stores
) -> None:
    header = {"Idempotency-Key": "k1"}
    body = {"name": "n.md", "text": "one", "title": "N"}

    async def send(**change: str) -> httpx.Response:
        return await client.post("/v1/documents", json={**body, **change}, headers=header)

    first, again = await asyncio.gather(send(), send())
    assert first.json() == again.json()
    for change in ({"name": "m.md"}, {"text": "two"}, {"title": "M"}):
        told = problem(await send(**change), 422, "invalid-request")
        assert told == "Idempotency-Key: it was used for another upload; take a new one"
    async with stores.ledger.transaction() as tx:
        assert await tx.uploads.waiting() == [first.json()["run_id"]]


async def test_runs_of_an_owner_are_for_that_owner(app: FastAPI, stores: Stores) -> None:
    keys = {
        "ada": await make_key(stores.ledger, role="write", owner="ada"),
        "bob": await make_key(stores.ledger, role="write", owner="bob"),
        "nobody": await make_key(stores.ledger, role="write"),
        "admin": await make_key(stores.ledger, role="admin"),
    }
    async with client_of(app, None) as client:

        async def as_key(name: str, path: str) -> httpx.Response:
            return await client.get(path, headers={"X-API-Key": keys[name]})

        runs: dict[str, str] = {}
        for name in ("ada", "bob", "nobody"):
            sent = await client.post(
                "/v1/documents",
                json={"name": f"{name}.md", "text": name},
                headers={"X-API-Key": keys[name]},
            )
            runs[name] = sent.json()["run_id"]
        for name in ("ada", "bob", "nobody"):
            listed = (await as_key(name, "/v1/runs?limit=1")).json()["runs"]
            assert [run["run_id"] for run in listed] == [runs[name]]
            for other, run_id in runs.items():
                answer = await as_key(name, f"/v1/runs/{run_id}")
                assert answer.status_code == (200 if other == name else 404)
        everything = (await as_key("admin", "/v1/runs")).json()["runs"]
        assert {run["run_id"] for run in everything} == set(runs.values())


async def test_few_uploads_wait_and_the_others_are_answered_at_once(stores: Stores) -> None:
    few = Settings(serve=ServeSettings(max_ongoing_requests=4))
    app = application(service_on(stores, few))
    async with client_of(app, await make_key(stores.ledger, role="write")) as client:
        body = {"name": "n.md", "text": "one"}
        waiting = asyncio.create_task(client.post("/v1/documents?wait=3", json=body))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(2):
            answer = await client.post("/v1/documents?wait=60", json={**body, "name": "m.md"})
        assert answer.status_code == 202
        assert not waiting.done()
        assert (await waiting).status_code == 202


def test_a_large_text_is_checked_quickly() -> None:
    text = "的" * (16 * 2**20)
    before = time.thread_time()
    TextUpload(name="n.md", text=text)
    assert time.thread_time() - before < 0.3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"json": {"text": "a"}}, "name: Field required"),
        ({"json": {"name": "a"}}, "text: Field required"),
        ({"json": {"name": "a", "text": ""}}, "text: String should have at least 1 character"),
        ({"json": {"name": "a", "text": "b\0"}}, "text: NUL is not allowed here"),
        ({"json": {"name": "a", "text": "b", "ttl": 1}}, "ttl: unknown key; known: text, name"),
        ({"data": {"title": "a"}, "files": {"other": ("a", b"b")}}, "'other': unknown form field"),
        ({"files": {"file": ("a.md", b"")}}, "file: it is empty"),
        ({"data": {"file": "text"}, "files": {"title": ("a", b"b")}}, "file: missing"),
    ],
)
async def test_wrong_uploads(client: httpx.AsyncClient, given: Any, told: str) -> None:
    answer = await client.post("/v1/documents", **given)
    assert told in problem(answer, 422, "invalid-request")


async def test_request_ids_are_kept_or_made(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"X-Request-Id": "trace-7.a:b"})
    assert answer.headers["x-request-id"] == "trace-7.a:b"
    made = (await client.get("/healthz")).headers["x-request-id"]
    assert len(made) == 32
    bad = await client.get("/healthz", headers={"X-Request-Id": "a b"})
    assert "X-Request-Id must be" in problem(bad, 400, "bad-header")


async def test_too_much_at_once_is_told_to_wait_and_health_still_answers(stores: Stores) -> None:
    opened = asyncio.Event()

    async def slow(question: str, language: str) -> EncodedQuery:
        await opened.wait()
        return await encode(question, language)

    service = service_on(stores, encoder=slow)
    app = application(service, max_ongoing=2, max_waiting=1)
    async with client_of(app, await make_key(stores.ledger)) as client:
        asked = [
            asyncio.create_task(client.post("/v1/search", json={"query": "tokens"}))
            for _ in range(3)
        ]
        await asyncio.sleep(0.05)
        refused = await client.post("/v1/search", json={"query": "tokens"})
        assert "2 requests are in work and 1 wait" in problem(refused, 503, "overloaded")
        assert refused.headers["retry-after"] == "1"
        assert (await client.get("/healthz")).status_code == 200
        opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*asked)] == [200] * 3
        assert (await client.post("/v1/search", json={"query": "tokens"})).status_code == 200


async def test_a_fault_of_ours_is_a_problem_without_details(stores: Stores) -> None:
    async def faulty(question: str, language: str) -> EncodedQuery:
        raise ZeroDivisionError(question)

    app = application(service_on(stores, encoder=faulty))
    async with client_of(app, await make_key(stores.ledger)) as client:
        answer = await client.post("/v1/search", json={"query": "tokens"})
        assert "tokens" not in problem(answer, 500, "internal-error")


async def test_readiness_names_what_is_wrong(stores: Stores, client: httpx.AsyncClient) -> None:
    assert (await client.get("/readyz")).json()["ready"] is True
    await asyncio.sleep(LOOK_TTL_S)
    async with stores.ledger.transaction() as tx:
        await tx.generations.activate(Generation(fingerprint="other", dim=3, recipe={}))
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    told = answer.json()
    assert told["parts"]["ledger"]["detail"] == (
        "the ledger is encoded by another encoder than the one in use"
    )
    assert "hashing" not in answer.text
    assert told["parts"]["text_index"]["ok"] is True


async def test_many_who_ask_for_health_share_one_look(stores: Stores) -> None:
    asked = 0

    async def counted(question: str, language: str) -> EncodedQuery:
        nonlocal asked
        asked += 1
        return await encode(question, language)

    async with client_of(application(service_on(stores, encoder=counted)), None) as client:
        paths = ("/readyz", "/metrics") * 5
        answers = await asyncio.gather(*(client.get(path) for path in paths))
    assert {answer.status_code for answer in answers} == {200}
    assert asked == 1


async def test_a_body_that_never_comes_gives_its_place_back(stores: Stores) -> None:
    app = application(service_on(stores), max_ongoing=1, body_s=0.3)
    async with client_of(app, await make_key(stores.ledger)) as client:

        async def dripping() -> AsyncIterator[bytes]:
            while True:
                yield b" "
                await asyncio.sleep(0.05)

        async with asyncio.timeout(5):
            slow, quick = await asyncio.gather(
                client.post("/v1/search", content=dripping(), headers=JSON),
                client.get("/v1/documents"),
            )
    assert "within 0.3 s" in problem(slow, 408, "too-slow")
    assert quick.status_code == 200


async def test_without_a_key_no_body_is_read(stores: Stores) -> None:
    async def never() -> AsyncIterator[bytes]:
        await asyncio.sleep(60)
        yield b"{}"

    async with client_of(application(service_on(stores)), None) as client, asyncio.timeout(5):
        answer = await client.post("/v1/search", content=never(), headers=JSON)
    assert "no API key" in problem(answer, 401, "not-authenticated")


async def test_waiting_for_a_place_ends_and_is_counted(stores: Stores) -> None:
    opened = asyncio.Event()

    async def slow(question: str, language: str) -> EncodedQuery:
        await opened.wait()
        return await encode(question, language)

    settings = Settings(serve=ServeSettings(channel_deadline_s=20, deadline_s=20))
    service = service_on(stores, settings, encoder=slow)
    app = application(service, max_ongoing=1, queue_s=0.5)
    gauge = "palimpsest_http_requests_waiting"
    async with client_of(app, await make_key(stores.ledger)) as client:
        first = asyncio.create_task(client.post("/v1/search", json={"query": "tokens"}))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(client.post("/v1/search", json={"query": "tokens"}))
        await asyncio.sleep(0.05)
        assert service.metrics.registry.get_sample_value(gauge) == 1
        assert "no place became free" in problem(await second, 503, "overloaded")
        assert service.metrics.registry.get_sample_value(gauge) == 0
        opened.set()
        assert (await first).status_code == 200


async def test_the_clock_of_a_deadline_runs_while_the_request_waits(stores: Stores) -> None:
    async def slow(question: str, language: str) -> EncodedQuery:
        await asyncio.sleep(0.6)
        return await encode(question, language)

    settings = Settings(serve=ServeSettings(channel_deadline_s=20, deadline_s=20))
    app = application(service_on(stores, settings, encoder=slow), max_ongoing=1)
    async with client_of(app, await make_key(stores.ledger)) as client:
        first = asyncio.create_task(client.post("/v1/search", json={"query": "tokens"}))
        await asyncio.sleep(0.05)
        body = {"query": "tokens", "channels": ["keyword"], "deadline_ms": 300}
        late = await client.post("/v1/search", json=body)
        assert "no answer within 300 ms" in problem(late, 504, "deadline-exceeded")
        assert (await first).status_code == 200


async def test_metrics_are_one_page_of_prometheus_text(client: httpx.AsyncClient) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    await client.post("/v1/search", json={"query": "tokens"})
    await client.get("/v1/documents/doc_a")
    families = {
        family.name: family
        for family in text_string_to_metric_families((await client.get("/metrics")).text)
    }
    requests = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for sample in families["palimpsest_http_requests"].samples
        if sample.name.endswith("_total")
    }
    assert requests["/v1/search", "200"] == 1
    assert requests["/v1/documents/{document_id}", "404"] == 1
    stages = {sample.labels["stage"] for sample in families["palimpsest_stage_seconds"].samples}
    assert {
        "channel:semantic",
        "channel:keyword",
        "ledger",
        "fuse",
        "rerank",
        "select",
        "cite",
        "total",
    } <= stages
    parts = {s.labels["part"]: s.value for s in families["palimpsest_part_up"].samples}
    assert parts == {"ledger": 1, "vector_index": 1, "text_index": 1, "encoder": 1}
    visible = {s.labels["what"]: s.value for s in families["palimpsest_visible"].samples}
    assert visible["chunks"] == 3
    assert families["palimpsest_outbox_entries"].samples[0].value == 0
    assert families["palimpsest_outbox_set_aside_entries"].samples[0].value == 0
    assert families["palimpsest_outbox_done"].samples[0].value == 3


async def test_the_api_describes_itself(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    text = json.dumps(document)
    shapes = document["components"]["schemas"]
    references = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert references <= set(shapes)
    assert shapes["SearchRequest"]["examples"]
    assert "HTTPValidationError" not in text
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
            if path.startswith("/v1/"):
                assert operation["security"], path
                assert "401" in operation["responses"], path
                for status, response in operation["responses"].items():
                    for content in response.get("content", {}).values():
                        assert content["schema"], (path, status)
    page = (await client.get("/docs")).text
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page
    for kind in KINDS:
        assert f'id="{kind}"' in page
    assert "curl -s http://test/v1/search" in page
    assert "http://" not in page.replace("http://test", "")
    assert "https://" not in page
    assert "<script" not in page
