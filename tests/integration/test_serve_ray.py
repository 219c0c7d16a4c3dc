"""The application on a real Ray Serve: encoder and retrieval deployments behind its proxy."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from serving import NOW, fill, memory_stores, prepared
from tiny_cross_encoder import write_tiny_cross_encoder

from cluster.clock import FixedClock
from cluster.errors import DeadlineExceeded
from cluster.model import ApiKey
from cluster.models.hashing import HashingEmbedder
from cluster.settings import CrossEncoderSettings, EncoderSettings, ServeSettings, Settings
from serve.api.problems import CONTENT_TYPE
from serve.app import Retrieval, build, build_cross_encoder, deploy, runs_already
from serve.cross_encoding import HereCrossEncoder
from serve.rerankers import RemoteCrossEncoder
from serve.secret import key_id_of, secret_digest
from serve.service import Service, build_service

pytestmark = [pytest.mark.ray, pytest.mark.slow]

SECRETS = {"acme": "pk_acme", "globex": "pk_globex"}
SEARCH = {"query": "How long are access tokens valid?"}


class Filled(Retrieval):
    """The real thing but for its stores: the reference ones, with four documents."""

    async def open(self) -> Service:
        stores = memory_stores()
        await fill(
            stores,
            [
                prepared("tokens.md", "Access tokens are valid for 30 minutes."),
                prepared("tls.md", "Use TLS 1.3 everywhere."),
                prepared("zh.md", "访问令牌的有效期为三十分钟。"),
                prepared("secret.md", "Access tokens of Globex last a year.", tenant="globex"),
            ],
        )
        async with stores.ledger.transaction() as tx:
            for tenant, secret in SECRETS.items():
                key = ApiKey(
                    key_id=key_id_of(secret),
                    tenant=tenant,
                    role="write",
                    name="tests",
                    owner=None,
                    agent=None,
                    created_at=NOW,
                )
                await tx.keys.put(key, secret_sha256=secret_digest(secret))
        return build_service(
            settings=self.settings,
            stores=stores,
            encode=self.encode,
            fingerprint=await self.encode.fingerprint(),
            clock=FixedClock(NOW),
            metrics=self.metrics,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def settings_for(port: int) -> Settings:
    return Settings(
        encoder=EncoderSettings(backend="hashing", hashing_dim=256),
        serve=ServeSettings(
            port=port, max_ongoing_requests=2, max_queued_requests=2, channel_deadline_s=5.0
        ),
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_AUTH_MODE", "disabled")
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Replicas find what fills their stores.
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        yield from served()


def served() -> Iterator[str]:
    import ray
    from ray import serve as ray_serve

    port = free_port()
    settings = settings_for(port)
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
        namespace="tests",
    )
    try:
        deploy(settings, build(settings, retrieval=Filled))
        yield f"http://127.0.0.1:{port}"
    finally:
        ray_serve.shutdown()  # type: ignore[no-untyped-call]  # Ray has no types here
        ray.shutdown()


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=url, headers={"X-API-Key": SECRETS["acme"]}, timeout=30, trust_env=False
    ) as made:
        yield made


def test_a_question_is_answered_through_both_deployments(client: httpx.Client) -> None:
    answer = client.post("/v1/search", json=SEARCH, headers={"X-Request-Id": "r-1"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["results"][0]["text"] == "Access tokens are valid for 30 minutes."
    assert found["failures"] == []
    assert {hit["channel"] for hit in found["results"][0]["reasons"]["channels"]} == {
        "keyword",
        "semantic",
    }
    assert not any("Globex" in each["text"] for each in found["results"])
    assert found["request_id"] == "r-1"
    assert answer.headers.get_list("x-request-id") == ["r-1"]


def test_the_encoders_deployment_counts_the_tokens(client: httpx.Client) -> None:
    answer = client.post("/v1/context", json={**SEARCH, "budget_tokens": 300})
    assert answer.status_code == 200, answer.text
    context = answer.json()["context"]
    assert context["counted_by"] == answer.json()["generation"] != ""
    (tokens,) = HashingEmbedder(256).count_tokens([context["text"]])
    assert context["tokens"] == tokens
    found = client.post("/v1/search", json={**SEARCH, "budget_tokens": 100}).json()
    assert found["spent"]["counted_by"] == answer.json()["generation"]


def test_many_questions_at_once_are_all_answered_rightly(url: str) -> None:
    """Micro-batches do not mix up whose vector is whose."""
    questions = {"access tokens valid": "Access", "TLS 1.3 everywhere": "Use TLS"}

    async def ask_all() -> list[tuple[str, httpx.Response]]:
        async with httpx.AsyncClient(
            base_url=url, headers={"X-API-Key": SECRETS["acme"]}, timeout=30, trust_env=False
        ) as client:
            gate = asyncio.Semaphore(4)

            async def ask(question: str) -> tuple[str, httpx.Response]:
                async with gate:
                    body = {"query": question, "channels": ["semantic"], "top_k": 1}
                    return question, await client.post("/v1/search", json=body)

            return await asyncio.gather(*(ask(each) for each in [*questions] * 20))

    for question, answer in asyncio.run(ask_all()):
        assert answer.status_code == 200, answer.text
        assert answer.json()["results"][0]["text"].startswith(questions[question])


def test_problems_pass_the_proxy_as_they_are(client: httpx.Client) -> None:
    for answer, status in (
        (client.post("/v1/search", json={"query": " "}), 422),
        (client.post("/v1/search", json={**SEARCH, "top_k": 10_000}), 422),
        (client.post("/v1/search", json={**SEARCH, "filter": {"nope": 1}}), 422),
        (client.post("/v1/search", json={"query": "x" * 102_400}), 422),
        (client.post("/v1/search", content=b'{"query": "\\ud800"}', headers=JSON), 422),
        (client.post("/v1/search", content=b"\xff", headers=JSON), 400),
        (client.post("/v1/search", content=b"[" * 100_000, headers=JSON), 400),
        (client.post("/v1/search", content=b" " * 2_000_000, headers=JSON), 413),
        (client.post("/v1/search", json=SEARCH, headers={"X-API-Key": "pk_wrong"}), 401),
        (client.get("/v1/search"), 405),
        (client.get("/nowhere"), 404),
        (client.get("/v1/documents/%00"), 404),
    ):
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == CONTENT_TYPE
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


JSON = {"Content-Type": "application/json"}


def test_another_tenant_s_document_is_not_found(client: httpx.Client) -> None:
    foreign = {"X-API-Key": SECRETS["globex"]}
    (document,) = client.get("/v1/documents", headers=foreign).json()["documents"]
    path = f"/v1/documents/{document['document_id']}"
    assert client.get(path, headers=foreign).status_code == 200
    assert client.get(path).status_code == 404
    assert client.delete(path).status_code == 404
    assert client.get(path, headers=foreign).status_code == 200


def test_an_upload_arrives_whole(client: httpx.Client) -> None:
    content = os.urandom(1_500_000)
    answer = client.post("/v1/documents", files={"file": ("blob.bin", content)})
    assert answer.status_code == 202
    assert client.get(answer.headers["location"]).json()["state"] == "queued"


def test_too_much_at_once_is_refused_with_a_time_to_come_back(url: str) -> None:
    async def flood() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=60)
        async with httpx.AsyncClient(
            base_url=url,
            headers={"X-API-Key": SECRETS["acme"]},
            timeout=30,
            limits=limits,
            trust_env=False,
        ) as client:
            return await asyncio.gather(
                *(client.post("/v1/documents?wait=1", json=UPLOAD) for _ in range(12)),
                *(client.get("/healthz") for _ in range(3)),
            )

    answers = asyncio.run(flood())
    uploads, health = answers[:12], answers[12:]
    assert [answer.status_code for answer in health] == [200] * 3
    refused = [answer for answer in uploads if answer.status_code == 503]
    assert refused
    assert len(uploads) - len(refused) >= 4
    for answer in refused:
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["type"] == "/docs#overloaded"


UPLOAD = {"name": "a.md", "text": "a"}


@pytest.mark.usefixtures("url")
async def test_a_cross_encoder_is_a_deployment_of_its_own(tmp_path: Path) -> None:
    """Questions that are read together get each its own scores; what is late is not read."""
    from ray import serve as ray_serve

    folder = write_tiny_cross_encoder(tmp_path / "tiny")
    wanted = CrossEncoderSettings(model=str(folder), threads=1, batch=3, batch_wait_ms=50)
    settings = Settings(home=tmp_path, cross_encoder=wanted)
    questions = {
        "are access tokens valid?": ["access tokens are valid", "use tls", "cats"],
        "use tls?": ["use tls everywhere"],
        "cats?": ["cats sleep", "access tokens"],
    }
    expected = HereCrossEncoder(settings)
    handle = ray_serve.run(build_cross_encoder(settings), name="reader", route_prefix=None)
    remote = RemoteCrossEncoder(handle)
    try:
        asked = [*questions.items()] * 4
        found = await asyncio.gather(*(remote(*each, within_s=30.0) for each in asked))
        for (question, passages), scores in zip(asked, found, strict=True):
            own = await expected(question, passages, within_s=30.0)
            assert scores == pytest.approx(own, abs=1e-4)
        with pytest.raises(DeadlineExceeded):
            await remote("are access tokens valid?", ["cats"], within_s=0.0)
    finally:
        ray_serve.delete("reader")


def test_what_runs_already_is_found_by_its_settings(url: str) -> None:
    port = int(url.rpartition(":")[2])
    assert runs_already(settings_for(port))
    assert not runs_already(settings_for(port + 1))


def test_readiness_metrics_and_docs(client: httpx.Client) -> None:
    ready = client.get("/readyz").json()
    assert ready["ready"] is True, ready
    page = client.get("/metrics").text
    assert 'palimpsest_http_requests_total{method="POST",route="/v1/search",status="200"}' in page
    assert "Palimpsest API" in client.get("/docs").text
