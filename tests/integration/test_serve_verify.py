"""Claims over HTTP, on the reference stores, without Ray."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from serving import (
    TENANT,
    application,
    client_of,
    encode,
    fill,
    make_key,
    memory_stores,
    prepared,
    service_on,
)

from cluster.filters import Filter
from cluster.model import EncodedQuery, Metadata, QuotePolicy, Scope
from cluster.settings import ServeSettings, Settings
from cluster.stores.memory.text_index import MemoryTextIndex
from cluster.stores.protocols import Prepared
from cluster.text.terms import QueryTerm
from serve.api.verify import MAX_CLAIMS

PAGE = """# Tidepool settings

## `retry_limit` <span>since v1.5.0</span>

- Default: `{limit}`
- Range: `[0, 100]`

How often a failed job is tried again.

## Leases

A worker does not keep jobs on disk. The lease of a job lasts 30 seconds.
"""


def page(
    limit: int,
    version: str,
    *,
    path: str = "settings.md",
    source_type: str = "official_doc",
    policy: QuotePolicy = "citable_with_version",
    text: str = PAGE,
) -> Prepared:
    return prepared(
        path,
        text.format(limit=limit),
        edition=version,
        metadata=Metadata(
            title="Tidepool settings",
            language="en",
            product="tidepool",
            product_version=version or None,
            source_type=source_type,
            authority=0.9,
            quote_policy=policy,
        ),
    )


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    stores = memory_stores()
    retold = "# Talk\n\nAccording to Ann, the tide clock rings every 12 hours in the harbour.\n"
    await fill(
        stores,
        [
            page(3, "1.5"),
            page(5, "2.0"),
            page(0, "", path="talk.md", source_type="blog", policy="do_not_quote", text=retold),
        ],
    )
    async with client_of(application(service_on(stores)), await make_key(stores.ledger)) as made:
        yield made


async def checked(client: httpx.AsyncClient, claim: Any, **more: Any) -> dict[str, Any]:
    answer = await client.post("/v1/verify", json={"claims": [claim], **more})
    assert answer.status_code == 200, answer.text
    (result,) = answer.json()["results"]
    assert isinstance(result, dict)
    return result


async def test_a_claim_is_borne_out_by_the_page_of_its_version(client: httpx.AsyncClient) -> None:
    result = await checked(client, "In tidepool 2.0 `retry_limit` defaults to 5.")
    assert (result["verdict"], result["supported"]) == ("supported", True)
    assert (result["primary"], result["second_hand"], result["outdated"]) == (True, False, False)
    (proof,) = result["evidence"]
    citation = proof["citation"]
    assert (proof["text"], citation["version"]) == ("- Default: `5`", "2.0")
    document = await client.get(
        f"/v1/documents/{citation['document_id']}",
        params={"text": "true", "revision": citation["revision_id"]},
    )
    stored = document.json().get("text") or PAGE.format(limit=5)
    assert stored[proof["start"] : proof["end"]] == proof["text"]


async def test_another_version_bears_nothing_out_but_is_named(client: httpx.AsyncClient) -> None:
    result = await checked(client, "In tidepool 2.0 `retry_limit` defaults to 3.")
    assert (result["verdict"], result["supported"]) == ("contradicted", False)
    assert (result["only_in"], result["outdated"]) == (["1.5"], False)
    assert "only in version 1.5" in result["why"]


async def test_what_only_an_older_edition_says_is_outdated(client: httpx.AsyncClient) -> None:
    result = await checked(client, "`retry_limit` defaults to 3.")
    assert (result["supported"], result["outdated"]) == (False, True)
    newest = await checked(client, "`retry_limit` defaults to 5.")
    assert (newest["supported"], newest["outdated"]) == (True, False)


async def test_a_version_that_is_not_there_is_told(client: httpx.AsyncClient) -> None:
    result = await checked(client, {"text": "`retry_limit` defaults to 5.", "version": "3.0"})
    assert (result["verdict"], result["only_in"]) == ("not_found", ["2.0"])
    assert any("3.0" in note for note in result["notes"])


async def test_a_claim_about_two_versions_must_hold_in_both(client: httpx.AsyncClient) -> None:
    both = await checked(
        client, "In tidepool 1.5 and in tidepool 2.0, `retry_limit` is 5 by default"
    )
    assert (both["versions"], both["verdict"]) == (["1.5", "2.0"], "contradicted")
    span = "In tidepool 1.5 and in tidepool 2.0, the maximum of `retry_limit` is 100"
    assert (await checked(client, span))["verdict"] == "supported"


async def test_a_retelling_is_second_hand(client: httpx.AsyncClient) -> None:
    result = await checked(client, "The tide clock rings every 12 hours in the harbour.")
    assert (result["verdict"], result["primary"], result["second_hand"]) == (
        "supported",
        False,
        True,
    )


async def test_a_quote_that_stands_there_is_found_with_its_place(client: httpx.AsyncClient) -> None:
    claim = {
        "text": "In tidepool 2.0 the lease of a job lasts 30 s.",
        "quote": "The lease of a  job lasts\n30 seconds.",
    }
    quote = (await checked(client, claim))["quote"]
    assert (quote["verbatim"], quote["exact"], quote["allowed"]) == (True, True, True)
    assert PAGE.format(limit=5)[quote["start"] : quote["end"]] == (
        "The lease of a job lasts 30 seconds."
    )


async def test_a_wrong_quote_is_told_with_the_nearest_sentence(client: httpx.AsyncClient) -> None:
    claim = {
        "text": "The lease of a job lasts 30 s.",
        "quote": "The lease of a job lasts 40 seconds.",
    }
    quote = (await checked(client, claim))["quote"]
    assert (quote["verbatim"], quote["allowed"]) == (False, False)
    assert quote["nearest"] == "The lease of a job lasts 30 seconds."
    assert quote["differs"] == [["40", "30"]]


async def test_a_quote_without_its_version_is_not_allowed(client: httpx.AsyncClient) -> None:
    claim = {
        "text": "A worker does not keep jobs on disk.",
        "quote": "A worker does not keep jobs on disk.",
    }
    quote = (await checked(client, claim))["quote"]
    assert (quote["verbatim"], quote["allowed"]) == (True, False)
    assert "2.0" in quote["reason"]


async def test_a_source_that_must_not_be_quoted_is_not(client: httpx.AsyncClient) -> None:
    words = "the tide clock rings every 12 hours"
    quote = (await checked(client, {"text": f"In the harbour {words}.", "quote": words}))["quote"]
    assert (quote["verbatim"], quote["allowed"]) == (True, False)
    assert "does not allow quotes" in quote["reason"]


async def test_a_text_is_split_into_its_claims(client: httpx.AsyncClient) -> None:
    text = "In tidepool 2.0 `retry_limit` defaults to 5. A worker keeps jobs on disk. Really?"
    answer = await client.post("/v1/verify", json={"text": text})
    results = answer.json()["results"]
    assert [each["verdict"] for each in results] == ["supported", "contradicted"]
    assert answer.json()["counts"] == {"supported": 1, "contradicted": 1}


class SlowWords(MemoryTextIndex):
    """The reference index that answers late."""

    takes_s: float

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        await asyncio.sleep(self.takes_s)
        return await super().search(terms, scope=scope, where=where, limit=limit)


async def test_a_check_waits_longer_for_a_channel_than_a_question_does() -> None:
    words = SlowWords()
    words.takes_s = 0.2
    stores = replace(memory_stores(), text_index=words)
    await fill(stores, [page(5, "2.0")])
    hasty = Settings(serve=ServeSettings(channel_deadline_s=0.05))
    claim = "In tidepool 2.0 `retry_limit` defaults to 5."
    async with client_of(
        application(service_on(stores, hasty)), await make_key(stores.ledger)
    ) as client:
        assert (await checked(client, claim))["verdict"] == "supported"
        words.takes_s = 30.0
        body = {"claims": [claim.replace("retry_limit", "retry_pace")], "deadline_ms": 1200}
        (result,) = (await client.post("/v1/verify", json=body)).json()["results"]
    assert result["verdict"] == "unchecked"
    assert "keyword gave nothing" in result["why"]


async def test_what_there_is_no_time_for_is_unchecked_and_says_so() -> None:
    stores = memory_stores()
    await fill(stores, [page(5, "2.0")])

    async def slow(question: str, language: str) -> EncodedQuery:
        await asyncio.sleep(0.4)
        return await encode(question, language)

    service = service_on(stores, encoder=slow)
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        claims = [f"In tidepool 2.0 `retry_limit` defaults to {n}." for n in range(40)]
        answer = await client.post("/v1/verify", json={"claims": claims, "deadline_ms": 1500})
    results = answer.json()["results"]
    assert len(results) == len(claims)
    unchecked = [each for each in results if each["verdict"] == "unchecked"]
    assert unchecked
    assert all(each["why"] and not each["supported"] for each in unchecked)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"claims": []},
        {"claims": ["x"], "text": "x"},
        {"claims": ["  "]},
        {"claims": ["x y"] * (MAX_CLAIMS + 1)},
        {"claims": [{"text": "x", "verdict": "supported"}]},
        {"text": "Is it so?"},
        {"claims": ["x y"], "version": " "},
    ],
)
async def test_what_cannot_be_checked_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    answer = await client.post("/v1/verify", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_key_sees_only_its_own_tenant(client: httpx.AsyncClient) -> None:
    stores = memory_stores()
    await fill(stores, [page(5, "2.0")])
    secret = await make_key(stores.ledger, tenant="other")
    assert TENANT != "other"
    async with client_of(application(service_on(stores)), secret) as stranger:
        result = await checked(stranger, "In tidepool 2.0 `retry_limit` defaults to 5.")
    assert (result["verdict"], result["evidence"]) == ("not_found", [])
