"""The same random history on the reference ledger and on PostgreSQL: the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.settings import PostgresSettings
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.migrate import migrate
from cluster.stores.protocols import Ledger, Prepared, Transaction
from contract.postgres import wipe
from contract.samples import FINGERPRINT, NOW, prepared, vectors_of

Answer = TypeVar("Answer")

PATHS = ("a.md", "b.md")
EDITIONS = ("", "1", "2")
BODIES = (("first body", "en"), ("second body", "en"), ("third body, longer", "zh"))
ROOTS = ("file:///a.md?", "file:///", "file:///b.md?1", "file:///b.md")
SCOPES = (Scope(tenant="acme"), Scope(tenant="acme", owner="ann"))


def candidates() -> list[Prepared]:
    """Every revision that a history can put. Each edition of a page has its place, where it
    may become another document, since its language changed; the owned page takes part in the
    tests of walls."""
    return [
        prepared(
            path,
            body,
            edition=edition,
            origin=f"file:///{path}?{edition}",
            owner="ann" if path == "b.md" else None,
            metadata={"language": language},
        )
        for path in PATHS
        for edition in EDITIONS
        for body, language in BODIES
    ]


CANDIDATES = candidates()
CHUNKS = [chunk.chunk_id for one in CANDIDATES for chunk in one.chunks]
KEYS = list(vectors_of(CANDIDATES))
picks = st.lists(st.sampled_from(CANDIDATES), min_size=1, max_size=4)


class LedgerHistory(RuleBasedStateMachine):
    runner: ClassVar[asyncio.Runner]
    postgres: ClassVar[PostgresLedger]
    url: ClassVar[str]

    @initialize()
    def start_empty(self) -> None:
        wipe(self.url)
        self.memory = MemoryLedger()

    def both(self, ask: Callable[[Transaction], Awaitable[Answer]]) -> Answer:
        """Ask both ledgers the same in one transaction each; they must agree."""
        answers = [self.runner.run(_ask(ledger, ask)) for ledger in (self.memory, self.postgres)]
        assert answers[0] == answers[1]
        return answers[0]

    @rule(batch=picks)
    def put(self, batch: list[Prepared]) -> None:
        async def ask(tx: Transaction) -> int:
            await tx.vectors.put(vectors_of(batch), fingerprint=FINGERPRINT)
            return await tx.documents.put(batch, now=NOW)

        self.both(ask)

    @rule(batch=picks)
    def put_without_vectors(self, batch: list[Prepared]) -> None:
        async def ask(tx: Transaction) -> int | str:
            try:
                return await tx.documents.put(batch, now=NOW)
            except InvalidRequest:
                return "refused"

        self.both(ask)

    @rule(batch=picks)
    def publish(self, batch: list[Prepared]) -> None:
        ids = [one.revision.revision_id for one in batch]
        self.both(lambda tx: tx.documents.publish(ids, now=NOW))

    @rule(limit=st.integers(1, 30))
    def drain_and_publish(self, limit: int) -> None:
        async def ask(tx: Transaction) -> int:
            if entries := await tx.outbox.take(limit=limit):
                await tx.outbox.done(entries)
            ready = await tx.documents.publishable(limit=limit)
            return await tx.documents.publish(list(ready), now=NOW) if ready else 0

        self.both(ask)

    @rule(chunks=st.lists(st.sampled_from(CHUNKS), min_size=1, max_size=3))
    def requeue(self, chunks: list[str]) -> None:
        self.both(lambda tx: tx.documents.requeue(chunks))

    @rule(one=st.sampled_from(CANDIDATES), scope=st.sampled_from(SCOPES))
    def delete(self, one: Prepared, scope: Scope) -> None:
        self.both(lambda tx: tx.documents.delete(scope, [one.revision.document_id]))

    @rule(keep=picks, under=st.lists(st.sampled_from(ROOTS), min_size=1, max_size=3))
    def retire(self, keep: list[Prepared], under: list[str]) -> None:
        origins = [one.revision.origin for one in keep]
        self.both(lambda tx: tx.documents.retire("acme", under=under, keep_origins=origins))

    @invariant()
    def the_ledgers_agree(self) -> None:
        if hasattr(self, "memory"):
            self.both(_everything)

    @invariant()
    def one_revision_of_an_edition_and_of_a_place_is_shown(self) -> None:
        if not hasattr(self, "memory"):
            return
        page = self.both(lambda tx: tx.documents.page(SCOPES[1], where=None, after=None, limit=99))
        places = [(one.document_id, one.edition) for one in page[0]]
        assert len(set(places)) == len(places)
        assert len({(one.path, one.edition) for one in page[0]}) == len(places)
        newest = [one.document_id for one in page[0] if one.newest_edition]
        assert sorted(newest) == sorted({document for document, _ in places})


async def _ask(ledger: Ledger, ask: Callable[[Transaction], Awaitable[Answer]]) -> Answer:
    async with ledger.transaction() as tx:
        return await ask(tx)


async def _everything(tx: Transaction) -> dict[str, Any]:
    """All that a ledger tells, but for the numbers that it gives out on its own."""
    owed = await tx.outbox.take(limit=1000)
    work = await tx.outbox.work(CHUNKS)
    origins = [one.revision.origin for one in CANDIDATES]
    vectors = await tx.vectors.get(KEYS, fingerprint=FINGERPRINT)
    told: dict[str, Any] = {
        "owed": {one.chunk_id: one.operation for one in owed},
        "work": {one.chunk_id: one.row and one.row.fields for one in work},
        "known": sorted(vectors),
        "whole": {one.chunk_id for one in work if one.row and not one.vectors},
        "ready": {
            key: sorted(one) for key, one in (await tx.documents.publishable(limit=99)).items()
        },
        "digests": await tx.documents.digests("acme", origins),
        "counts": await tx.documents.counts("acme"),
    }
    assert told["whole"] == set()
    for scope in SCOPES:
        told[f"visible {scope.owner}"] = await tx.documents.visible(scope, CHUNKS)
        told[f"page {scope.owner}"] = (
            await tx.documents.page(scope, where=None, after=None, limit=99)
        )[0]
        told[f"editions {scope.owner}"] = await tx.documents.known_editions(scope)
    return told


@pytest.fixture
def history(database_url: str) -> Iterator[type[LedgerHistory]]:
    with asyncio.Runner() as runner:
        runner.run(migrate(database_url, PostgresSettings()))
        LedgerHistory.runner = runner
        LedgerHistory.url = database_url
        LedgerHistory.postgres = runner.run(PostgresLedger.open(database_url, PostgresSettings()))
        yield LedgerHistory
        runner.run(LedgerHistory.postgres.close())


@pytest.mark.stores
@pytest.mark.slow
def test_the_reference_and_postgres_tell_the_same(history: type[LedgerHistory]) -> None:
    run_state_machine_as_test(
        history,
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
