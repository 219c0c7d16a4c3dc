"""A thousand probes after forgetting, or a plain delete, has returned: none finds anything.

Every way in which an answer can show a text is asked about every text that is gone, first while
both indexes still hold its rows, then after they have let go of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from forgetting import House, real_house
from serving import (
    NOW,
    TENANT,
    application,
    client_of,
    encode,
    fill,
    make_key,
    prepared,
    service_on,
)

from cluster.model import Metadata, Scope, Turn
from cluster.settings import ServeSettings
from cluster.stores.protocols import Prepared
from cluster.text.terms import QueryTerm, document_terms
from contract.milvus_lite import MilvusLite, milvus_lite
from contract.postgres import wipe
from lifecycle.forget import finish

pytestmark = pytest.mark.stores

MANY, FEW = 35, 8
"""Documents and turns that go, of each kind and language: enough for a thousand probes, and so
many as can be asked about in every run."""

PROBES_OF_ONE = 9
"""At least: four searches, a passage, three look-ups of the document, a listing."""

SCOPE = Scope(tenant=TENANT)


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusLite]:
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as running:
        yield running


@pytest.fixture
async def house(
    tmp_path: Path, module_database_url: str, milvus: MilvusLite
) -> AsyncIterator[House]:
    wipe(module_database_url)
    async with real_house(
        tmp_path, postgres_url=module_database_url, milvus_uri=milvus.uri
    ) as real:
        index = real.stores.vector_index
        if left := [chunk async for batch in index.scan() for chunk, _ in batch]:
            await index.delete(left)
        yield real


def corpus(source: str, count: int) -> list[Prepared]:
    """Documents in two languages, of two chunks each, and turns of one session."""
    made = []
    for at in range(count):
        english = f"Mooring number {at * 37} of the {source} is held by keeper{at}. " * 2
        chinese = f"{source}第{at * 41}号泊位由守望者{at}看管，夜里点一盏绿色的灯。" * 2
        for language, text in (("en", english), ("zh", chinese)):
            made.append(
                prepared(
                    f"{source}/{language}/{at}.md", text, cuts=(len(text) // 2,),
                    metadata=Metadata(
                        title=f"{source} {at}", language=language, updated_at=NOW
                    ),
                )
            )  # fmt: skip
        said = Turn(
            conversation=source, session=source, ordinal=at, speaker=f"keeper{at}", said_at=NOW
        )
        made.append(
            prepared(f"{source}/turn/{at}", f"I, keeper{at}, saw {source} {at}.", turn=said)
        )
    return made


async def probe_http(client: httpx.AsyncClient, gone: Sequence[Prepared]) -> Counter[str]:
    """Hits by kind of probe; `asked` counts the probes."""
    found: Counter[str] = Counter()
    chunks = {chunk.chunk_id for one in gone for chunk in one.chunks}
    documents = {one.revision.document_id for one in gone}
    for one in gone:
        question = one.revision.text[:200]
        for channels in (["semantic"], ["keyword"], ["recent"], None):
            answer = await client.post(
                "/v1/search",
                json={"query": question, "top_k": 50, "channels": channels, "deadline_ms": 20_000},
            )
            answer.raise_for_status()
            shown = answer.text
            cited = {each["citation"]["document_id"] for each in answer.json()["results"]}
            found["asked"] += 1
            found[f"search {channels}"] += bool(cited & documents) or any(
                chunk in shown for chunk in chunks
            )
        for chunk in one.chunks:
            passage = await client.get(f"/v1/passages/{chunk.chunk_id}?before=5&after=5")
            found["asked"] += 1
            found["passage"] += passage.status_code != 404
        for query in ("", "?text=true", f"?revision_id={one.revision.revision_id}"):
            document = await client.get(f"/v1/documents/{one.revision.document_id}{query}")
            found["asked"] += 1
            found["document"] += document.status_code != 404
        listed = await client.get(
            "/v1/documents", params={"filter": json.dumps({"path": one.revision.path})}
        )
        found["asked"] += 1
        found["listing"] += bool(listed.json()["documents"])
    return found


async def probe_neighbours(client: httpx.AsyncClient, beside: Sequence[Prepared]) -> int:
    """How many neighbours that are gone a turn that stays shows."""
    shown = 0
    for one in beside:
        answer = await client.get(f"/v1/passages/{one.chunks[0].chunk_id}?before=20&after=20")
        answer.raise_for_status()
        body = answer.json()
        shown += len(body["before"]) + len(body["after"])
    return shown


async def probe_stores(house: House, gone: Sequence[Prepared]) -> Counter[str]:
    """What both indexes and the ledger's own reads say, once the job is finished."""
    stores = house.stores
    chunks = sorted({chunk.chunk_id for one in gone for chunk in one.chunks})
    found: Counter[str] = Counter()
    found["vectors by id"] += len(await stores.vector_index.versions(chunks))
    found["texts by id"] += len(await stores.text_index.versions(chunks))
    for name, index in (("vectors", stores.vector_index), ("texts", stores.text_index)):
        async for batch in index.scan():
            found[f"{name} scanned"] += sum(chunk in set(chunks) for chunk, _ in batch)
    for one in gone:
        text = one.revision.text
        near = await stores.vector_index.search(
            (await encode(text, one.revision.metadata.language)).vector,
            scope=SCOPE,
            where=None,
            limit=50,
        )
        terms = [QueryTerm(term=each, weight=1.0, surface=each) for each in document_terms(text)]
        said = await stores.text_index.search(terms, scope=SCOPE, where=None, limit=50)
        found["vectors searched"] += len({chunk for chunk, _ in near} & set(chunks))
        found["texts searched"] += len({chunk for chunk, _ in said} & set(chunks))
        found["asked"] += 2
    async with stores.ledger.transaction() as tx:
        found["ledger"] += len(await tx.documents.visible(SCOPE, chunks))
        recent = await tx.documents.recent(SCOPE, where=None, limit=1000)
        found["ledger recent"] += len({chunk for chunk, _ in recent} & set(chunks))
    return found


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["forget", "delete"])
async def test_no_probe_finds_it(house: House, how: str, count: int) -> None:
    gone, stays = corpus("harbour", count), corpus("lighthouse", 6)
    await fill(house.stores, [*gone, *stays])
    said = Turn(
        conversation="harbour", session="harbour", ordinal=count, speaker="warden", said_at=NOW
    )
    beside = prepared("warden/turn", "I, the warden, stay where I was before.", turn=said)
    await fill(house.stores, [beside])
    key = await make_key(house.stores.ledger, role="admin")
    patient = ServeSettings(channel_deadline_s=20, deadline_s=30)  # late is not "not found"
    settings = house.settings.model_copy(update={"serve": patient})
    app = application(service_on(house.stores, settings))
    async with client_of(app, key) as client:
        before = await probe_http(client, gone[:3])  # and every cache is warm
        assert before.total() - before["asked"] >= before["asked"] * 0.9
        assert await probe_neighbours(client, [beside]) == min(count, 20)
        ids = [one.revision.document_id for one in gone]
        if how == "delete":
            for document in ids:
                assert (await client.delete(f"/v1/documents/{document}")).status_code == 204
        else:
            jobs = []
            for document in ids:
                wish = {"kind": "document", "value": document}
                jobs.append((await client.post("/v1/forget", json=wish)).json()["job"])
        found = await probe_http(client, gone)
        assert found.pop("asked") >= len(gone) * PROBES_OF_ONE
        assert found.total() == 0, found
        assert await probe_neighbours(client, [beside]) == 0
        await house.drain()
        if how == "forget":
            async with house.stores.ledger.transaction() as tx:
                unfinished = await tx.forget_jobs.unfinished()
            assert len(unfinished) == len(jobs) == len(gone)
            for job in unfinished[:5]:
                assert (await finish(house.ground, job, within_s=60)).state == "finished"
        again = await probe_stores(house, gone)
        assert again.pop("asked") == 2 * len(gone)
        assert again.total() == 0, again
        kept = await probe_http(client, stays[:3])
        assert kept.total() > kept["asked"] * 1.5
