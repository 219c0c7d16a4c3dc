"""An index that is compared by what a scan of it gave.

To ask an index for each row as searches do costs a search a row, which is right for what has been
in use for long; a new index is read once from end to end, and searched by samples.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from cluster.stores.protocols import VectorIndex


class Scanned:
    """`cluster.stores.protocols.Comparable`. Holds an id and a number for each row between its
    scan and the first question for it; a second question asks the index."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self._seen: dict[str, int] = {}

    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        async for batch in self._index.scan():
            self._seen.update(batch)
            yield batch

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        found = {one: self._seen.pop(one) for one in chunk_ids if one in self._seen}
        rest = [one for one in chunk_ids if one not in found]
        return {**found, **(await self._index.versions(rest))} if rest else found
