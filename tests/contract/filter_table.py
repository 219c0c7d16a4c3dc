"""Every operator over hostile values, as a table that each store must answer alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cluster.filters import (
    MAX_VALUES,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    Scalar,
)
from cluster.stores.protocols import Prepared
from contract.samples import prepared

HOSTILE = (
    "plain",
    "it's",
    'say "hi"',
    "'; DROP TABLE revisions; --",
    '"] or true or source in ["',
    "back\\slash",
    "trailing\\",
    "100%",
    "%",
    "_",
    "under_score",
    "*",
    "?",
    "a:b AND [x TO y]",
    "Capital",
    "capital",
    "CAPITAL",
    " lead and trail ",
    "two  spaces",
    "two spaces",
    "a/b/c.md",
    "/",
    "line\nbreak",
    "tab\there",
    "中文 值",
    "繁體",
    "日本語",
    "🙂👨\u200d👩\u200d👧",
    "é",
    "e\u0301",
    "\u200b",
    "{a,b}",
    "NULL",
    "0",
)
ABSENT = ("plai", "plain ", "Plain", "中", "🙂", "%plain%", "a/b", "x" * 4096, "界" * 1365)
NUMBERS: tuple[float, ...] = (0, 0.1 + 0.2, 0.3, -1.5, 2**53, -(2**53), 1e-9)
START = datetime(2024, 5, 1, 8, 0, tzinfo=UTC)
MOMENTS = tuple(
    START + timedelta(milliseconds=step) for step in (0, 1, -1, 10**9, -(10**12) * 2, 10**13)
)
ORDERED = ("author", "authority", "published_at")


def documents(tenant: str) -> list[Prepared]:
    """One for each value, and some that lack fields."""
    texts = [
        prepared(
            f"text {place}",
            f"body {place}",
            tenant=tenant,
            pieces=1,
            metadata={
                "author": text,
                "tags": (text, HOSTILE[place - 1]),
                "authority": NUMBERS[place % len(NUMBERS)],
                "published_at": MOMENTS[place % len(MOMENTS)] if place % 5 else None,
            },
        )
        for place, text in enumerate(HOSTILE)
    ]
    editions = [
        prepared(f"text {place}", f"old {place}", edition="1", tenant=tenant, pieces=1)
        for place in range(3)
    ]
    return [*texts, *editions, prepared("bare", "bare", tenant=tenant, pieces=1)]


def table() -> Iterator[tuple[str, Filter]]:
    """(name of the operator, filter)."""
    for field, values in VALUES.items():
        for value in values:
            yield "eq", Eq(field, value)
            yield "not eq", Not(Eq(field, value))
            if field in ORDERED:
                yield "range", Range(field, gte=value)
                yield "range", Range(field, lt=value)
                yield "not range", Not(Range(field, gte=values[0], lt=value))
        yield from _several(field, values)
        yield "missing", Missing(field)
        yield "not missing", Not(Missing(field))
    yield "all", AllOf((Eq("tags", HOSTILE[0]), Eq("tags", HOSTILE[-1])))
    yield "all", AllOf((Eq("author", HOSTILE[2]), Missing("published_at")))
    yield "any", AnyOf((Eq("author", "🙂"), Eq("tags", "🙂👨\u200d👩\u200d👧"), Missing("author")))
    yield "not any", Not(AnyOf((Missing("author"), Range("authority", gte=0.3))))
    yield "not all", Not(AllOf((Eq("author", "capital"), Not(Eq("tags", "CAPITAL")))))


def _several(field: str, values: tuple[Scalar, ...]) -> Iterator[tuple[str, Filter]]:
    yield "in", In(field, values[:1])
    yield "in", In(field, values[::3])
    yield "not in", Not(In(field, values[::2]))
    many: dict[str, tuple[Scalar, ...]] = {
        "author": tuple(f"nobody {number}" for number in range(MAX_VALUES - 2)),
        "tags": tuple(f"nothing {number}" for number in range(MAX_VALUES - 2)),
        "authority": tuple(number + 0.5 for number in range(1000, MAX_VALUES + 998)),
        "published_at": tuple(
            START + timedelta(days=1, seconds=number) for number in range(MAX_VALUES - 2)
        ),
    }
    if field in many:
        yield "in 10,000", In(field, (*many[field], values[1], values[2]))
        yield "not in 10,000", Not(In(field, (*many[field], values[1], values[2])))


VALUES: dict[str, tuple[Scalar, ...]] = {
    "author": (*HOSTILE, *ABSENT),
    "tags": (*HOSTILE, *ABSENT),
    "authority": (*NUMBERS, 0.7, -(2**53) + 1),
    "published_at": (*MOMENTS, START + timedelta(days=1)),
    "newest_edition": (True, False),
}
