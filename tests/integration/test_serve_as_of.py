"""Which edition answered at a moment of the past?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from serving import application, client_of, fill, make_key, memory_stores, prepared, service_on

from cluster.model import Metadata


def edition(version: str, year: int, text: str) -> Any:
    about = Metadata(
        title="Models",
        language="en",
        product="harbour",
        product_version=version,
        published_at=datetime(year, 6, 1, tzinfo=UTC),
    )
    return prepared("models.md", text, edition=version, metadata=about)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """1.10 was mended after 2.0 had come out, so the order of dates is not that of versions."""
    stores = memory_stores()
    await fill(
        stores,
        [
            edition("1.9", 2021, "Validate models with parse_obj."),
            edition("2.0", 2023, "Validate models with model_validate."),
            edition("1.10", 2024, "Validate models with parse_obj still."),
        ],
    )
    secret = await make_key(stores.ledger)
    async with client_of(application(service_on(stores)), secret) as made:
        yield made


@pytest.mark.parametrize(
    ("body", "versions"),
    [
        ({"query": "validate models"}, ["2.0"]),
        ({"query": "validate models", "as_of": "2022-01-01T00:00:00Z"}, ["1.9"]),
        ({"query": "validate models", "as_of": "2025-01-01T00:00:00Z"}, ["2.0"]),
        ({"query": "docs on how to validate models as of March 2022"}, ["1.9"]),
        ({"query": "docs on how to validate models as of March 2025"}, ["2.0"]),
        ({"query": "validate models in Harbour 1.10"}, ["1.10"]),
        ({"query": "validate models since Harbour v1.10"}, ["2.0", "1.10"]),
        ({"query": "validate models before Harbour v1.10"}, ["1.9"]),
        ({"query": "validate models", "as_of": "2020-01-01T00:00:00Z"}, []),
    ],
)
async def test_the_edition_of_then_answers(
    client: httpx.AsyncClient, body: dict[str, Any], versions: list[str]
) -> None:
    response = await client.post("/v1/search", json=body)
    assert response.status_code == 200, response.text
    found = [each["citation"]["version"] for each in response.json()["results"]]
    assert sorted(found) == sorted(versions)


async def test_a_moment_that_no_calendar_holds_is_refused(client: httpx.AsyncClient) -> None:
    body = {"query": "validate models", "as_of": "0001-01-01T00:00:00+08:00"}
    response = await client.post("/v1/search", json=body)
    assert response.status_code == 422
    assert "as_of: before the year 1" in response.json()["detail"]


def page(path: str, version: str, text: str, language: str = "en") -> Any:
    about = Metadata(title=path, language=language, product="harbour", product_version=version)
    return prepared(path, text, edition=version, metadata=about)


async def test_a_page_that_the_newest_edition_has_no_more_is_left_out_and_said() -> None:
    stores = memory_stores()
    await fill(
        stores,
        [
            page("validators.md", "1.0", "Validators are made with validator."),
            page("concepts/validators.md", "2.0", "Validators are made with field_validator."),
            page("yanzheng.md", "1.0", "验证器 validators 用 validator。", language="zh"),
            prepared("notes.md", "Validators in our notes."),
        ],
    )
    secret = await make_key(stores.ledger)
    async with client_of(application(service_on(stores)), secret) as client:
        newest = (await client.post("/v1/search", json={"query": "validators"})).json()
        former = await client.post("/v1/search", json={"query": "validators in Harbour v1.0"})
    assert {each["citation"]["path"] for each in newest["results"]} == {
        "concepts/validators.md",
        "yanzheng.md",
        "notes.md",
    }
    assert newest["notes"] == [
        "pages that only harbour 1.0 has are left out; name the version to see them"
    ]
    paths = {each["citation"]["path"] for each in former.json()["results"]}
    assert paths == {"validators.md", "yanzheng.md"}
    assert former.json()["notes"] == []
