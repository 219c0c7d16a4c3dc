"""Owed index work in PostgreSQL; `cluster.stores.protocols.Outbox`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from cluster.stores.checks import printable, require, require_limit, require_target
from cluster.stores.postgres.rows import read_work
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols import Failure, IndexWork, OutboxEntry, SetAside

Some = TypeVar("Some")

_SUFFIXES = ("", "_of_generation")
"""Of the statements for what is owed everywhere, and to single generations."""


class PostgresOutbox:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "outbox")

    async def take(
        self,
        *,
        limit: int,
        targets: Collection[str] | None = None,
        now: datetime | None = None,
        slots: Collection[int] | None = None,
    ) -> list[OutboxEntry]:
        asked = {
            "limit": require_limit(limit),
            "targets": _listed(targets),
            "now": now,
            "slots": None if slots is None else list(slots),
        }
        return [
            OutboxEntry(
                entry_id=row[0],
                chunk_id=row[1],
                version=row[2],
                operation=row[3],
                target=row[4],
                attempts=row[5],
            )
            for row in await self._sql.rows("take", asked)
        ]

    async def wake(self) -> None:
        await self._sql.rows("notify", {})

    async def owe(self, chunk_ids: Sequence[str], *, target: str) -> None:
        asked = {"ids": list(require(chunk_ids, "chunk ids")), "target": require_target(target)}
        if await self._sql.rows("state_of_target", {"target": target}) == [("gone",)]:
            return
        await self._sql.run("owe", asked)
        await self.wake()

    async def drop_target(self, target: str) -> int:
        return await self._sql.run("drop_target", {"target": require_target(target)})

    async def work(
        self, chunk_ids: Sequence[str], *, fingerprints: Collection[str] | None = None
    ) -> list[IndexWork]:
        asked = {
            "ids": list(require(chunk_ids, "chunk ids")),
            "fingerprints": _listed(fingerprints),
        }
        return read_work(await self._sql.rows("work", asked))

    async def done(self, entries: Sequence[OutboxEntry]) -> None:
        require(entries, "entries")
        for suffix, part in _by_table(entries, key=lambda entry: entry.target):
            ids = [entry.entry_id for entry in part]
            versions = [entry.version for entry in part]
            await self._sql.run(f"done{suffix}", {"ids": ids, "versions": versions})

    async def failed(self, failures: Sequence[Failure], *, now: datetime) -> None:
        require(failures, "failures")
        for suffix, part in _by_table(failures, key=lambda failure: failure.entry.target):
            noted = {
                "ids": [one.entry.entry_id for one in part],
                "versions": [one.entry.version for one in part],
                "reasons": [printable(one.reason) for one in part],
                "rests": [one.not_before for one in part],
                "now": now,
            }
            await self._sql.run(f"failed{suffix}", noted)

    async def set_aside(self, *, limit: int, tenant: str | None = None) -> list[SetAside]:
        asked = {"limit": require_limit(limit), "tenant": tenant}
        return [
            SetAside(
                chunk_id=row[0],
                target=row[1],
                tenant=row[2],
                attempts=row[3],
                reason=row[4],
                since=row[5],
                document_id=row[6],
                revision_id=row[7],
                path=row[8],
                revision_state=row[9],
            )
            for row in await self._sql.rows("set_aside", asked)
        ]

    async def retry(
        self, chunk_ids: Sequence[str] | None = None, *, tenant: str | None = None
    ) -> int:
        ids = None if chunk_ids is None else list(require(chunk_ids, "chunk ids"))
        asked = {"ids": ids, "tenant": tenant}
        opened = [await self._sql.run(f"retry{suffix}", asked) for suffix in _SUFFIXES]
        await self.wake()
        return sum(opened)

    async def lag(self) -> tuple[int, timedelta]:
        ((count, age),) = await self._sql.rows("lag", {})
        return int(count), age if age is not None else timedelta(0)

    async def done_total(self) -> int:
        ((count,),) = await self._sql.rows("done_total", {})
        return int(count)

    async def aside(self, tenant: str | None = None) -> int:
        ((count,),) = await self._sql.rows("aside", {"tenant": tenant})
        return int(count)


def _by_table(
    some: Sequence[Some], *, key: Callable[[Some], str]
) -> Iterator[tuple[str, list[Some]]]:
    """The end of a statement's name, and what it is for: of each table that has any."""
    for suffix, targeted in zip(_SUFFIXES, (False, True), strict=True):
        if part := [one for one in some if bool(key(one)) == targeted]:
            yield suffix, part


def _listed(names: Collection[str] | None) -> list[str] | None:
    return None if names is None else list(names)
