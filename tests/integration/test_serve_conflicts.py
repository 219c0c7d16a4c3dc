"""Passages of one answer that contradict each other, over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from serving import application, client_of, fill, make_key, memory_stores, prepared, service_on

from cluster.model import Metadata
from cluster.stores.protocols import Prepared

QUESTION = "How many lamps does the old harbour of Ostmark have along its quay?"
TEXT = (
    "The old harbour of Ostmark was rebuilt after the great storm of the last century and has "
    "{lamps} lamps along its quay, which the keepers light at dusk.\n"
)


def told(path: str, lamps: int, *, authority: float, year: int | None = None) -> Prepared:
    published = datetime(year, 1, 1, tzinfo=UTC) if year else None
    about = Metadata(title=path, language="en", authority=authority, published_at=published)
    return prepared(path, TEXT.format(lamps=lamps), metadata=about)


async def answer(*documents: Prepared) -> list[dict[str, Any]]:
    stores = memory_stores()
    await fill(stores, documents)
    async with client_of(application(service_on(stores)), await make_key(stores.ledger)) as client:
        found = await client.post("/v1/search", json={"query": QUESTION})
    results = found.json()["results"]
    assert isinstance(results, list)
    return results


@pytest.mark.parametrize("better", [340, 290])
async def test_both_versions_are_shown_and_the_trusted_one_goes_first(better: int) -> None:
    results = await answer(
        told("a.md", 340, authority=0.9 if better == 340 else 0.3, year=2020),
        told("b.md", 290, authority=0.9 if better == 290 else 0.3, year=2020),
    )
    first, second = results
    assert [each["rank"] for each in results] == [1, 2]
    assert str(better) in first["text"]
    assert first["conflicts_with"][0] | {"chunk_id": ""} == {
        "rank": 2,
        "chunk_id": "",
        "mine": str(better),
        "theirs": str(630 - better),
        "standing": "wins",
        "by": "authority",
    }
    assert second["conflicts_with"][0]["standing"] == "loses"
    assert first["also_in"] == second["also_in"] == []


@pytest.mark.parametrize("newer", [340, 290])
async def test_of_equal_authority_the_later_goes_first(newer: int) -> None:
    first, second = await answer(
        told("a.md", 340, authority=0.5, year=2024 if newer == 340 else 2019),
        told("b.md", 290, authority=0.5, year=2024 if newer == 290 else 2019),
    )
    assert str(newer) in first["text"]
    assert (first["conflicts_with"][0]["by"], second["conflicts_with"][0]["standing"]) == (
        "date",
        "loses",
    )


async def test_without_anything_known_both_are_shown_and_it_stays_open() -> None:
    results = await answer(told("a.md", 340, authority=0.0), told("b.md", 290, authority=0.0))
    assert {each["conflicts_with"][0]["standing"] for each in results} == {"open"}
    assert {each["conflicts_with"][0]["by"] for each in results} == {None}


async def test_passages_that_agree_have_no_conflict() -> None:
    results = await answer(told("a.md", 340, authority=0.9))
    assert [each["conflicts_with"] for each in results] == [[]]
