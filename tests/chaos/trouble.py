"""Steps in which two things happen at once, so that the code for such meetings is reached."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from chaos import corpus
from chaos.house import SOURCE, TENANT, House, ledger_of
from cluster.clock import SystemClock
from cluster.forget.key_files import tombstone_key_file
from cluster.forget.request import Wish, commit
from cluster.stores.open import postgres_url
from cluster.stores.protocols import Selector
from ingest.claims import LocalClaims
from ingest.open import InLoop, open_surroundings
from ingest.prepare import Plan
from ingest.progress import Silent
from ingest.run import Request, ingest
from ingest.sources import Unit
from ingest.stages import Bundle, Embed, Prepare, Write

LEASE_CLASS = 0x70616C
TRIES = 60
PAGE_ROWS = 1000


def forget_while_encoded(house: House) -> None:
    """A page is forgotten between its encoding and its writing."""
    corpus.edit_again(house.pages)
    request = Request(targets=(str(house.pages),), tenant=TENANT, source=SOURCE)
    with open_surroundings(house.settings, always_loop=True) as on:
        assert isinstance(on.few, InLoop)
        racing = _Racing(house, on.few)
        summary = ingest(request, replace(on, few=racing, many=racing), Silent())
    if summary.state != "succeeded":
        raise RuntimeError(f"{summary.state}: {summary.problems}")


def lose_the_lease(house: House) -> None:
    """The indexer's session ends while rows are on their way, until it says that it noticed."""
    noticed = Path(os.environ["PALIMPSEST_TEST_SEEN_IN"]) / "indexer.owed_again"
    chance = random.Random(7)
    for _ in range(TRIES):
        if noticed.exists():
            return
        asyncio.run(_owe_everything(house))
        time.sleep(chance.uniform(0.0, 0.2))
        _end_leases(postgres_url(house.settings))
        time.sleep(0.8)
    raise TimeoutError("the indexer never lost its lease while it wrote")


@dataclass(frozen=True, slots=True)
class _Racing:
    house: House
    usual: InLoop

    def __call__(
        self, plan: Plan, units: Sequence[Unit], *, claims: LocalClaims, dry_run: bool
    ) -> Iterator[Bundle]:
        link, opened = self.usual.link, self.usual.opened
        prepare = Prepare(plan, link, opened)
        embed = Embed(plan, link, claims, opened)
        write = Write(plan, link, self.usual.clock, opened)
        for unit in units:
            for bundle in prepare(unit):
                encoded = embed(bundle)
                asyncio.run(self._forget(encoded))
                yield write(encoded)

    async def _forget(self, encoded: Bundle) -> None:
        """Those of its pages that are in the way of the step's name."""
        settings = self.house.settings
        async with ledger_of(settings) as ledger:
            for draft in encoded.drafts:
                revision = draft.prepared.revision
                if revision.path.rpartition("/")[2] == corpus.page("en", corpus.OVERTAKEN):
                    selector = Selector(kind="document", value=revision.document_id)
                    wish = Wish(tenant=TENANT, selector=selector)
                    now = SystemClock().now()
                    await commit(ledger, wish, key_file=tombstone_key_file(settings), now=now)


async def _owe_everything(house: House) -> None:
    async with ledger_of(house.settings) as ledger, ledger.transaction() as tx:
        rows = await tx.reconciling.page(after="", limit=PAGE_ROWS)
        await tx.documents.requeue([chunk for chunk, _ in rows])


def _end_leases(url: str) -> None:
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
        "AND classid = %s AND granted AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(query, (LEASE_CLASS,))
