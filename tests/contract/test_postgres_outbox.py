"""The outbox in PostgreSQL beside other transactions, and beside code of the first schema."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from cluster.settings import PostgresSettings
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Failure
from contract.samples import NOW, chunk_ids, prepared, put, show

pytestmark = pytest.mark.stores

FORMER_OWE = """
INSERT INTO outbox (chunk_id, revision_id, version, operation)
SELECT c.chunk_id, c.revision_id, nextval('row_versions'), 'upsert' FROM chunks c
ORDER BY c.chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET
    revision_id = EXCLUDED.revision_id, version = EXCLUDED.version,
    operation = EXCLUDED.operation
"""
FORMER_TAKE = """
SELECT o.entry_id, o.chunk_id, o.version, o.operation
FROM outbox o ORDER BY o.entry_id LIMIT 100
"""
FORMER_DONE = """
WITH finished AS (
    SELECT o.chunk_id
    FROM outbox o
    JOIN unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS taken(entry_id, version)
      ON o.entry_id = taken.entry_id AND o.version = taken.version
    ORDER BY o.chunk_id
    FOR UPDATE OF o
)
DELETE FROM outbox o USING finished WHERE o.chunk_id = finished.chunk_id
"""


async def test_former_statements_still_owe_take_and_finish(database_url: str) -> None:
    ledger = await PostgresLedger.open(database_url, PostgresSettings())
    one = prepared()
    await put(ledger, one)
    async with ledger.transaction() as tx:
        await tx.outbox.owe(chunk_ids(one), target="newer")
        entries = await tx.outbox.take(limit=9, targets=[])
        refused = [Failure(entry=each, reason="no", not_before=None) for each in entries]
        await tx.outbox.failed(refused, now=NOW)
        assert await tx.outbox.aside() == 2
    with psycopg.connect(database_url, autocommit=True) as former:
        former.execute(FORMER_OWE)
        async with ledger.transaction() as tx:
            # Owed anew by code that does not know of failures: forgiven all the same.
            assert await tx.outbox.aside() == 0
            assert len(await tx.outbox.take(limit=9, targets=[], now=NOW)) == 2
        taken = former.execute(FORMER_TAKE).fetchall()
        assert {row[1] for row in taken} == set(chunk_ids(one))
        done = {"ids": [row[0] for row in taken], "versions": [row[2] for row in taken]}
        former.execute(FORMER_DONE, done)
    async with ledger.transaction() as tx:
        assert {each.target for each in await tx.outbox.take(limit=9)} == {"newer"}
        assert list(await tx.documents.publishable(limit=9)) == [one.revision.revision_id]
    await ledger.close()


async def test_rows_are_owed_anew_in_one_order(database_url: str) -> None:
    """By chunk and by revision, two at once: neither has what the other waits for."""
    settings = PostgresSettings()
    ledger = await PostgresLedger.open(database_url, settings)
    pages = [prepared(f"{name}.md", "Some words in a row. " * 400, pieces=200) for name in "abc"]
    await show(ledger, *pages)
    ids = chunk_ids(*pages)

    async def by_chunk() -> None:
        for _ in range(20):
            async with ledger.transaction() as tx:
                await tx.documents.requeue(ids)

    async def by_revision() -> None:
        for _ in range(20):
            async with ledger.transaction() as tx:
                revisions = [one.revision.revision_id for one in pages]
                await tx.documents._queue(revisions, operation="upsert")  # noqa: SLF001

    try:
        await asyncio.gather(by_chunk(), by_chunk(), by_revision(), by_revision())
    finally:
        await ledger.close()
