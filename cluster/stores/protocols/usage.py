"""What became of the passages that were shown, and how far a tenant's data has moved on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from cluster.model import Scope

Verdict = Literal["useful", "wrong", "outdated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A passage that was part of `times` answers to this owner (`None`: without one), the first
    of them asked for at `since` (`None`: just now)."""

    tenant: str
    owner: str | None
    chunk_id: str
    times: int = 1
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What was made of one answer: `used` names the passages that went into `artifact` (a
    chapter, a ticket, a file), `verdicts` what a reader says of passages."""

    search_id: str
    artifact: str = ""
    used: tuple[str, ...] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageUsage:
    """`shown` in so many answers, `used` in so many; of `verdicts` the count by kind. `used_in`
    are the artifacts, latest first."""

    chunk_id: str
    document_id: str
    shown: int
    used: int
    verdicts: Mapping[Verdict, int]
    used_in: tuple[str, ...]

    @property
    def unused(self) -> int:
        """In how many answers it was shown for nothing. Not below 0: showing is counted without
        a promise, using with one."""
        return max(self.shown - self.used, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """`writes` grows with every committed change of what a tenant's answers may be made of, and
    never falls. `settled`: no index work is owed. `has_usage`: something of it was used."""

    writes: int
    settled: bool
    has_usage: bool


class Usage(Protocol):
    """Rows go with the passages that they tell of. No row holds a question or a content."""

    async def add_shown(self, shown: Sequence[Shown]) -> int:
        """Add to the counts; how many rows. Passages that are gone, or are just being
        published or erased, are passed over; so is what owners were shown before they were
        forgotten, and where the key is not there to tell that."""
        ...

    async def report(self, scope: Scope, report: UsageReport, *, now: datetime) -> frozenset[str]:
        """Keep what was said, once however often it is said; a later verdict on a passage of an
        answer replaces the former one. The passages that `scope` may see, and until they are
        deleted also superseded ones; of others nothing is kept. Nor is what an owner
        said before `now` who was forgotten since. What changes nothing is no write. Waits for
        whoever publishes or erases these passages, or forgets in this tenant."""
        ...

    async def of_document(
        self, scope: Scope, document_id: str, *, limit: int = 1000
    ) -> list[PassageUsage]:
        """Of the passages of its present and superseded revisions that were ever shown or used,
        most shown first, ties by chunk id, at most `limit`; `used_in` of each has the latest 20.
        Rows of other owners do not count."""
        ...

    async def used_in(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, tuple[str, ...]]:
        """chunk id -> the artifacts that it went into, latest first, ties by name, at most
        `limit`. Unused: absent."""
        ...

    async def tells_of(self, tenant: str, owner: str) -> bool:
        """Whether any row is of this owner."""
        ...


class Writes(Protocol):
    async def standing(self, tenant: str) -> Standing:
        """As of now, in one read. An answer that was made after a standing with the same
        `writes` was read is the answer of now."""
        ...

    async def counts(self, tenants: Sequence[str]) -> dict[str, int]:
        """Of each of these, how many writes as of now."""
        ...

    async def note(self, tenants: Sequence[str]) -> None:
        """Let `writes` grow when this transaction commits. Waits for nobody. Changes of
        documents note themselves."""
        ...
