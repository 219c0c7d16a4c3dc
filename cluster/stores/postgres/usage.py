"""Usage of passages and the count of writes; `cluster.stores.protocols.usage`.

Who counts or reports holds the documents until it commits: who counts those that can be had at
once, who reports all of them, in the order of ids. Who erases locks the documents first, and
erases at the end what tells of chunks that are gone: so nothing stays behind, and nobody waits in
a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.checks import require, require_limit, storable
from cluster.stores.postgres.forgetting import PostgresForgetting
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols.usage import PassageUsage, Shown, Standing, UsageReport
from cluster.stores.usage_rules import (
    MAX_ARTIFACTS,
    MAX_PASSAGES,
    USED,
    check_report,
    countable,
    events_of,
    in_order,
    owners_of,
    said_in_time,
)


class PostgresUsage:
    def __init__(self, connection: Connection, forgetting: PostgresForgetting) -> None:
        self._sql = Statements(connection, "usage")
        self._forgetting = forgetting

    async def add_shown(self, shown: Sequence[Shown]) -> int:
        named = [one for one in require(shown, "passages") if storable(one.chunk_id)]
        kept = await self._countable(named)
        asked = {
            "chunks": [one.chunk_id for one in kept],
            "tenants": [one.tenant for one in kept],
            "owners": [one.owner or "" for one in kept],
            "times": [one.times for one in kept],
        }
        tenants = sorted({one.tenant for one in kept})
        held = await self._hold("hold", [one.chunk_id for one in kept], tenants)
        return await self._sql.run("add_shown", {**asked, "held": held}) if held else 0

    async def report(self, scope: Scope, report: UsageReport, *, now: datetime) -> frozenset[str]:
        check_report(report)
        events = [one for one in events_of(scope, report) if storable(one.chunk_id)]
        walls = _walls(scope)
        await self._forgetting.lock_puts([scope.tenant])
        forgotten = await self._forgetting.owners_forgotten(owners_of([scope]))
        if not said_in_time(scope, now, forgotten):
            return frozenset()
        ids = sorted({one.chunk_id for one in events})
        documents = await self._hold("hold_in_turn", ids, [scope.tenant])
        asked = {**walls, "ids": ids, "held": documents}
        held = dict(await self._sql.rows("held", asked))
        kept = [one for one in events if one.chunk_id in held]
        if kept:
            rows = {
                "search_id": report.search_id,
                "now": now,
                "events": [one.event_id for one in kept],
                "chunks": [one.chunk_id for one in kept],
                "documents": [held[one.chunk_id] for one in kept],
                "kinds": [one.kind for one in kept],
                "artifacts": [one.artifact for one in kept],
            }
            if await self._sql.run("report", {**walls, **rows}):
                await self._sql.rows("note_writes", {"tenants": [scope.tenant]})
        return frozenset(held)

    async def of_document(
        self, scope: Scope, document_id: str, *, limit: int = MAX_PASSAGES
    ) -> list[PassageUsage]:
        most = require_limit(limit)
        if not storable(document_id):
            return []
        asked = {**_walls(scope), "document": document_id, "limit": most}
        shown = dict(await self._sql.rows("passages_of_document", asked))
        if not shown:
            return []
        answers: dict[str, int] = {}
        verdicts: dict[str, dict[str, int]] = {}
        kinds = await self._sql.rows("kinds", {**_walls(scope), "ids": list(shown)})
        for chunk_id, kind, events, searches in kinds:
            if kind == USED:
                answers[chunk_id] = searches
            else:
                verdicts.setdefault(chunk_id, {})[kind] = events
        used_in = await self.used_in(scope, list(shown), limit=MAX_ARTIFACTS)
        return [
            PassageUsage(
                chunk_id=chunk_id,
                document_id=document_id,
                shown=times,
                used=answers.get(chunk_id, 0),
                verdicts=in_order(verdicts.get(chunk_id, {})),
                used_in=used_in.get(chunk_id, ()),
            )
            for chunk_id, times in shown.items()
        ]

    async def used_in(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, tuple[str, ...]]:
        most = require_limit(limit)
        ids = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        rows = await self._sql.rows("used_in", {**_walls(scope), "ids": ids, "limit": most})
        return {
            chunk_id: tuple(row[1] for row in of_chunk)
            for chunk_id, of_chunk in groupby(rows, key=lambda row: str(row[0]))
        }

    async def tells_of(self, tenant: str, owner: str) -> bool:
        if not owner or not storable(owner):
            return False
        ((found,),) = await self._sql.rows("tells_of", {"tenant": tenant, "owner": owner})
        return bool(found)

    async def _countable(self, shown: Sequence[Shown]) -> list[Shown]:
        """Whoever is just being forgotten is passed over: that is not waited for."""
        owners = owners_of(shown)
        if not owners:
            return list(shown)
        free = await self._forgetting.lock_free(sorted({tenant for tenant, _ in owners}))
        kept = [one for one in shown if one.owner is None or one.tenant in free]
        try:
            return countable(kept, await self._forgetting.owners_forgotten(owners_of(kept)))
        except InvalidRequest:
            return countable(kept, None)

    async def _hold(self, how: str, chunk_ids: Sequence[str], tenants: Sequence[str]) -> list[str]:
        asked = {"ids": list(chunk_ids), "tenants": list(tenants)}
        return [row[0] for row in await self._sql.rows(how, asked)]


class PostgresWrites:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "usage")

    async def standing(self, tenant: str) -> Standing:
        ((writes, settled, has_usage),) = await self._sql.rows("standing", {"tenant": tenant})
        return Standing(writes=int(writes), settled=settled, has_usage=has_usage)

    async def counts(self, tenants: Sequence[str]) -> dict[str, int]:
        asked = list(require(tenants, "tenants"))
        found = dict(await self._sql.rows("counts", {"tenants": asked}))
        return {tenant: int(found.get(tenant, 0)) for tenant in asked}

    async def note(self, tenants: Sequence[str]) -> None:
        await self._sql.rows("note_writes", {"tenants": list(require(tenants, "tenants"))})


def _walls(scope: Scope) -> dict[str, object]:
    return {"tenant": scope.tenant, "owner": scope.owner}
