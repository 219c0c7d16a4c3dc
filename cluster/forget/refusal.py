"""Does a tombstone keep this revision away? The same answer for every ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.forget.marks import MarkKey, marks_to_check
from cluster.ids import sha256_hex
from cluster.model import Revision

NO_KEY = (
    "something was forgotten in this ledger, and the key of its tombstones is not here; copy it "
    "from the machine that has it, and name it with forget.tombstone_key_file"
)
OTHER_KEY = (
    "the tombstones of this ledger were made with another key; name that one with "
    "forget.tombstone_key_file"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Buried:
    """A tombstone as the ledger keeps it."""

    receipt_id: str
    buried_at: datetime
    before: datetime | None


def marks_of(key: MarkKey, revision: Revision) -> list[str]:
    return marks_to_check(
        key,
        revision.tenant,
        document_id=revision.document_id,
        owner=revision.owner,
        source=revision.source,
        turn=revision.turn,
        text=revision.text,
    )


def decide_refusals(
    marks: Mapping[str, Sequence[str]],
    revisions: Sequence[Revision],
    *,
    buried: Mapping[str, Sequence[Buried]],
    started: Mapping[str, datetime],
    said: frozenset[tuple[str, str]],
) -> dict[str, str]:
    """revision id -> reason. `marks` by revision id, `buried` by mark, `started` by run id;
    `said` are (document id, SHA-256 of the text) of what is live: that may be said again."""
    refused = {}
    for revision in revisions:
        if (revision.document_id, sha256_hex(revision.text)) in said:
            continue
        since = started.get(revision.run_id)
        found = [
            stone
            for mark in marks[revision.revision_id]
            for stone in buried.get(mark, ())
            if stone.before is None or since is None or since < stone.before
        ]
        if found:
            refused[revision.revision_id] = reason(found[0])
    return refused


def reason(stone: Buried) -> str:
    return (
        f"forgotten on {stone.buried_at.date().isoformat()}, receipt {stone.receipt_id}; lift it "
        f"with `palimpsest forget lift {stone.receipt_id}`"
    )
