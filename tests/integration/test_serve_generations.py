"""Questions follow the ledger's generation: before, during and after a switch, never mixed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from reembedding import House, document, hashing
from serving import application, client_of, make_key

from cluster.errors import ModelError, StoreUnavailable
from cluster.model import EncodedQuery, Generation
from cluster.models.hashing import HashingEmbedder
from cluster.settings import Settings
from cluster.stores.memory.collections import MemoryCollections
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.open import Stores
from lifecycle.reembed import finish, reembed, roll_back
from serve.channels.semantic import EncodeQuery
from serve.generations import CurrentIndex, Watch
from serve.metrics import Metrics
from serve.service import Service, build_service

OLD, NEW = hashing(48), hashing(32)
POLL_S = 0.02


class Encoders:
    """Encoders by generation; those in `broken` do not open."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.warmed: list[str] = []

    def of(self, generation: Generation) -> EncodeQuery:
        embedder = HashingEmbedder(generation.dim)

        async def encode(question: str, language: str) -> EncodedQuery:
            if generation.fingerprint in self.broken:
                raise ModelError("does not open")
            await asyncio.sleep(0.002)  # so that a switch may come in between
            (query,) = embedder.encode_queries([question], languages=[language])
            return query

        return encode

    async def warm(self, encode: EncodeQuery) -> None:
        await encode("ready?", "en")


@pytest.fixture
async def house() -> AsyncIterator[House]:
    house = House(MemoryLedger(), MemoryCollections(), token_vectors=True)
    await house.activate(OLD)
    async with house.indexing():
        batch = [document(number, fingerprint=OLD.fingerprint) for number in range(12)]
        await house.put(*batch)
        await house.shown(*batch)
        yield house


@pytest.fixture
def encoders() -> Encoders:
    return Encoders()


@pytest.fixture
async def watch(house: House, encoders: Encoders) -> AsyncIterator[Watch]:
    watch = Watch(house.ledger, house.collections, encoders.of, warm=encoders.warm, poll_s=POLL_S)
    await watch.start()
    yield watch
    await watch.close()


def service(house: House, watch: Watch) -> Service:
    return build_service(
        settings=Settings(),
        stores=Stores(
            ledger=house.ledger, vector_index=CurrentIndex(watch), text_index=house.texts
        ),
        generations=watch,
        clock=house.clock,
        metrics=Metrics(),
    )


async def until(watch: Watch, fingerprint: str) -> None:
    async with asyncio.timeout(5):
        while watch.searched.fingerprint != fingerprint:  # noqa: ASYNC110  # as a client would
            await asyncio.sleep(POLL_S)


async def test_every_answer_is_of_one_generation(house: House, watch: Watch) -> None:
    app = application(service(house, watch))
    answers: list[tuple[str, bool, list[str]]] = []
    over = asyncio.Event()

    async with client_of(app, await make_key(house.ledger)) as client:

        async def ask() -> None:
            body = {"query": "3 word3x0 word3x1 word3x2", "explain": True, "channels": ["semantic"]}
            while not over.is_set():
                answer = await client.post("/v1/search", json=body)
                assert answer.status_code == 200, answer.text
                told = answer.json()
                ranking = told["explanation"]["rankings"]["semantic"]
                answers.append((told["generation"], bool(told["failures"]), ranking[:3]))

        asking = [asyncio.create_task(ask()) for _ in range(3)]
        await reembed(NEW, house.tools())
        await until(watch, NEW.fingerprint)
        await asyncio.sleep(0.1)
        await roll_back(house.tools())
        await until(watch, OLD.fingerprint)
        await asyncio.sleep(0.1)
        over.set()
        await asyncio.gather(*asking)
    assert {generation for generation, _, _ in answers} == {OLD.fingerprint, NEW.fingerprint}
    assert not any(failed for _, failed, _ in answers)
    expected = {
        one.fingerprint: await house.nearest(one, "3 word3x0 word3x1 word3x2") for one in (OLD, NEW)
    }
    assert expected[OLD.fingerprint] != expected[NEW.fingerprint]
    for generation, _, ranking in answers:
        assert ranking == expected[generation]


async def test_the_former_goes_on_while_the_new_encoder_does_not_open(
    house: House, watch: Watch, encoders: Encoders
) -> None:
    encoders.broken = {NEW.fingerprint}
    await reembed(NEW, house.tools())
    await asyncio.sleep(5 * POLL_S)
    assert watch.searched.fingerprint == OLD.fingerprint
    app = application(service(house, watch))
    async with client_of(app, await make_key(house.ledger)) as client:
        answer = (await client.post("/v1/search", json={"query": "word3x0"})).json()
        assert (answer["generation"], answer["failures"]) == (OLD.fingerprint, [])
        assert (await client.get("/readyz")).json()["parts"]["ledger"]["ok"] is True
        encoders.broken = set()
        await until(watch, NEW.fingerprint)
        answer = (await client.post("/v1/search", json={"query": "word3x0"})).json()
        assert (answer["generation"], answer["failures"]) == (NEW.fingerprint, [])


async def test_what_is_built_is_opened_before_the_switch(house: House, watch: Watch) -> None:
    async with house.ledger.transaction() as tx:
        await tx.generations.begin(NEW, now=house.clock.now())
    await watch.look()
    assert watch.searched.fingerprint == OLD.fingerprint
    opened = await house.collections.open(NEW)
    async with house.ledger.transaction() as tx:
        for page in [await tx.generations.missing(NEW.fingerprint, limit=99)]:
            texts = [one.indexed_text for one in page]
            made = HashingEmbedder(32).embed_documents(texts, languages=["en"] * len(texts))
            keys = [one.vector_key for one in page]
            await tx.vectors.put(dict(zip(keys, made, strict=True)), fingerprint=NEW.fingerprint)
        day = timedelta(days=1)
        assert not await tx.generations.switch(NEW.fingerprint, now=house.clock.now(), grace=day)
    await watch.look()
    assert watch.searched.fingerprint == NEW.fingerprint
    assert watch.searched.index is opened


async def test_an_index_is_closed_long_after_its_generation_is_gone(
    house: House, encoders: Encoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    # Collections of its own: the indexer closes what it opened itself.
    watch = Watch(house.ledger, MemoryCollections(), encoders.of, warm=encoders.warm)
    await watch.start()
    former = watch.searched.index

    async def close() -> None:
        closed.append("former")

    monkeypatch.setattr(former, "close", close)
    await reembed(NEW, house.tools())
    await watch.look()
    await finish(house.tools())
    await watch.look()
    assert closed == []
    monkeypatch.setattr("serve.generations.KEPT_S", -1.0)
    await watch.look()
    assert closed == ["former"]
    await watch.close()


async def test_without_any_generation_the_semantic_channel_says_so(encoders: Encoders) -> None:
    watch = Watch(
        MemoryLedger(), MemoryCollections(), encoders.of, warm=encoders.warm, poll_s=POLL_S
    )
    await watch.start()
    with pytest.raises(StoreUnavailable, match="ingest something first"):
        _ = watch.searched
    await watch.close()
