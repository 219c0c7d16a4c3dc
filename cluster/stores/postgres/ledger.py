"""The ledger on PostgreSQL: a pool whose transactions hand out narrow parts."""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool

from cluster.errors import StoreUnavailable
from cluster.forget.key_files import KeyFile
from cluster.settings import PostgresSettings
from cluster.stores.postgres.connection import PromptConnection
from cluster.stores.postgres.documents import PostgresDocuments
from cluster.stores.postgres.forget_jobs import PostgresForgetJobs
from cluster.stores.postgres.forgetting import PostgresForgetting
from cluster.stores.postgres.generations import PostgresGenerations
from cluster.stores.postgres.keys import PostgresKeys
from cluster.stores.postgres.lookups import PostgresLookups
from cluster.stores.postgres.migrate import migrate
from cluster.stores.postgres.outbox import PostgresOutbox
from cluster.stores.postgres.reconciling import PostgresRebuilds, PostgresReconciling
from cluster.stores.postgres.runs import PostgresRuns, PostgresUploads
from cluster.stores.postgres.statements import STORE, Connection, translated, translated_pool
from cluster.stores.postgres.usage import PostgresUsage, PostgresWrites
from cluster.stores.postgres.vectors import PostgresVectors
from cluster.stores.protocols import Lease

POLL_S = 1.0
"""How often a listener wakes up although nobody called."""

_LEASE_CLASS = 0x70616C  # "pal": keeps leases apart from other users of advisory locks

_KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A server that vanished without a word is noticed within a minute, also by a listener."""

_CHECK_CLIENT_MS = 1000
"""So soon the server ends the statement of a client that has gone."""

_GRACE_S = 5.0
"""The server's own limit for a statement comes first, so that its reason is the one told."""

Pool = AsyncConnectionPool[PromptConnection]


class PostgresTransaction:
    def __init__(self, connection: Connection, tombstone_key: KeyFile | None) -> None:
        self.forgetting = PostgresForgetting(connection, tombstone_key)
        self.forget_jobs = PostgresForgetJobs(connection)
        self.documents = PostgresDocuments(connection, self.forgetting)
        self.vectors = PostgresVectors(connection)
        self.outbox = PostgresOutbox(connection)
        self.runs = PostgresRuns(connection)
        self.uploads = PostgresUploads(connection)
        self.keys = PostgresKeys(connection)
        self.generations = PostgresGenerations(connection)
        self.reconciling = PostgresReconciling(connection)
        self.rebuilds = PostgresRebuilds(connection)
        self.lookups = PostgresLookups(connection)
        self.usage = PostgresUsage(connection, self.forgetting)
        self.writes = PostgresWrites(connection)


class PostgresLedger:
    def __init__(self, pool: Pool, *, conninfo: str, tombstone_key: KeyFile | None) -> None:
        self._pool = pool
        self._conninfo = conninfo
        self._tombstone_key = tombstone_key

    @classmethod
    async def open(
        cls, url: str, settings: PostgresSettings, *, tombstone_key: KeyFile | None = None
    ) -> PostgresLedger:
        """Migrate the database if needed and connect. `StoreUnavailable`: not reached;
        `StoreRejected`: the schema is newer than this version. Without `tombstone_key` nothing
        can be forgotten, and nothing put for a tenant of whom something was."""
        await migrate(url, settings)
        conninfo = _with_limits(url, settings)
        longest_wait_s = settings.statement_timeout_s + _GRACE_S

        async def configure(connection: PromptConnection) -> None:
            connection.longest_wait_s = longest_wait_s

        pool: Pool = AsyncConnectionPool(
            conninfo,
            connection_class=PromptConnection,
            configure=configure,
            min_size=1,
            max_size=settings.pool_size,
            timeout=settings.connect_timeout_s,
            # The driver waits twice as long after each failure, so that a server that was away
            # for a minute would be found again after two; here whoever asks next tries anew.
            reconnect_timeout=settings.connect_timeout_s,
            check=_check_quiet,
            kwargs={"autocommit": True},  # `Statements` begins; leaving the block commits
            open=False,
        )
        async with translated_pool():
            await pool.open(wait=True, timeout=settings.connect_timeout_s)
        return cls(pool, conninfo=conninfo, tombstone_key=tombstone_key)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresTransaction]:
        async with translated_pool(), self._pool.connection() as connection:
            yield PostgresTransaction(connection, self._tombstone_key)

    @asynccontextmanager
    async def lease(self, *names: str) -> AsyncIterator[Lease]:
        async with self.lease_any([names]) as (_, lease):
            yield lease

    @asynccontextmanager
    async def lease_any(self, groups: Sequence[Sequence[str]]) -> AsyncIterator[tuple[int, Lease]]:
        connection = await self._connect()
        async with connection:
            # Asked again and again: a blocking lock would run into the statement's time limit.
            async for _ in _ticks(POLL_S / 2):
                if (at := await _lock_any(connection, groups)) is not None:
                    yield at, PostgresLease(connection)
                    return

    async def wake_ups(self) -> AsyncGenerator[None, None]:
        connection: Connection | None = None
        try:
            while True:
                try:
                    if connection is None:
                        connection = await self._connect()
                        with translated():
                            await connection.execute("LISTEN palimpsest_work")
                    await _notified(connection)
                except StoreUnavailable:
                    if connection is not None:
                        await connection.close()
                    connection = None
                    await asyncio.sleep(POLL_S)
                yield
        finally:
            if connection is not None:
                await connection.close()

    async def close(self) -> None:
        await self._pool.close()

    async def _connect(self) -> Connection:
        with translated():
            return await PromptConnection.connect(self._conninfo, autocommit=True)


