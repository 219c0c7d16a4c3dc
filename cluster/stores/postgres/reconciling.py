"""For comparisons and rebuilds, in PostgreSQL; `cluster.stores.protocols.reconciling`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from cluster.errors import NotFound
from cluster.stores.checks import require, require_limit, storable
from cluster.stores.drift import MAX_OUTGROWN, DriftReport, LedgerRow, read_report
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols import EVERYWHERE
from cluster.stores.protocols.reconciling import Rebuild

UNKNOWN = LedgerRow(wanted=None, owed=False, changed_at=None)


class PostgresReconciling:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "reconciling")

    async def page(self, *, after: str, limit: int) -> list[tuple[str, int]]:
        asked = {"after": after, "limit": require_limit(limit)}
        return [(row[0], row[1]) for row in await self._sql.rows("page", asked)]

    async def states(
        self, chunk_ids: Sequence[str], *, target: str = EVERYWHERE
    ) -> dict[str, LedgerRow]:
        asked = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        rows = await self._sql.rows("states", {"ids": asked, "target": target})
        known = {row[0]: LedgerRow(wanted=row[1], owed=row[2], changed_at=row[3]) for row in rows}
        return {one: known.get(one, UNKNOWN) for one in chunk_ids}

    async def count(self) -> int:
        ((count,),) = await self._sql.rows("count", {})
        return int(count)

    async def without_vector(
        self, *, after: str, limit: int, fingerprint: str | None = None
    ) -> list[str]:
        asked = {"after": after, "limit": require_limit(limit), "fingerprint": fingerprint}
        return [row[0] for row in await self._sql.rows("without_vector", asked)]

    async def newest_version(self) -> int:
        ((version,),) = await self._sql.rows("newest_version", {})
        return int(version)

    async def outgrow(self, version: int) -> None:
        if version <= MAX_OUTGROWN:
            await self._sql.run("outgrow", {"version": version})

    async def owed_until(self, version: int) -> int:
        ((count,),) = await self._sql.rows("owed_until", {"version": version})
        return int(count)

    async def record(self, report: DriftReport) -> None:
        told = json.dumps(report.to_json(), ensure_ascii=True)
        await self._sql.run("record", {"finished_at": report.finished_at, "report": told})
        await self._sql.run("forget_former", {})

    async def latest(self) -> DriftReport | None:
        rows = await self._sql.rows("latest", {})
        return read_report(json.loads(rows[0][0])) if rows else None


class PostgresRebuilds:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "reconciling")

    async def begin(self, *, refills: Sequence[str], total: int, now: datetime) -> Rebuild:
        asked = {"refills": sorted(refills), "total": total, "now": now}
        await self._sql.run("begin_rebuild", asked)
        begun = await self.unfinished()
        if begun is None:
            raise NotFound("the rebuild was finished by another process")
        return begun

    async def unfinished(self) -> Rebuild | None:
        for rebuild_id, refills, started_at, owed_to, owed, total in await self._sql.rows(
            "unfinished", {}
        ):
            return Rebuild(
                rebuild_id=rebuild_id,
                refills=tuple(refills),
                started_at=started_at,
                owed_to=owed_to,
                owed=owed,
                total=total,
            )
        return None

    async def advance(self, rebuild_id: int, *, owed_to: str, owed: int) -> None:
        await self._sql.run("advance_rebuild", {"id": rebuild_id, "owed_to": owed_to, "owed": owed})

    async def finish(self, rebuild_id: int, *, now: datetime) -> None:
        await self._sql.run("finish_rebuild", {"id": rebuild_id, "now": now})
