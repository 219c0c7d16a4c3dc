"""Which encoder generation do questions search now? The ledger says; a question keeps its own.

A question reads the present generation once, at its start, and uses its encoder and its index to
the end. The former one is kept up through its grace period, so both ways lead to a whole index,
and no way leads to the vectors of one and the encoder of another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.errors import ModelError, Overloaded, StoreError, StoreUnavailable
from cluster.filters import Filter
from cluster.model import Generation, Scope, Vector
from cluster.stores.protocols import Collections, Ledger, VectorIndex, VectorRow
from serve.channels.semantic import EncodeQuery
from serve.counting import CountTokens, counter_of

POLL_S = 0.3
KEPT_S = 90.0
"""An index is closed so long after its generation is gone: longer than any answer takes."""

EncoderOf = Callable[[Generation], EncodeQuery]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What one question searches: the index of a generation, with its own encoder, which may
    count tokens as well."""

    fingerprint: str
    index: VectorIndex
    encode: EncodeQuery
    count: CountTokens | None = None


class Current(Protocol):
    @property
    def searched(self) -> Searched: ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """One generation, for as long as it is used."""

    searched: Searched


class Watch:
    """Follows the ledger. A generation that is being built is opened before the switch, so that
    the switch costs nobody time; as long as the active one cannot be opened, the former goes on.
    """

    def __init__(
        self,
        ledger: Ledger,
        collections: Collections,
        encoder_of: EncoderOf,
        *,
        warm: Callable[[EncodeQuery], Awaitable[None]],
        poll_s: float = POLL_S,
    ) -> None:
        self._ledger, self._collections = ledger, collections
        self._encoder_of, self._warm, self._poll_s = encoder_of, warm, poll_s
        self._ready: dict[str, Searched] = {}
        self._leaving: dict[str, float] = {}
        self._current: Searched | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def searched(self) -> Searched:
        if self._current is None:
            raise StoreUnavailable("ledger", "nothing is encoded yet; ingest something first")
        return self._current

    async def start(self) -> None:
        """Open the active generation, or raise what keeps it closed; then follow."""
        async with self._ledger.transaction() as tx:
            active = await tx.generations.active()
        if active is not None:
            self._current = await self._opened(active)
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
            self._watching = None
        while self._ready:
            _, searched = self._ready.popitem()
            await searched.index.close()

    async def look(self) -> None:
        """One look at the ledger; raises what it meets after having done the rest."""
        async with self._ledger.transaction() as tx:
            live = await tx.generations.live()
        for held in live:
            if held.state in ("active", "building"):
                searched = await self._opened(held.generation)
                if held.state == "active":
                    self._current = searched
        await self._close_gone({held.fingerprint for held in live})

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            try:
                await self.look()
            except (StoreError, ModelError, Overloaded) as error:
                _log.warning("generations: %s; the present one goes on", error)
                await asyncio.sleep(self._poll_s)

    async def _opened(self, generation: Generation) -> Searched:
        fingerprint = generation.fingerprint
        if fingerprint not in self._ready:
            encode = self._encoder_of(generation)
            await self._warm(encode)
            index = await self._collections.open(generation)
            self._ready[fingerprint] = Searched(
                fingerprint=fingerprint, index=index, encode=encode, count=counter_of(encode)
            )
        self._leaving.pop(fingerprint, None)
        return self._ready[fingerprint]

    async def _close_gone(self, live: set[str]) -> None:
        now = asyncio.get_running_loop().time()
        for fingerprint in self._ready.keys() - live:
            if self._current is not self._ready[fingerprint]:
                since = self._leaving.setdefault(fingerprint, now)
                if now - since > KEPT_S:
                    del self._leaving[fingerprint]
                    await self._ready.pop(fingerprint).index.close()


@dataclass(frozen=True, slots=True)
class CurrentIndex:
    """`VectorIndex` of the generation that is searched at the moment of each call."""

    watch: Watch

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        await self.watch.searched.index.upsert(rows)

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        await self.watch.searched.index.delete(chunk_ids)

    async def search(
        self, vector: Vector, *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        index = self.watch.searched.index
        return await index.search(vector, scope=scope, where=where, limit=limit)

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        return await self.watch.searched.index.versions(chunk_ids)

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        return self.watch.searched.index.scan()

    async def flush(self) -> None:
        await self.watch.searched.index.flush()

    async def close(self) -> None:
        await self.watch.close()
