"""A filter means in a ledger's listings what `cluster.filters.matches` says, on every row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cluster.filters import (
    FIELDS,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    matches,
    scoped,
)
from cluster.model import Scope, Turn
from cluster.stores.fields import matchable_fields
from cluster.stores.protocols import Ledger, Prepared
from contract.samples import prepared, show

HOSTILE = (
    "plain",
    "it's",
    'say "hi"',
    "back\\slash",
    "%s %(f0)s %",
    "_under%",
    "'; DROP TABLE revisions; --",
    "{a,b}",
    "NULL",
    "a b",
    " lead",
    "Case",
    "case",
    "Ünïcode",
    "中文 值",
    "😀",
    "$1",
    "/a/b",
    "{}",
    "é",
    "e\u0301",
)

MOMENT = datetime(2024, 5, 1, 12, 30, 15, 123_456, tzinfo=UTC)
MOMENTS = (
    MOMENT,
    MOMENT.replace(microsecond=123_999),
    MOMENT.replace(microsecond=124_000),
    MOMENT.astimezone(timezone(timedelta(hours=8))),
    datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9))),
    datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-9))),
)
NUMBERS = (0, 0.3, 0.1 + 0.2, -1.5, 2**53, 2**53 - 1, -(2**53), 1e308, 5e-324)


def documents() -> list[Prepared]:
    """Rows that differ in everything a filter can ask."""
    texts = [
        prepared(
            f"text {number}",
            f"body {number}",
            edition="1" if number % 2 else "",
            pieces=1,
            metadata={
                "author": text,
                "product": HOSTILE[-number],
                "tags": (text, HOSTILE[number - 1]),
                "license": "" if number % 3 else text,
                "authority": (0.3, 0.1 + 0.2, float(2**53), -1.5)[number % 4],
            },
        )
        for number, text in enumerate(HOSTILE)
    ]
    storable = [one for one in MOMENTS if 1 < one.year < 9999 or one.tzinfo is UTC]
    moments = [
        prepared(
            f"moment {number}",
            f"at {number}",
            pieces=1,
            metadata={"published_at": moment, "updated_at": storable[-number]},
        )
        for number, moment in enumerate(storable)
    ]
    turns = [
        prepared(
            f"turn {number}",
            f"said {number}",
            pieces=1,
            turn=Turn(
                conversation=HOSTILE[number],
                session=HOSTILE[-number],
                ordinal=number,
                speaker="Ann",
                said_at=moment if number % 2 else None,
            ),
        )
        for number, moment in enumerate(storable)
    ]
    return [*texts, *moments, *turns]


def table() -> list[Filter]:
    """Every form of filter over every kind of field, hostile values included."""
    texts: list[Filter] = []
    for name in ("author", "tags", "product", "conversation"):
        texts += [Eq(name, value) for value in HOSTILE]
        texts += [Not(Eq(name, HOSTILE[1])), In(name, HOSTILE[2:7]), Not(In(name, HOSTILE[2:7]))]
    for value in HOSTILE:
        texts += [Range("author", gte=value), Range("author", lt=value), Range("license", lt=value)]
    moments: list[Filter] = []
    for name in ("published_at", "said_at"):
        for moment in MOMENTS:
            moments += [Eq(name, moment), Range(name, gte=moment), Range(name, lt=moment)]
        moments += [In(name, MOMENTS), Not(In(name, MOMENTS[:2]))]
    numbers: list[Filter] = [In("authority", NUMBERS)]
    for number in NUMBERS:
        numbers += [
            Eq("authority", number),
            Range("authority", gte=number),
            Range("authority", lt=number),
        ]
    flags: list[Filter] = [Eq("newest_edition", True), Not(Eq("newest_edition", True))]
    flags += [In("newest_edition", (True, False)), Eq("newest_edition", False)]
    missing: list[Filter] = [Missing(name) for name in FIELDS]
    missing += [Not(Missing(name)) for name in FIELDS]
    nested: list[Filter] = [
        AllOf((Eq("kind", "document"), AnyOf((Eq("author", "it's"), Missing("author"))))),
        Not(AllOf((Missing("author"), Not(Eq("kind", "turn"))))),
        AnyOf((Not(Range("published_at", lt=MOMENT)), Eq("tags", "{}"))),
        In("author", (*(f"nobody {number}" for number in range(9_999)), "case")),
        Range("version_key", gte="0", lt="2"),
        Not(Not(Missing("version_key"))),
        Range("authority", gte=0.3, lt=0.3),
    ]
    return [*texts, *moments, *numbers, *flags, *missing, *nested]


class FiltersContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_listings_agree_with_matches(self, ledger: Ledger) -> None:
        batch = documents()
        await show(ledger, *batch)
        await show(ledger, prepared("foreign", tenant="other", metadata={"author": "plain"}))
        scope = Scope(tenant="acme")
        rows = {
            one.revision.revision_id: matchable_fields(one.revision, newest_edition=True)
            for one in batch
        }
        told = set()
        async with ledger.transaction() as tx:
            for where in table():
                asked = scoped(scope, where)
                expected = {key for key, row in rows.items() if matches(asked, row)}
                page, _ = await tx.documents.page(scope, where=where, after=None, limit=1000)
                assert {one.revision_id for one in page} == expected, where
                told.add(0 < len(expected) < len(rows))
                recent = await tx.documents.recent(scope, where=where, limit=1000)
                dated = {
                    one.chunks[0].chunk_id
                    for one in batch
                    if one.revision.revision_id in expected
                    and any(rows[one.revision.revision_id][name] for name in _DATES)
                }
                assert {chunk for chunk, _ in recent} == dated, where
        assert True in told

    @pytest.mark.parametrize("owner", [None, "ann", "it's"])
    async def test_no_filter_reaches_over_the_wall(self, ledger: Ledger, owner: str | None) -> None:
        await show(
            ledger,
            prepared("shared"),
            prepared("ann", owner="ann"),
            prepared("quoted", owner="it's"),
            prepared("foreign", tenant="other"),
        )
        everything = AnyOf((Eq("tenant", "other"), Not(Eq("tenant", "other"))))
        async with ledger.transaction() as tx:
            scope = Scope(tenant="acme", owner=owner)
            page, _ = await tx.documents.page(scope, where=everything, after=None, limit=9)
        mine = {None: set(), "ann": {"ann"}, "it's": {"quoted"}}[owner]
        assert {one.path for one in page} == {"shared"} | mine


_DATES = ("said_at", "updated_at", "published_at")
