"""What other writes do to the rows of usage in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols.forgetting import Needles, Selector


class UsageErasure:
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
