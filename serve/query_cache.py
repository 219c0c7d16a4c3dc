"""Whole answers, kept until anything of their tenant changes.

The ledger counts each tenant's writes where they are made (`cluster.stores.protocols.usage`), and
a question reads that count before it reads anything else. An answer is kept under the count that
was read before it was made, and given again only to a question that reads the same count: so all
replicas agree, and what was deleted or forgotten is in no answer that follows.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cluster.errors import StoreError
from cluster.ids import digest
from cluster.stores.protocols import Ledger, Standing
from serve.plan.plan import QueryPlan
from serve.retrieve import Retrieved
from serve.tasks import log_failure

BUCKET_S = 60
"""Two moments of asking within the same minute count as one: bonuses for what is new follow
`now`, and times that a question names are in the plan as they were resolved."""

MAX_AGE_S = 300.0
"""Bounds whatever may change without a write, such as an index that answers late."""

MAX_BYTES = 64 * 2**20
PASSAGE_BYTES = 3000
ID_BYTES = 120
"""Estimates of what a citation, and an id in a ranking, take beside the texts."""

SWEEP_S = 5.0

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = bytes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Held:
    tenant: str
    found: Retrieved
    bytes: int
    until: float


class QueryCache:
    """At most `entries` answers of at most `max_bytes` together; the least recently asked for go
    first. With 0 entries nothing is kept."""

    def __init__(
        self,
        *,
        entries: int,
        max_bytes: int = MAX_BYTES,
        max_age_s: float = MAX_AGE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries, self._max_bytes, self._max_age_s = entries, max_bytes, max_age_s
        self._monotonic = monotonic
        self._held: OrderedDict[Key, _Held] = OrderedDict()
        self._writes: dict[str, int] = {}
        self.bytes = 0

    @property
    def on(self) -> bool:
        return self._entries > 0

    def __len__(self) -> int:
        return len(self._held)

    @property
    def tenants(self) -> list[str]:
        """Those of whom something is kept."""
        return list(self._writes)

    def get(self, plan: QueryPlan, standing: Standing, *, generation: str) -> Retrieved | None:
        self.see(plan.scope.tenant, standing.writes)
        key = key_of(plan, generation=generation)
        held = self._held.get(key)
        if held is None:
            return None
        if held.until <= self._monotonic():
            self._drop(key)
            return None
        self._held.move_to_end(key)
        return replace(held.found, plan=plan)

    def put(self, found: Retrieved, standing: Standing) -> None:
        """Keep an answer, if it is whole: no channel failed, nothing was done without, and no
        index work is owed that could change it without a write. `standing` was read before the
        answer was made."""
        tenant, size = found.plan.scope.tenant, size_of(found)
        whole = standing.settled and _whole(found)
        later = self._writes.get(tenant, standing.writes) > standing.writes
        if not (self.on and whole and size <= self._max_bytes) or later:
            return
        self.see(tenant, standing.writes)
        key = key_of(found.plan, generation=found.generation)
        self._drop(key)
        until = self._monotonic() + self._max_age_s
        self._held[key] = _Held(tenant=tenant, found=found, bytes=size, until=until)
        self._writes[tenant] = standing.writes
        self.bytes += size
        while len(self._held) > self._entries or self.bytes > self._max_bytes:
            self._drop(next(iter(self._held)))

    def see(self, tenant: str, writes: int) -> None:
        """What was made under another count of writes goes; a lower one is that of a ledger which
        was restored."""
        if self._writes.get(tenant, writes) != writes:
            for key in [key for key, held in self._held.items() if held.tenant == tenant]:
                self._drop(key)
            self._writes.pop(tenant, None)

    def expire(self) -> None:
        """Let go what is too old to be given again."""
        now = self._monotonic()
        for key in [key for key, held in self._held.items() if held.until <= now]:
            self._drop(key)
        kept = {held.tenant for held in self._held.values()}
        self._writes = {tenant: seen for tenant, seen in self._writes.items() if tenant in kept}

    async def sweep(self, ledger: Ledger) -> None:
        """Let the answers go of tenants that have written since and do not ask."""
        self.expire()
        if not self.tenants:
            return
        async with ledger.transaction() as tx:
            counts = await tx.writes.counts(self.tenants)
        for tenant, writes in counts.items():
            self.see(tenant, writes)

    @asynccontextmanager
    async def running(self, ledger: Ledger) -> AsyncIterator[None]:
        """Sweeps while the block lasts."""
        task = asyncio.create_task(self._run(ledger), name="the check of kept answers")
        task.add_done_callback(log_failure)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._held.clear()
            self.bytes = 0

    async def _run(self, ledger: Ledger) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await self.sweep(ledger)
            except StoreError as error:
                log.warning("answers that are kept cannot be checked: %s", error)

    def _drop(self, key: Key) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self.bytes -= held.bytes


def key_of(plan: QueryPlan, *, generation: str) -> Key:
    """Everything that the plan says, whose it is (its scope) and which vectors were searched;
    but for the time that the answer may take, and `now` within a minute. A field that is added
    to plans is part of it by itself."""
    same = replace(plan, deadline_s=1.0, now=EPOCH)
    return digest(repr(same), generation, int(plan.now.timestamp() // BUCKET_S))


def size_of(found: Retrieved) -> int:
    """Bytes, roughly."""
    texts = sum(sys.getsizeof(passage.text) for passage in found.passages)
    ids = sum(map(len, found.rankings.values())) + len(found.fused) + len(found.ranked)
    return texts + PASSAGE_BYTES * (1 + len(found.passages)) + ID_BYTES * ids


def _whole(found: Retrieved) -> bool:
    """Notes beside those of the plan say what an answer had to do without."""
    return not found.failures and found.notes == found.plan.notes
