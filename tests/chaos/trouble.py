"""Steps in which two things happen at once, so that the code for such meetings is reached."""

from __future__ import annotations

import asyncio
import os
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
TRIES = 20
MOMENT_S = 3.0
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
    seen = Path(os.environ["PALIMPSEST_TEST_SEEN_IN"])
    noticed, taken = seen / "indexer.owed_again", seen / "indexer.taken"
    with psycopg.connect(postgres_url(house.settings), autocommit=True) as connection:
        for _ in range(TRIES):
            if noticed.exists():
                return
            before = taken.stat().st_mtime_ns
            asyncio.run(_owe_everything(house))
            if _changes(taken, since_ns=before, within_s=MOMENT_S):
                _end_leases(connection)
            _appears(noticed, within_s=MOMENT_S)
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


def _end_leases(connection: psycopg.Connection) -> None:
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
        "AND classid = %s AND granted AND pid <> pg_backend_pid()",
        (LEASE_CLASS,),
    )


def _changes(path: Path, *, since_ns: int, within_s: float) -> bool:
    """Whether it is touched. Looks often, as what follows has to come at once."""
    until = time.monotonic() + within_s
    while path.stat().st_mtime_ns == since_ns:
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True


def _appears(path: Path, *, within_s: float) -> None:
    until = time.monotonic() + within_s
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
