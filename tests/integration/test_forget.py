"""Forgetting from the request to the signed receipt, on the reference and on real stores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from forgetting import House, memory_house, real_house
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
    views_of,
)

from cluster.clock import FixedClock
from cluster.errors import Forgotten
from cluster.forget.receipts import Signer, verify
from cluster.forget.request import lift
from cluster.model import Generation, Metadata, Run, Scope
from cluster.stores.memory.collections import MemoryCollections
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.protocols import ForgetJob, Prepared
from contract.milvus_lite import MilvusLite, milvus_lite
from contract.postgres import wipe
from lifecycle.forget import RETIRING, Ground, finish, finish_all
from lifecycle.reembed import SETTLE_S
from lifecycle.residue import residue

ENGLISH = "Marlene keeps the spare key of the boathouse under the third stone on the left."
CHINESE = "玛琳把船屋的备用钥匙放在左边第三块石头下面，除了她的姐姐没有人知道这件事情。"
OTHER = "The ferry leaves at nine, and once more in the evening if enough people wait for it."


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusLite]:
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as running:
        yield running


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.stores)])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    if request.param == "memory":
        yield memory_house(tmp_path)
        return
    url = request.getfixturevalue("module_database_url")
    wipe(url)
    uri = request.getfixturevalue("milvus").uri
    async with real_house(tmp_path, postgres_url=url, milvus_uri=uri) as real:
        await empty(real)
        yield real


async def empty(house: House) -> None:
    index = house.stores.vector_index
    if left := [chunk async for batch in index.scan() for chunk, _ in batch]:
        await index.delete(left)


def document(one: Prepared) -> str:
    return one.revision.document_id


def made_of(one: Prepared, *supports: str) -> Prepared:
    return replace(one, revision=replace(one.revision, derived_from=supports))


def in_language(path: str, text: str, language: str) -> Prepared:
    return prepared(path, text, metadata=Metadata(title=path, language=language))


def several(count: int) -> list[Prepared]:
    words = "anchor buoy cable davit engine fender gangway hull"
    return [
        prepared(f"many/{at}.md", f"Sheet {at} of the log {at * 7919}: {words} number{at}.")
        for at in range(count)
    ]


async def visible(house: House, batch: Sequence[Prepared], *, tenant: str = TENANT) -> int:
    chunks = [chunk.chunk_id for one in batch for chunk in one.chunks]
    found = 0
    for start in range(0, len(chunks), 2000):
        async with house.stores.ledger.transaction() as tx:
            part = chunks[start : start + 2000]
            found += len(await tx.documents.visible(Scope(tenant=tenant), part))
    return found


async def test_from_request_to_receipt(house: House) -> None:
    one, two = in_language("a.md", ENGLISH, "en"), in_language("b.md", CHINESE, "zh")
    stays = in_language("c.md", OTHER, "en")
    await fill(house.stores, [one, two, stays])
    for each in (one, two):
        job = await house.forget("document", document(each))
        assert (job.state, job.waits_for) == ("finished", "")
        text = await house.receipt(job)
        signer = Signer(house.ground.receipt_key.make())
        assert verify(text, signer.public_key) == []
        receipt = json.loads(text)
        assert receipt["subject"]["kind"] == "document"
        assert receipt["counts"]["before"]["ledger"]["chunks"] == 1
        assert receipt["counts"]["before"]["text index"] == {"rows": 1}
        assert set(receipt["counts"]["after"]["ledger"].values()) == {0}
        assert receipt["search"]["found"] == 0
        assert f"vectors {EMBEDDER.fingerprint}" in receipt["search"]["stores"]
        for named in (each.revision.text, each.revision.path, each.revision.origin, document(each)):
            assert named not in text
    scanned = [chunk async for batch in house.stores.text_index.scan() for chunk, _ in batch]
    assert scanned == [chunk.chunk_id for chunk in stays.chunks]
    assert await visible(house, [one, two, stays]) == 1


async def test_every_changed_byte_of_a_receipt_is_seen(house: House) -> None:
    one = prepared("a.md", ENGLISH)
    await fill(house.stores, [one])
    text = await house.receipt(await house.forget("item", document(one)))
    key = Signer(house.ground.receipt_key.make()).public_key
    for at in range(len(text)):
        changed = text[:at] + ("#" if text[at] != "#" else "+") + text[at + 1 :]
        assert verify(changed, key), f"character {at} of the receipt"
        assert verify(text[:at] + text[at + 1 :], key)
        assert verify(f"{text[:at]} {text[at:]}", key)
    parts: Mapping[str, Any] = json.loads(text)
    canonical = {"sort_keys": True, "ensure_ascii": False, "separators": (",", ":")}
    for name, part in (("counts", {**parts["counts"], "ids": 7}), ("stays", {})):
        told = verify(json.dumps({**parts, name: part}, **canonical), key)  # type: ignore[arg-type]
        assert told == [f"{name}: changed since it was signed"]
    other = verify(text, Signer(b"x" * 32).public_key)
    assert [line.split(":")[0] for line in other] == ["key", "signature"]


async def test_a_job_that_was_interrupted_is_finished_by_the_next(house: House) -> None:
    one = prepared("a.md", ENGLISH)
    await fill(house.stores, [one])
    job = await house.ask("document", document(one))
    early = await finish(house.ground, job, within_s=0.6)
    assert (early.state, early.waits_for) == ("draining", "the indexes: 1 rows to be removed")
    await house.drain()
    assert await finish_all(house.ground, within_s=60) == []
    text = await house.receipt(job)
    assert await house.ask("document", document(one)) == await finish(house.ground, job)
    assert await house.receipt(job) == text


async def test_what_is_still_there_keeps_the_receipt_back(house: House) -> None:
    one = prepared("a.md", ENGLISH)
    await fill(house.stores, [one])
    job = await house.ask("document", document(one))
    await house.drain()
    upload = {"name": "again.txt"}
    async with house.stores.ledger.transaction() as tx:
        await tx.runs.start(run("late", arguments=upload))
        await tx.uploads.put(
            "late", TENANT, name="again.txt", media_type=None, content=ENGLISH.encode(),
            arguments=upload,
        )  # fmt: skip
    left = await finish(house.ground, job, within_s=2)
    assert left.state == "scanning"
    assert "uploads" in left.waits_for
    async with house.stores.ledger.transaction() as tx:
        await tx.uploads.delete("late")
    assert (await finish(house.ground, job, within_s=60)).state == "finished"


async def test_a_search_that_takes_long_comes_to_its_end(tmp_path: Path) -> None:
    """Of a large index it takes longer than a job is waited for."""
    house = memory_house(tmp_path)
    one = prepared("a.md", ENGLISH)
    await fill(house.stores, [one])
    job = await house.ask("document", document(one))
    await house.drain()
    slow = replace(house.stores, text_index=SlowScan())
    ground = replace(house.ground, views=views_of(slow))
    assert (await finish(ground, job, within_s=0.1)).state == "finished"


class SlowScan(MemoryTextIndex):
    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        await asyncio.sleep(0.5)
        async for batch in super().scan():
            yield batch


async def test_rows_that_an_index_still_has_are_found(house: House) -> None:
    from cluster.forget.marks import MarkKey
    from cluster.forget.request import unseal

    one = prepared("a.md", ENGLISH)
    await fill(house.stores, [one])
    job = await house.ask("document", document(one))
    async with house.stores.ledger.transaction() as tx:
        work = unseal(MarkKey(house.key_file.make()), await tx.forget_jobs.work(job.job_id))
        while entries := await tx.outbox.take(limit=1000):
            await tx.outbox.done(entries)
    found = await residue(house.stores.ledger, house.ground.views, TENANT, work)
    assert {(each.store.split()[0], each.place) for each in found} == {
        *(("vectors", place) for place in ("look-up", "scan")),
        *(("text", place) for place in ("look-up", "scan", "search")),
    }


async def test_writing_meanwhile_brings_nothing_back(house: House) -> None:
    """An indexer that took the row before it was erased, a put that runs beside the request."""
    batch = several(40)
    for at in range(0, 40, 10):
        await fill(house.stores, batch[at : at + 10])

    erased = asyncio.Event()

    async def put_again() -> int:
        """Until a whole round came after the request had returned."""
        refused = 0
        last = False
        while not last:
            last = erased.is_set()
            for one in batch:
                refused += await put_once(house, one)
                await asyncio.sleep(0)
        return refused

    async def ask() -> ForgetJob:
        job = await house.ask("source", "tests")
        erased.set()
        return job

    refused, job = await asyncio.gather(put_again(), ask())
    assert refused >= len(batch)
    await house.drain()
    assert (await finish(house.ground, job, within_s=60)).state == "finished"
    assert await visible(house, batch) == 0
    assert [batch async for batch in house.stores.vector_index.scan()] == []
    async with house.stores.ledger.transaction() as tx:
        keys = [key for one in batch for key in _vector_keys(one)]
        assert await tx.vectors.known(keys, fingerprint=EMBEDDER.fingerprint) == set()


async def test_a_merged_note_stays_and_is_named_for_recomputing(house: House) -> None:
    one, two = in_language("a.md", ENGLISH, "en"), in_language("b.md", CHINESE, "zh")
    both = made_of(
        in_language("both.md", f"{ENGLISH}\n\n{CHINESE}", "en"), document(one), document(two)
    )
    only = made_of(in_language("only.md", "摘要：钥匙在石头下面。", "zh"), document(one))
    await fill(house.stores, [one, two])
    await fill(house.stores, [both, only])
    receipt = json.loads(await house.receipt(await house.forget("document", document(one))))
    assert receipt["stays"]["needs_recompute"] == [document(both)]
    assert await visible(house, [one, only]) == 0
    assert await visible(house, [two, both]) == 2
    await house.forget("document", document(two))
    assert await visible(house, [both]) == 0


async def test_two_tenants_with_the_same_bytes(house: House) -> None:
    mine, theirs = prepared("a.md", ENGLISH), prepared("a.md", ENGLISH, tenant="other")
    await fill(house.stores, [mine, theirs])
    job = await house.forget("source", "tests")
    assert (job.counts["embeddings"], job.state) == (0, "finished")
    assert await visible(house, [mine]) == 0
    assert await visible(house, [theirs], tenant="other") == 1
    vector = EMBEDDER.embed_queries([ENGLISH], languages=["en"])[0]
    near = await house.stores.vector_index.search(
        vector, scope=Scope(tenant="other"), where=None, limit=5
    )
    assert [chunk for chunk, _ in near] == [theirs.chunks[0].chunk_id]


@pytest.mark.parametrize("count", [0, 1, 100, 101, 1001])
async def test_so_many_at_once(house: House, count: int) -> None:
    await so_many(house, count)


@pytest.mark.slow
@pytest.mark.stores
async def test_ten_thousand_and_one_at_once(
    tmp_path: Path, module_database_url: str, milvus: MilvusLite
) -> None:
    wipe(module_database_url)
    async with real_house(
        tmp_path, postgres_url=module_database_url, milvus_uri=milvus.uri
    ) as real:
        await empty(real)
        await so_many(real, 10_001)


async def so_many(house: House, count: int) -> None:
    batch = several(count)
    for at in range(0, count, 1000):
        await fill(house.stores, batch[at : at + 1000])
    other = prepared("stays.md", OTHER, owner="ann")
    await fill(house.stores, [other])
    job = await house.ask("source", "tests", owner=None) if count else None
    if job is None:
        job = await house.ask("source", "nothing of that name")
        assert job.counts.get("documents", 0) == 0
    else:
        assert job.counts["documents"] == count + 1
        assert await visible(house, batch) == 0
    await house.drain()
    assert (await finish(house.ground, job, within_s=300)).state == "finished"


async def test_a_retired_index_settles_and_is_dropped_before_the_receipt(house: House) -> None:
    one = prepared("a.md", ENGLISH)
    active = Generation(fingerprint=EMBEDDER.fingerprint, dim=DIM, recipe={})
    retired = Generation(fingerprint="retired", dim=DIM, recipe={})
    async with house.stores.ledger.transaction() as tx:
        await tx.generations.activate(active)
        await tx.generations.begin(retired, now=NOW)
    await fill(house.stores, [one])
    collections = MemoryCollections()
    index = await collections.open(retired)
    job = await house.ask("document", document(one))
    await house.drain()
    async with house.stores.ledger.transaction() as tx:
        await tx.generations.retire(retired.fingerprint, now=NOW)

    def ground(after_s: float) -> Ground:
        clock = FixedClock(NOW + timedelta(seconds=after_s))
        return replace(house.ground, collections=collections, clock=clock)

    waiting = await finish(ground(SETTLE_S - 0.1), job, within_s=0.3)
    assert (waiting.state, waiting.waits_for) == ("scanning", RETIRING)
    assert collections.by_fingerprint == {retired.fingerprint: index}
    assert (await finish(ground(SETTLE_S), job, within_s=60)).state == "finished"
    assert collections.by_fingerprint == {}


async def test_over_http(house: House) -> None:
    one, two = prepared("a.md", ENGLISH), prepared("b.md", OTHER)
    mine = prepared("c.md", CHINESE, owner="ann", metadata=Metadata(title="c", language="zh"))
    await fill(house.stores, [one, two, mine])
    ledger = house.stores.ledger
    admin, writer, ann = [
        await make_key(ledger, role=role, owner=owner)  # type: ignore[arg-type]  # roles
        for role, owner in (("admin", None), ("write", None), ("write", "ann"))
    ]
    app = application(service_on(house.stores, house.settings))
    wish = {"kind": "document", "value": document(one)}
    async with client_of(app, admin) as client:
        bearer = {"Authorization": f"Bearer {writer}"}
        assert (await client.post("/v1/forget", json=wish, headers=bearer)).status_code == 403
        of_ann = {"Authorization": f"Bearer {ann}"}
        assert (await client.post("/v1/forget", json=wish, headers=of_ann)).status_code == 404
        dry = await client.post("/v1/forget", json={**wish, "dry_run": True})
        assert (dry.status_code, dry.json()["preview"]["documents"]) == (200, 1)
        assert (await client.get(f"/v1/documents/{document(one)}")).status_code == 200
        asked = await client.post("/v1/forget", json=wish)
        job = asked.json()["job"]
        assert (asked.status_code, job["state"]) == (202, "draining")
        assert (await client.get(f"/v1/documents/{document(one)}")).status_code == 404
        assert (await client.get(f"/v1/receipts/{job['receipt_id']}")).status_code == 404
        await house.drain()
        working = asyncio.create_task(finish_all(house.ground, within_s=60))
        twice = await client.post("/v1/forget?wait=60", json=wish)
        await working
        assert (twice.status_code, twice.json()["job"]["job_id"]) == (200, job["job_id"])
        assert (await client.get(asked.headers["Location"])).json()["state"] == "finished"
        receipt = await client.get(f"/v1/receipts/{job['receipt_id']}")
        key = (await client.get("/v1/receipts/key")).json()
        assert verify(receipt.text, bytes.fromhex(key["public_key"])) == []
        hers = await house.forget("owner", "ann", owner="ann")
        bob = await make_key(ledger, role="write", owner="bob")
        of_bob = {"Authorization": f"Bearer {bob}"}
        for path in (f"forget/{hers.job_id}", f"receipts/{hers.receipt_id}"):
            answers = [
                (await client.get(f"/v1/{path}", headers=each)).status_code
                for each in ({}, of_ann, of_bob)
            ]
            assert answers == [200, 200, 404]
        for path in (f"forget/{job['job_id']}", f"receipts/{job['receipt_id']}"):
            assert (await client.get(f"/v1/{path}", headers=of_ann)).status_code == 404
        lifted = await client.post(f"/v1/forget/{job['receipt_id']}/lift", headers=of_ann)
        assert lifted.status_code == 403
        lifted = await client.post(f"/v1/forget/{job['receipt_id']}/lift")
        assert lifted.json()["tombstones"] == 2
        wrong = await client.post("/v1/forget", json={"kind": "document", "value": "doc_none"})
        assert (wrong.status_code, wrong.json()["type"]) == (404, "/docs#not-found")
        bad = await client.post("/v1/forget", json={"kind": "all", "value": "x"})
        assert bad.status_code == 422
        await fill(house.stores, [one])
        assert await visible(house, [one, two]) == 2


async def test_lifted_content_may_come_back(house: House) -> None:
    one = prepared("a.md", ENGLISH)
    await fill(house.stores, [one])
    job = await house.forget("document", document(one))
    with pytest.raises(Forgotten, match=job.receipt_id):
        await fill(house.stores, [one])
    later = NOW + timedelta(days=1)
    assert await lift(house.stores.ledger, TENANT, job.receipt_id, now=later) == 2
    await fill(house.stores, [one])
    assert await visible(house, [one]) == 1
    again = await house.forget("document", document(one))
    assert (again.job_id == job.job_id, again.state) == (False, "finished")


async def put_once(house: House, one: Prepared) -> int:
    """As ingest does: vectors first. 1 when it was refused."""
    vectors = EMBEDDER.embed_documents(
        [chunk.indexed_text for chunk in one.chunks], languages=["en"] * len(one.chunks)
    )
    made = dict(zip(_vector_keys(one), vectors, strict=True))
    async with house.stores.ledger.transaction() as tx:
        await tx.vectors.put(made, fingerprint=EMBEDDER.fingerprint)
    try:
        async with house.stores.ledger.transaction() as tx:
            await tx.documents.put([one], now=NOW)
    except Forgotten:
        return 1
    return 0


def run(run_id: str, *, arguments: dict[str, str]) -> Run:
    return Run(
        run_id=run_id,
        tenant=TENANT,
        arguments=arguments,
        state="queued",
        started_at=NOW,
        finished_at=None,
        counts={},
    )


def _vector_keys(one: Prepared) -> list[str]:
    from cluster.ids import vector_key

    language = one.revision.metadata.language
    return [vector_key(language, chunk.indexed_text) for chunk in one.chunks]
