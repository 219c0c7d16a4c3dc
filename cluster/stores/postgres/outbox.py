"""Owed index work in PostgreSQL; `cluster.stores.protocols.Outbox`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from cluster.stores.checks import require, require_limit
from cluster.stores.postgres.rows import read_work
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols import IndexWork, OutboxEntry


class PostgresOutbox:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "outbox")

    async def take(self, *, limit: int) -> list[OutboxEntry]:
        rows = await self._sql.rows("take", {"limit": require_limit(limit)})
        return [
            OutboxEntry(entry_id=entry, chunk_id=chunk, version=version, operation=operation)
            for entry, chunk, version, operation in rows
        ]

    async def work(self, chunk_ids: Sequence[str]) -> list[IndexWork]:
        asked = list(require(chunk_ids, "chunk ids"))
        return read_work(await self._sql.rows("work", {"ids": asked}))

    async def done(self, entries: Sequence[OutboxEntry]) -> None:
        taken = require(entries, "entries")
        ids = [entry.entry_id for entry in taken]
        versions = [entry.version for entry in taken]
        await self._sql.run("done", {"ids": ids, "versions": versions})

    async def lag(self) -> tuple[int, timedelta]:
        ((count, age),) = await self._sql.rows("lag", {})
        return int(count), age if age is not None else timedelta(0)
