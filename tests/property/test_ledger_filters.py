"""Random filters over rows of every kind: PostgreSQL says what `matches` says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings

from cluster.filters import Filter, matches, scoped
from cluster.model import Scope, Turn
from cluster.settings import PostgresSettings
from cluster.stores.fields import matchable_fields
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Prepared
from contract.filter_strategies import filters
from contract.ledger_filters import documents
from contract.samples import prepared, show

ACME = Scope(tenant="acme")
TEXTS = ("a", "ab", "b", "A", '"', "\\", "'", "%", "_", "\n", "中", "🙂", "0")
MOMENTS = (None, datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC))


def likely() -> list[Prepared]:
    """Rows that hold what the random filters ask most often."""
    return [
        prepared(
            text,
            f"body {number}",
            edition=text,
            pieces=1,
            metadata={
                "author": text,
                "product": TEXTS[-number] if number % 4 else None,
                "source_url": TEXTS[number // 2],
                "license": "" if number % 2 else text,
                "tags": TEXTS[number : number + number % 3],
                "authority": (0.0, 0.5, 1.0, -1.0, -0.5)[number % 5],
                "published_at": MOMENTS[number % 3],
                "updated_at": MOMENTS[number % 2],
            },
            turn=None if number % 3 else _turn(number, text),
        )
        for number, text in enumerate(TEXTS)
    ]


class Shelf:
    """A filled ledger, and its event loop to ask it from a test without one."""

    def __init__(
        self, runner: asyncio.Runner, ledger: PostgresLedger, batch: Sequence[Prepared]
    ) -> None:
        self._runner = runner
        self._ledger = ledger
        self.rows = {
            one.revision.revision_id: matchable_fields(one.revision, newest_edition=True)
            for one in batch
        }

    def ask(self, where: Filter) -> set[str]:
        return self._runner.run(self._ask(where))

    async def _ask(self, where: Filter) -> set[str]:
        async with self._ledger.transaction() as tx:
            page, _ = await tx.documents.page(ACME, where=where, after=None, limit=1000)
        return {one.revision_id for one in page}


@pytest.fixture
def shelf(database_url: str) -> Iterator[Shelf]:
    with asyncio.Runner() as runner:
        ledger = runner.run(PostgresLedger.open(database_url, PostgresSettings()))
        batch = [*documents(), *likely()]
        runner.run(show(ledger, *batch))
        yield Shelf(runner, ledger, batch)
        runner.run(ledger.close())


@pytest.mark.stores
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(where=filters)
def test_postgres_means_what_matches_means(shelf: Shelf, where: Filter) -> None:
    asked = scoped(ACME, where)
    assert shelf.ask(where) == {key for key, row in shelf.rows.items() if matches(asked, row)}


def _turn(number: int, text: str) -> Turn:
    said_at = MOMENTS[number % 2]
    return Turn(conversation=text, session=text, ordinal=number, speaker="a", said_at=said_at)
