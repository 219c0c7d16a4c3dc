"""What a user does to the corpus, one step after the other; each may be repeated after a kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import httpx

from chaos import corpus, mending, trouble
from chaos.house import SOURCE, TENANT, House, api, ledger_of, listed
from cluster.clock import SystemClock
from cluster.model import Scope
from cluster.models.open import open_embedder
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Transaction
from ingest.link import LedgerLink
from ingest.loop import Once
from ingest.open import open_surroundings
from ingest.progress import Silent, Summary
from ingest.run import Request, ingest
from ingest.worker import Worker

UPLOADED = "# Uploaded\n\nThis page came over HTTP: the beacon code is U-777.\n"
SETTLES_WITHIN_S = 90.0
LOOK_EVERY_S = 0.05


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


def ingest_again(house: House) -> None:
    """What was deleted comes back; what was forgotten does not."""
    _ingest(house)


def add(house: House) -> None:
    corpus.add(house.pages)
    _ingest(house)


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
    "forget": mending.forget,
    "ingest after forgetting": ingest_again,
    "lift": mending.lift,
    "ingest after lifting": ingest_again,
    "forget while encoded": trouble.forget_while_encoded,
    "finish forgetting": mending.finish_forgetting,
    "lose the lease": trouble.lose_the_lease,
    "repair": mending.repair,
    "re-embed": mending.reembed_all,
    "update after re-embedding": add,
    "go back": mending.go_back,
    "forward again": mending.forward_again,
    "forget more": mending.forget_later,
    "make token vectors": mending.make_token_vectors,
    "rebuild": mending.rebuild,
    "settle": settle,
}


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
        await _tell_usage(house, client)
        for document_id in await listed(client, names):
            answer = await client.delete(f"/v1/documents/{document_id}")
            answer.raise_for_status()


async def _tell_usage(house: House, client: httpx.AsyncClient) -> None:
    """Told again after a kill it is the same."""
    async with ledger_of(house.settings) as ledger, ledger.transaction() as tx:
        found = await tx.documents.recent(Scope(tenant=TENANT), where=None, limit=5)
    told = await client.post(
        "/v1/usage",
        json={
            "search_id": "srch_00000000000000000000000000",
            "artifact": "report.md",
            "used": [chunk_id for chunk_id, _ in found],
        },
    )
    told.raise_for_status()


async def _waiting(tx: Transaction) -> list[str]:
    return await tx.uploads.waiting()


async def _owed(tx: Transaction) -> str:
    owed, _ = await tx.outbox.lag()
    pending = (await tx.documents.counts(TENANT))["pending"]
    return f"{owed} entries, {pending} revisions" if owed or pending else ""
