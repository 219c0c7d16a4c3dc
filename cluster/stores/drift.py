"""How far an index is from the ledger: the kinds of difference, and the report of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, get_args

DriftKind = Literal["missing", "ghost", "stale", "duplicate"]
KINDS: tuple[DriftKind, ...] = get_args(DriftKind)
EXAMPLES = 10
"""Ids that a report names for each kind."""

MAX_OUTGROWN = 2**52
"""Row versions beyond are no version that a ledger ever gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What the ledger says of a chunk id. `wanted` is the row version that the indexes should
    have, `None` when they should have none; `owed`: its index work is not done yet;
    `changed_at`: when its revision last changed state, `None` where the ledger knows nothing."""

    wanted: int | None
    owed: bool
    changed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDrift:
    """One index against the ledger. `rows` it holds; `drift` and `in_flight` count differences
    by kind, and have every kind; `examples` name at most `EXAMPLES` drifting ids of each.
    `error` says why the index could not be read; the counts are then of what was."""

    store: str
    rows: int
    drift: Mapping[DriftKind, int]
    in_flight: Mapping[DriftKind, int]
    examples: Mapping[DriftKind, Sequence[str]] = field(default_factory=dict)
    error: str | None = None

    @property
    def sound(self) -> bool:
        return self.error is None and not any(self.drift.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """`wanted`: rows that the ledger wants in each index. `repaired`: rows whose index work
    was owed again before this comparison; `unrepaired` of them are still owed."""

    started_at: datetime
    finished_at: datetime
    wanted: int
    stores: Sequence[StoreDrift]
    repaired: int = 0
    unrepaired: int = 0

    @property
    def sound(self) -> bool:
        return not self.unrepaired and all(store.sound for store in self.stores)

    def without_examples(self) -> DriftReport:
        """What may be kept: an id would stay there when its document is forgotten."""
        return replace(self, stores=tuple(replace(one, examples={}) for one in self.stores))

    def to_json(self) -> dict[str, Any]:
        told = asdict(self)
        told["stores"] = [asdict(store) | {"sound": store.sound} for store in self.stores]
        return told | {
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
            "sound": self.sound,
        }


def read_report(told: Mapping[str, Any]) -> DriftReport:
    """The inverse of `DriftReport.to_json`."""
    return DriftReport(
        started_at=datetime.fromisoformat(told["started_at"]),
        finished_at=datetime.fromisoformat(told["finished_at"]),
        wanted=told["wanted"],
        repaired=told["repaired"],
        unrepaired=told["unrepaired"],
        stores=tuple(
            StoreDrift(
                store=one["store"],
                rows=one["rows"],
                drift=one["drift"],
                in_flight=one["in_flight"],
                examples={kind: tuple(ids) for kind, ids in one["examples"].items()},
                error=one["error"],
            )
            for one in told["stores"]
        ),
    )
