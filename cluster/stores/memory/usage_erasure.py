"""What other writes do to the rows of usage in the reference ledger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from cluster.stores.memory.state import State
from cluster.stores.protocols.forgetting import Needles, Selector


@dataclass(frozen=True, slots=True)
class UsageErasure:
    state: State

    def erase(self, chunk_ids: Collection[str]) -> dict[str, int]:
        """Rows by table."""
        gone = set(chunk_ids)
        state = self.state
        counts = [place for place in state.usage_counts if place[0] in gone]
        events = [key for key, one in state.usage_events.items() if one.event.chunk_id in gone]
        return self._drop(counts, events)

    def scrub(
        self, tenant: str, needles: Needles, names: Collection[str], selector: Selector
    ) -> dict[str, int]:
        """An owner's rows go; artifacts that name what was forgotten lose their name."""
        state = self.state
        counts: list[tuple[str, str]] = []
        events: list[str] = []
        if selector.kind == "owner":
            of_tenant = (place for place in state.usage_counts if self._of(place[0], tenant))
            counts = [place for place in of_tenant if place[1] == selector.value]
            events = [
                key
                for key, one in state.usage_events.items()
                if (one.tenant, one.owner) == (tenant, selector.value)
            ]
        gone = self._drop(counts, events)
        for key, one in state.usage_events.items():
            artifact = one.event.artifact
            named = artifact in names or any(each in artifact for each in needles.samples)
            if one.tenant == tenant and artifact and named:
                event = replace(one.event, artifact="")
                state.usage_events[key] = replace(one, event=event)
                gone["usage_events"] += 1
        if any(gone.values()):
            state.note_write(tenant)
        return gone

    def _of(self, chunk_id: str, tenant: str) -> bool:
        held = self.state.revisions.get(self.state.revision_of_chunk.get(chunk_id, ""))
        return held is not None and held.revision.tenant == tenant

    def _drop(self, counts: Sequence[tuple[str, str]], events: Sequence[str]) -> dict[str, int]:
        for place in counts:
            del self.state.usage_counts[place]
        for key in events:
            del self.state.usage_events[key]
        return {"usage_counts": len(counts), "usage_events": len(events)}
