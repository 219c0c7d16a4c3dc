"""What the steps stand on: settings, a folder, and the API on the real stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from serving import application, client_of, make_key

from cluster.clock import SystemClock
from cluster.model import EncodedQuery, Generation
from cluster.models.open import open_generation
from cluster.settings import Settings
from cluster.stores.open import open_ledger, open_stores
from cluster.stores.protocols import Ledger
from serve.metrics import Metrics
from serve.service import build_service

TENANT = "chaos"
SOURCE = "beacons"
DIM = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    settings: Settings
    folder: Path

    @property
    def pages(self) -> Path:
        return self.folder / "pages"

    @property
    def receipt(self) -> Path:
        """Where the id of a receipt is kept that is lifted later."""
        return self.folder / "receipt"


@asynccontextmanager
async def api(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API on the real stores, in this process."""
    async with ledger_of(house.settings) as ledger:
        generation = await active_of(ledger)
    embedder = open_generation(generation, house.settings)

    async def encode(question: str, language: str) -> EncodedQuery:
        (query,) = embedder.encode_queries([question], languages=[language])
        return query

    stores = await open_stores(house.settings, generation, read_only_text=True)
    try:
        service = build_service(
            settings=house.settings,
            stores=stores,
            encode=encode,
            fingerprint=generation.fingerprint,
            clock=SystemClock(),
            metrics=Metrics(),
        )
        key = await make_key(stores.ledger, tenant=TENANT, role="admin")
        async with client_of(application(service), key) as client:
            yield client
    finally:
        await stores.close()


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


@asynccontextmanager
async def ledger_of(settings: Settings) -> AsyncIterator[Ledger]:
    ledger = await open_ledger(settings)
    try:
        yield ledger
    finally:
        await ledger.close()


async def active_of(ledger: Ledger) -> Generation:
    async with ledger.transaction() as tx:
        active = await tx.generations.active()
    assert active is not None, "the first step chooses the encoder"
    return active
