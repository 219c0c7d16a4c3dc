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

from cluster.model import Scope
from cluster.stores.checks import require, require_limit, storable
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols.forgetting import Needles, Selector
from cluster.stores.protocols.usage import PassageUsage, Shown, Standing, UsageReport
from cluster.stores.usage_rules import HeldEvent, check_report, events_of, usage_of


class PostgresUsage:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "usage")

    async def add_shown(self, shown: Sequence[Shown]) -> int:
        kept = [one for one in require(shown, "passages") if storable(one.chunk_id)]
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
        walls = {"tenant": scope.tenant, "owner": scope.owner}
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

    async def of_document(self, scope: Scope, document_id: str) -> list[PassageUsage]:
        if not storable(document_id):
            return []
        asked = {"tenant": scope.tenant, "owner": scope.owner, "document": document_id}
        counts = await self._sql.rows("counts_of_document", asked)
        events = await self._sql.rows("events_of_document", asked)
        return usage_of(
            document_id,
            {chunk_id: int(shown) for chunk_id, shown in counts},
            [
                HeldEvent(
                    chunk_id=row[0],
                    search_id=row[1],
                    kind=row[2],
                    artifact=row[3],
                    reported_at=row[4],
                )
                for row in events
            ],
        )

    async def used_in(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, tuple[str, ...]]:
        most = require_limit(limit)
        ids = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        asked = {"tenant": scope.tenant, "owner": scope.owner, "ids": ids}
        rows = await self._sql.rows("used_in", asked)
        return {
            chunk_id: tuple(row[1] for row in of_chunk)[:most]
            for chunk_id, of_chunk in groupby(rows, key=lambda row: str(row[0]))
        }

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


class UsageErasure:
    """What other writes do to the rows of usage."""

    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "usage")

    async def erase(self, revision_ids: Sequence[str]) -> dict[str, int]:
        """Once the chunks of these revisions are gone, and while the revisions are still there.
        Rows by table."""
        asked = {"ids": list(revision_ids)}
        return {
            "usage_counts": await self._sql.run("erase_counts", asked),
            "usage_events": await self._sql.run("erase_events", asked),
        }

    async def note_chunks(self, chunk_ids: Sequence[str]) -> None:
        """An index is made to agree with the ledger again: answers may change."""
        await self._sql.rows("note_writes_of_chunks", {"ids": list(chunk_ids)})

    async def scrub(self, tenant: str, needles: Needles, selector: Selector) -> dict[str, int]:
        """An owner's rows go; artifacts that name what was forgotten lose their name. So do rows of
        documents that code without this table erased."""
        named = {
            "tenant": tenant,
            "ids": list(needles.ids),
            "names": [*needles.names, *needles.ids],
            "patterns": [_pattern(sample) for sample in needles.samples],
        }
        gone = {
            "usage_counts": await self._sql.run("erase_counts_named", named),
            "usage_events": await self._sql.run("erase_events_named", named),
        }
        if selector.kind == "owner":
            whose = {"tenant": tenant, "owner": selector.value}
            gone["usage_counts"] += await self._sql.run("erase_counts_of_owner", whose)
            gone["usage_events"] += await self._sql.run("erase_events_of_owner", whose)
        gone["usage_events"] += await self._sql.run("scrub_artifacts", named)
        if any(gone.values()):
            await self._sql.rows("note_writes", {"tenants": [tenant]})
        return gone


def _pattern(sample: str) -> str:
    escaped = sample.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
