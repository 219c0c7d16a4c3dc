"""Purging drops the vectors that a killed ingest left behind, page by page."""

from cli.purge import drop_unneeded
from cluster.stores.memory.ledger import MemoryLedger
from contract.samples import prepared, show, vectors_of


async def test_only_what_no_chunk_needs_goes() -> None:
    ledger = MemoryLedger()
    kept = prepared("kept.md", "Words that stay.")
    left = [prepared(f"{number}.md", f"Never came: {number}.") for number in range(3)]
    await show(ledger, kept)
    async with ledger.transaction() as tx:
        await tx.vectors.put(vectors_of(left), fingerprint="test-encoder")
    assert await drop_unneeded(ledger, at_once=2) == len(vectors_of(left))
    assert await drop_unneeded(ledger, at_once=2) == 0
    async with ledger.transaction() as tx:
        known = await tx.vectors.known(list(vectors_of([kept, *left])), fingerprint="test-encoder")
    assert known == set(vectors_of([kept]))
