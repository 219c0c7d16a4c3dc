"""What a report of usage amounts to: the same for every ledger."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from cluster.errors import InvalidRequest
from cluster.ids import content_id
from cluster.model import Scope
from cluster.stores.checks import storable
from cluster.stores.protocols.usage import PassageUsage, Shown, UsageReport, Verdict

USED = "used"
MAX_PASSAGES = 1000
"""Passages that one report names, and that are listed of one document."""

MAX_ARTIFACTS = 20
"""Artifacts that are listed of a passage of a document."""

MAX_ARTIFACT_BYTES = 500
VERDICTS: tuple[Verdict, ...] = ("useful", "wrong", "outdated")
SEARCH_ID = re.compile(r"srch_[a-z0-9]{16,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`kind` is `used` or a verdict; `event_id` a digest of what makes it the same event."""

    event_id: str
    chunk_id: str
    kind: str
    artifact: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEvent:
    """As a ledger tells it."""

    chunk_id: str
    search_id: str
    kind: str
    artifact: str
    reported_at: datetime


def check_report(report: UsageReport) -> None:
    """`InvalidRequest` for what no ledger keeps."""
    if not SEARCH_ID.fullmatch(report.search_id):
        raise InvalidRequest("search_id: give the one that the answer has, srch_…")
    named = {*report.used, *report.verdicts}
    if not named:
        raise InvalidRequest("a report without a passage; name those used, or a verdict on one")
    if len(named) > MAX_PASSAGES:
        raise InvalidRequest(f"{len(named):,} passages in one report, at most {MAX_PASSAGES:,}")
    if not storable(report.artifact) or len(report.artifact.encode()) > MAX_ARTIFACT_BYTES:
        raise InvalidRequest(f"artifact: a name of at most {MAX_ARTIFACT_BYTES} bytes, without NUL")
    for verdict in report.verdicts.values():
        if verdict not in VERDICTS:
            raise InvalidRequest(f"verdict {verdict!r}; known: {', '.join(VERDICTS)}")


def owners_of(asked: Iterable[Shown | Scope]) -> set[tuple[str, str]]:
    """(tenant, owner) of those that have an owner."""
    return {(one.tenant, one.owner) for one in asked if one.owner is not None}


def countable(
    shown: Iterable[Shown], forgotten: Mapping[tuple[str, str], datetime] | None
) -> list[Shown]:
    """Without what owners were shown before they were forgotten; `None`: nobody can tell of any
    owner."""
    return [
        one
        for one in shown
        if one.owner is None
        or (
            forgotten is not None and not _before(one.since, forgotten.get((one.tenant, one.owner)))
        )
    ]


def said_in_time(
    scope: Scope, now: datetime, forgotten: Mapping[tuple[str, str], datetime]
) -> bool:
    """Whether what the scope's owner says at `now` may be kept."""
    at = None if scope.owner is None else forgotten.get((scope.tenant, scope.owner))
    return not _before(now, at)


def _before(moment: datetime | None, at: datetime | None) -> bool:
    return moment is not None and at is not None and moment < at


def events_of(scope: Scope, report: UsageReport) -> list[Event]:
    """One for each passage and artifact, and one for each passage's verdict: the kind is not
    part of what makes a verdict the same, so that a later one replaces it."""
    whose = (scope.tenant, scope.owner or "", report.search_id)
    used = [
        Event(
            event_id=content_id("use", *whose, chunk_id, USED, report.artifact),
            chunk_id=chunk_id,
            kind=USED,
            artifact=report.artifact,
        )
        for chunk_id in dict.fromkeys(report.used)
    ]
    said = [
        Event(
            event_id=content_id("use", *whose, chunk_id, "verdict"),
            chunk_id=chunk_id,
            kind=verdict,
            artifact="",
        )
        for chunk_id, verdict in report.verdicts.items()
    ]
    return used + said


def usage_of(
    document_id: str, shown: Mapping[str, int], events: Iterable[HeldEvent], *, limit: int
) -> list[PassageUsage]:
    """Most shown first, ties by chunk id, at most `limit`."""
    by_chunk: dict[str, list[HeldEvent]] = {chunk_id: [] for chunk_id in shown}
    for event in events:
        by_chunk.setdefault(event.chunk_id, []).append(event)
    usages = [
        _usage(document_id, chunk_id, shown.get(chunk_id, 0), of_chunk)
        for chunk_id, of_chunk in by_chunk.items()
    ]
    return sorted(usages, key=lambda one: (-one.shown, one.chunk_id))[:limit]


def artifacts_of(events: Iterable[HeldEvent]) -> tuple[str, ...]:
    """Of those that were used, latest first, ties by name."""
    latest: dict[str, datetime] = {}
    for event in events:
        if event.kind == USED and event.artifact:
            former = latest.get(event.artifact, event.reported_at)
            latest[event.artifact] = max(former, event.reported_at)
    return tuple(sorted(sorted(latest), key=lambda name: latest[name], reverse=True))


def in_order(counts: Mapping[str, int]) -> dict[Verdict, int]:
    """Of the verdicts among these kinds, in their own order, those that there are."""
    return {verdict: counts[verdict] for verdict in VERDICTS if counts.get(verdict)}


def _usage(document_id: str, chunk_id: str, shown: int, events: list[HeldEvent]) -> PassageUsage:
    kinds = Counter(event.kind for event in events)
    return PassageUsage(
        chunk_id=chunk_id,
        document_id=document_id,
        shown=shown,
        used=len({event.search_id for event in events if event.kind == USED}),
        verdicts=in_order(kinds),
        used_in=artifacts_of(events)[:MAX_ARTIFACTS],
    )