class PostgresLease:
    """A session-level advisory lock: gone with the connection that holds it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def check(self) -> None:
        await _one(self._connection, "SELECT true", ())


async def _check_quiet(connection: Connection) -> None:
    """Ask the server only if something has come in unasked, such as the end of the connection
    after a restart; an exchange for every transaction would cost more than many queries."""
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    if poller.poll(0):
        await AsyncConnectionPool.check_connection(connection)


async def _one(connection: Connection, query: str, values: tuple[object, ...]) -> bool:
    with translated():
        cursor = await connection.execute(query.encode(), values)
        row = await cursor.fetchone()
    if row is None:
        raise StoreUnavailable(STORE, "no answer")
    return bool(row[0])


async def _lock_any(connection: Connection, groups: Sequence[Sequence[str]]) -> int | None:
    """Lock all names of one group, of the first that can be had; its place."""
    for at, names in enumerate(groups):
        held = 0
        for name in names:
            key = (_LEASE_CLASS, name)
            if not await _one(connection, "SELECT pg_try_advisory_lock(%s, hashtext(%s))", key):
                break
            held += 1
        if held == len(names):
            return at
        for name in names[:held]:
            key = (_LEASE_CLASS, name)
            await _one(connection, "SELECT pg_advisory_unlock(%s, hashtext(%s))", key)
    return None


async def _ticks(pause_s: float) -> AsyncIterator[None]:
    yield
    while True:
        await asyncio.sleep(pause_s)
        yield


async def _notified(connection: Connection) -> None:
    """Returns at the next notification, or after `POLL_S`."""
    with translated():
        async for _ in connection.notifies(timeout=POLL_S, stop_after=1):
            pass


def _with_limits(url: str, settings: PostgresSettings) -> str:
    """The connection text with time limits; options that the caller set stay."""
    chosen = conninfo_to_dict(url)
    options = str(chosen.get("options") or "")
    limits = {
        "statement_timeout": round(settings.statement_timeout_s * 1000),
        "lock_timeout": round(settings.lock_timeout_s * 1000),
        "idle_in_transaction_session_timeout": round(settings.idle_in_transaction_timeout_s * 1000),
        "client_connection_check_interval": _CHECK_CLIENT_MS,
        "timezone": "UTC",
        # What was acknowledged must outlive the server's death, whatever its own default is.
        "synchronous_commit": "on",
        # Our statements are short and find their rows by index: planned for solid-state disks,
        # and never worth compiling.
        "jit": "off",
        "random_page_cost": 1.1,
    }
    ours = " ".join(f"-c {name}={value}" for name, value in limits.items())
    return make_conninfo(
        url,
        options=f"{ours} {options}".strip(),
        connect_timeout=max(2, round(settings.connect_timeout_s)),
        application_name="palimpsest",
        **{name: value for name, value in _KEEPALIVES.items() if name not in chosen},
    )
