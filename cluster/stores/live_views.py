"""The views that follow the ledger: a vector index for each generation that is live now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from cluster.errors import InvalidRequest, StoreError
from cluster.model import Generation
from cluster.stores.protocols import Ledger, TextIndex, VectorIndex
from cluster.stores.views import Within

OpenIndex = Callable[[Generation], Awaitable[VectorIndex]]


class LiveViews:
    """`cluster.stores.views.Views`. The ledger is asked at every call, so that no answer is
    older than it; an index is opened when its generation begins and closed when it is gone.
    The ledger itself is not closed with it."""

    def __init__(self, ledger: Ledger, text_index: TextIndex, open_index: OpenIndex) -> None:
        self._ledger = ledger
        self._text_index = text_index
        self._open_index = open_index
        self._open: dict[str, VectorIndex] = {}
        self._one_at_a_time = asyncio.Lock()

    @property
    def text_index(self) -> TextIndex:
        return self._text_index

    async def vector_indexes(self) -> Mapping[str, VectorIndex]:
        within = await self._opened(needed=None)
        return within.reach

    async def within_reach(self) -> Within:
        return await self._opened(needed=1)

    async def _opened(self, *, needed: int | None) -> Within:
        """Of the first `needed` live generations (`None`: of all) each index must open."""
        async with self._one_at_a_time:
            async with self._ledger.transaction() as tx:
                live = [one.generation for one in await tx.generations.live()]
            away: dict[str, str] = {}
            for at, generation in enumerate(live):
                try:
                    await self._open_once(generation)
                except (StoreError, InvalidRequest) as error:
                    if needed is None or at < needed:
                        raise
                    away[generation.fingerprint] = str(error)
            for gone in self._open.keys() - {one.fingerprint for one in live}:
                await self._open.pop(gone).close()
            names = [one.fingerprint for one in live if one.fingerprint not in away]
            return Within(reach={name: self._open[name] for name in names}, away=away)

    async def _open_once(self, generation: Generation) -> None:
        if generation.fingerprint not in self._open:
            self._open[generation.fingerprint] = await self._open_index(generation)

    async def close(self) -> None:
        """Each is closed, also when another one's `close` fails."""
        try:
            while self._open:
                _, index = self._open.popitem()
                await index.close()
        finally:
            await self._text_index.close()
