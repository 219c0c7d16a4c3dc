"""The ledger: transactions that hand out narrow parts, wake-ups and leases."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from cluster.stores.protocols.documents import Documents, VectorCache
from cluster.stores.protocols.forgetting import ForgetJobs, Forgetting
from cluster.stores.protocols.generations import Generations
from cluster.stores.protocols.lookups import Lookups
from cluster.stores.protocols.operations import Keys, Runs, Uploads
from cluster.stores.protocols.outbox import Outbox
from cluster.stores.protocols.reconciling import Rebuilds, Reconciling
from cluster.stores.protocols.usage import Usage, Writes


class Transaction(Protocol):
    """All parts share one database transaction."""

    @property
    def documents(self) -> Documents: ...
    @property
    def vectors(self) -> VectorCache: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def uploads(self) -> Uploads: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def generations(self) -> Generations: ...
    @property
    def forgetting(self) -> Forgetting: ...
    @property
    def forget_jobs(self) -> ForgetJobs: ...
    @property
    def reconciling(self) -> Reconciling: ...
    @property
    def rebuilds(self) -> Rebuilds: ...
    @property
    def lookups(self) -> Lookups: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def writes(self) -> Writes: ...


class Lease(Protocol):
    """The right to do something alone, while the `Ledger.lease` block lasts."""

    async def check(self) -> None:
        """`StoreUnavailable` when the right may have been lost; leave the block then."""
        ...


class Ledger(Protocol):
    """The truth. Leaving the block normally commits; an exception rolls everything back."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...

    def wake_ups(self) -> AsyncGenerator[None, None]:
        """Yields soon after index work or an upload was added, and once a second anyway,
        also while the store is out of reach."""
        ...

    def lease(self, *names: str) -> AbstractAsyncContextManager[Lease]:
        """Enter as the only holder of these names among all processes; waits for the former
        one, and holds none of them while it waits."""
        ...

    def lease_any(
        self, groups: Sequence[Sequence[str]]
    ) -> AbstractAsyncContextManager[tuple[int, Lease]]:
        """As `lease`, for the first of the groups that is free; which one."""
        ...

    async def close(self) -> None: ...
