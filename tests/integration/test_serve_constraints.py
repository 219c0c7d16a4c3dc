"""What a question demands of its passages, over HTTP on the reference stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from serving import application, client_of, fill, make_key, memory_stores, prepared, service_on

from cluster.model import Metadata


def page(path: str, text: str, **about: Any) -> Any:
    return prepared(path, text, metadata=Metadata(title=path, **{"language": "en", **about}))


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    stores = memory_stores()
    await fill(
        stores,
        [
            page("tokens.md", "Access tokens last 30 minutes.", source_type="official_doc"),
            page("changes.md", "Access tokens last 30 minutes now.", source_type="changelog"),
            page(
                "blog.md", "Access tokens of a blog last.", source_type="blog", author="Mira Chen"
            ),
            page(
                "tokens.zh.md", "访问令牌的有效期为三十分钟。", source_type="forum", language="zh"
            ),
        ],
    )
    secret = await make_key(stores.ledger)
    async with client_of(application(service_on(stores)), secret) as made:
        yield made


async def ask(client: httpx.AsyncClient, query: str) -> tuple[set[str], list[str]]:
    """Paths and notes."""
    response = await client.post("/v1/search", json={"query": query})
    assert response.status_code == 200, response.text
    body = response.json()
    return {each["citation"]["path"] for each in body["results"]}, body["notes"]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("only official docs: access tokens", {"tokens.md"}),
        ("access tokens, according to the changelog", {"changes.md"}),
        ("只看中文资料，访问令牌 access tokens", {"tokens.zh.md"}),
        ("blog posts by Mira Chen on access tokens", {"blog.md"}),
        ("access tokens? No blog posts", {"tokens.md", "changes.md", "tokens.zh.md"}),
    ],
)
async def test_only_what_is_demanded_is_shown(
    client: httpx.AsyncClient, query: str, paths: set[str]
) -> None:
    found, notes = await ask(client, query)
    assert found <= paths
    assert found
    assert any(": only what is " in note for note in notes)


async def test_a_mention_of_what_is_not_there_is_said_and_everything_is_looked_at(
    client: httpx.AsyncClient,
) -> None:
    found, notes = await ask(client, "posts by Noor Haddad about access tokens")
    assert "blog.md" in found
    assert notes == ["'posts by Noor Haddad': nothing here is by Noor Haddad; looked at everything"]


async def test_a_demand_that_leaves_nothing_is_said(client: httpx.AsyncClient) -> None:
    found, notes = await ask(client, "only papers: access tokens")
    assert found == set()
    assert (
        "nothing here is from papers; leave that out of the question to look at everything" in notes
    )


async def test_what_stands_there_as_it_is_written_is_a_reason(client: httpx.AsyncClient) -> None:
    body = {"query": "which page says “access tokens last 30 minutes now”"}
    first, *rest = (await client.post("/v1/search", json=body)).json()["results"]
    assert first["citation"]["path"] == "changes.md"
    assert first["reasons"]["verbatim"] == ["access tokens last 30 minutes now"]
    assert first["reasons"]["bonuses"]["verbatim"] == pytest.approx(0.05)
    assert rest
    assert all(each["reasons"]["verbatim"] == [] for each in rest)
