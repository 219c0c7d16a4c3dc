"""What a user does to the corpus, one step after the other; each may be repeated after a kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from serving import application, client_of, make_key

from chaos import corpus
from cluster.clock import SystemClock
from cluster.models.open import describe, open_embedder
from cluster.settings import Settings
from cluster.stores.open import open_ledger, open_stores
from cluster.stores.protocols import Transaction
from ingest.link import LedgerLink
from ingest.loop import Once
from ingest.open import open_surroundings
from ingest.progress import Silent, Summary
from ingest.run import Request, ingest
from ingest.worker import Worker
from serve.metrics import Metrics
from serve.service import build_service

TENANT = "chaos"
SOURCE = "beacons"
UPLOADED = "# Uploaded\n\nThis page came over HTTP: the beacon code is U-777.\n"
SETTLES_WITHIN_S = 90.0
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    settings: Settings
    folder: Path

    @property
    def pages(self) -> Path:
        return self.folder / "pages"


def ingest_all(house: House) -> None:
    corpus.write(house.pages)
    _ingest(house)


def upload(house: House) -> None:
    """Over HTTP, then by the worker."""
    asyncio.run(_upload(house))
    clock = SystemClock()
    with LedgerLink(lambda: open_ledger(house.settings)) as link:
        opened = Once(lambda: open_embedder(house.settings))
        worker = Worker(house.settings, link, opened, clock)
        while link.call(_waiting):
            worker.step()


def update(house: House) -> None:
    corpus.edit(house.pages)
    _ingest(house)


def retire(house: House) -> None:
    corpus.take_away(house.pages)
    _ingest(house, retire_missing=True)


def delete(house: House) -> None:
    names = [corpus.page(each, number) for each in ("en", "zh") for number in corpus.DELETED]
    asyncio.run(_delete(house, names))


def settle(house: House) -> None:
    """Until the indexer owes nothing and everything is shown."""
    until = time.monotonic() + SETTLES_WITHIN_S
    with LedgerLink(lambda: open_ledger(house.settings)) as link:
        while (owed := link.call(_owed)) and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
    if owed:
        raise TimeoutError(f"the indexer still owes {owed} after {SETTLES_WITHIN_S:g} s")


STEPS: Mapping[str, Callable[[House], None]] = {
    "ingest": ingest_all,
    "upload": upload,
    "update": update,
    "retire": retire,
    "delete": delete,
    "settle": settle,
}


@asynccontextmanager
async def api(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API on the real stores, in this process."""
    generation = describe(house.settings)
    embedder = open_embedder(house.settings)

    async def encode(question: str, language: str) -> object:
        return embedder.embed_queries([question], languages=[language])[0]

    stores = await open_stores(house.settings, generation, read_only_text=True)
    try:
        service = build_service(
            settings=house.settings,
            stores=stores,
            encode=encode,  # type: ignore[arg-type]  # the embedder's vectors are arrays
            fingerprint=generation.fingerprint,
            clock=SystemClock(),
            metrics=Metrics(),
        )
        key = await make_key(stores.ledger, tenant=TENANT, role="admin")
        async with client_of(application(service), key) as client:
            yield client
    finally:
        await stores.close()


def _ingest(house: House, *, retire_missing: bool = False) -> Summary:
    request = Request(
        targets=(str(house.pages),), tenant=TENANT, source=SOURCE, retire_missing=retire_missing
    )
    with open_surroundings(house.settings, always_loop=True) as on:
        summary = ingest(request, on, Silent())
    if summary.state != "succeeded":
        raise RuntimeError(f"{summary.state}: {summary.problems}")
    return summary


async def _upload(house: House) -> None:
    async with api(house) as client:
        answer = await client.post(
            "/v1/documents",
            json={"text": UPLOADED, "name": "uploaded.md", "source": SOURCE},
            headers={"Idempotency-Key": "chaos-upload"},
        )
        answer.raise_for_status()


async def _delete(house: House, names: list[str]) -> None:
    async with api(house) as client:
        for document_id in await listed(client, names):
            answer = await client.delete(f"/v1/documents/{document_id}")
            answer.raise_for_status()


async def listed(client: httpx.AsyncClient, names: list[str]) -> list[str]:
    """Ids of the documents whose path ends with one of `names`."""
    found, cursor = [], None
    while True:
        page = await client.get("/v1/documents", params={"cursor": cursor} if cursor else {})
        page.raise_for_status()
        told = page.json()
        found += [
            each["document_id"]
            for each in told["documents"]
            if each["path"].rpartition("/")[2] in names
        ]
        cursor = told["next_cursor"]
        if cursor is None:
            return found


async def _waiting(tx: Transaction) -> list[str]:
    return await tx.uploads.waiting()


async def _owed(tx: Transaction) -> str:
    owed, _ = await tx.outbox.lag()
    pending = (await tx.documents.counts(TENANT))["pending"]
    return f"{owed} entries, {pending} revisions" if owed or pending else ""
