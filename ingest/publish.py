"""Prepared revisions -> ledger rows. Doing it twice gets it once; the indexer does the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cluster.clock import Clock
from cluster.stores.protocols import Prepared, Transaction
from ingest.link import LedgerLink

_MAX_CHUNKS = 2000


class Publish:
    def __init__(self, link: LedgerLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock

    def __call__(self, batch: Sequence[Prepared]) -> int:
        """Puts revisions in transactions of at most about 2,000 chunks; returns how many were
        new. Their vectors must be in the ledger."""
        new = 0
        for part in _parts(batch):

            async def put(tx: Transaction, part: list[Prepared] = part) -> int:
                return await tx.documents.put(part, now=self._clock.now())

            new += self._link.call(put)
        return new


def _parts(batch: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    part: list[Prepared] = []
    chunks = 0
    for prepared in batch:
        if part and chunks + len(prepared.chunks) > _MAX_CHUNKS:
            yield part
            part, chunks = [], 0
        part.append(prepared)
        chunks += len(prepared.chunks)
    if part:
        yield part
