"""Channels that go by names, times, sessions and neighbours, and kinds with budgets, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from serving import (
    NOW,
    application,
    client_of,
    encode,
    fill,
    make_key,
    memory_stores,
    prepared,
    service_on,
)

from cluster.errors import StoreUnavailable
from cluster.model import EncodedQuery, Metadata, Turn
from cluster.stores.open import Stores
from cluster.stores.protocols import Prepared

MAY = datetime(2024, 5, 10, 9, tzinfo=UTC)


def headed(path: str, text: str, heading: str, **more: Any) -> Prepared:
    made = prepared(path, text, **more)
    chunks = tuple(replace(chunk, heading_path=("Variables", heading)) for chunk in made.chunks)
    return replace(made, chunks=chunks)


def said(ordinal: int, text: str, *, session: str = "s1", at: datetime | None = None) -> Prepared:
    turn = Turn(
        conversation="talk",
        session=session,
        ordinal=ordinal,
        speaker="ann",
        said_at=at or NOW - timedelta(days=90, minutes=-ordinal),
    )
    return prepared(f"talk/{session}/{ordinal}", text, turn=turn)


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    await fill(
        made,
        [
            headed("vars.md", "Scope: global. Default: 1024.", "max_chunk_size New in v2"),
            headed("misc.md", "Raise max_chunk_size and max_chunk_size_limit with care.", "Advice"),
            prepared(
                "dream.md",
                "Of the garden and those who walk in it.",
                metadata=Metadata(title="红楼梦", language="zh"),
            ),
            prepared(
                "note.md",
                "We moved the harvest to the barn.",
                metadata=Metadata(title="note", language="en", published_at=MAY),
            ),
            prepared(
                "later.md",
                "We moved the harvest, the harvest and again the harvest.",
                metadata=Metadata(title="later", language="en", published_at=NOW),
            ),
            said(0, "What shall we bring to the picnic on the lake?"),
            said(1, "Lemonade, and the blue blanket."),
            said(2, "Fine, I am looking forward to it."),
            said(0, "The picnic was cold.", session="s2"),
        ],
    )
    return made


@pytest.fixture
async def client(stores: Stores) -> AsyncIterator[httpx.AsyncClient]:
    key = await make_key(stores.ledger)
    async with client_of(application(service_on(stores)), key) as made:
        yield made


async def ask(client: httpx.AsyncClient, query: str, **more: Any) -> Any:
    body = {"query": query, "explain": True, **more}
    answer = await client.post("/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def asked(found: Any) -> list[str]:
    return [channel["name"] for channel in found["explanation"]["plan"]["channels"]]


def by(found: Any, channel: str) -> list[str]:
    """Texts of the results that a channel has found, best hit of it first."""
    hits = [
        (hit["rank"], one["text"])
        for one in found["results"]
        for hit in one["reasons"]["channels"]
        if hit["channel"] == channel
    ]
    return [text for _, text in sorted(hits)]


async def test_an_identifier_finds_the_passage_under_its_heading(client: httpx.AsyncClient) -> None:
    found = await ask(client, "What is the default of `max_chunk_size`?")
    assert "facts" in asked(found)
    assert by(found, "facts") == ["Scope: global. Default: 1024."]


async def test_a_title_finds_its_document(client: httpx.AsyncClient) -> None:
    found = await ask(client, "Who walks in the garden of 《红楼梦》?")
    assert by(found, "facts") == ["Of the garden and those who walk in it."]


@pytest.mark.parametrize("query", ["Who walks in the garden?", "harvest", "哪里有花园？"])
async def test_without_names_times_or_sessions_only_the_usual_two_are_asked(
    client: httpx.AsyncClient, query: str
) -> None:
    assert asked(await ask(client, query)) == ["semantic", "keyword"]


async def test_a_time_finds_the_best_of_it_by_words(client: httpx.AsyncClient) -> None:
    found = await ask(client, "Where did we move the harvest in May 2024?")
    assert "time_range" in asked(found)
    assert by(found, "time_range") == ["We moved the harvest to the barn."]


async def test_a_time_without_words_lists_what_is_in_it(client: httpx.AsyncClient) -> None:
    found = await ask(client, "2024年5月10日", channels=["time_range"])
    assert [one["text"] for one in found["results"]] == ["We moved the harvest to the barn."]


async def test_a_session_gives_its_last_turns(client: httpx.AsyncClient) -> None:
    found = await ask(client, "And then?", filter={"session": "s1"}, channels=["session"])
    assert by(found, "session") == [
        "Fine, I am looking forward to it.",
        "Lemonade, and the blue blanket.",
        "What shall we bring to the picnic on the lake?",
    ]


async def test_neighbours_follow_what_was_found(client: httpx.AsyncClient) -> None:
    question = {"filter": {"kind": "turn"}, "channels": ["keyword", "neighbours"]}
    found = await ask(client, "What did we bring to the picnic on the lake?", **question)
    rankings = found["explanation"]["rankings"]
    assert set(rankings["neighbours"]).isdisjoint(rankings["keyword"])
    assert "Lemonade, and the blue blanket." in by(found, "neighbours")
    alone = await client.post("/v1/search", json={"query": "x", "channels": ["neighbours"]})
    assert alone.status_code == 422


async def test_filters_mean_the_same_in_every_channel(client: httpx.AsyncClient) -> None:
    query = "`max_chunk_size` in May 2024 in 《红楼梦》"
    found = await ask(client, query, filter={"source": "elsewhere"})
    assert {*asked(found)} >= {"facts", "time_range"}
    assert found["results"] == []
    assert all(ids == [] for ids in found["explanation"]["rankings"].values())
    wrong = await client.post("/v1/search", json={"query": query, "filter": {"sourse": "x"}})
    assert wrong.status_code == 422


async def test_other_tenants_see_nothing_by_name_or_time(stores: Stores) -> None:
    key = await make_key(stores.ledger, tenant="globex")
    async with client_of(application(service_on(stores)), key) as client:
        found = await ask(client, "`max_chunk_size` in May 2024 in 《红楼梦》")
    assert all(ids == [] for ids in found["explanation"]["rankings"].values())


async def test_a_failed_fact_look_up_is_named_and_the_others_answer(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("ledger", "no look-ups today")

    monkeypatch.setattr("cluster.stores.memory.lookups.MemoryLookups.headed", broken)
    async with client_of(application(service_on(stores)), await make_key(stores.ledger)) as client:
        found = await ask(client, "What is the default of `max_chunk_size`?")
    assert [one["channel"] for one in found["failures"]] == ["facts"]
    assert found["results"]


async def test_a_plan_with_new_channels_replays_to_the_same_answer(
    client: httpx.AsyncClient,
) -> None:
    question = "Where is `max_chunk_size` in May 2024?"
    first = await ask(client, question, budgets={"document": 2, "turn": 1})
    again = await client.post(
        "/v1/search", json={"plan": first["explanation"]["plan"], "explain": True}
    )
    assert again.json()["results"] == first["results"]
    assert again.json()["explanation"] == first["explanation"]


async def test_kinds_choose_and_budgets_bound_each_of_them(client: httpx.AsyncClient) -> None:
    query = "picnic harvest lake barn"
    turns = await ask(client, query, kinds=["turn"])
    assert {one["citation"]["kind"] for one in turns["results"]} == {"turn"}
    both = await ask(client, query, budgets={"document": 1, "turn": 2})
    kinds = [one["citation"]["kind"] for one in both["results"]]
    assert (kinds.count("document"), kinds.count("turn")) == (1, 2)
    scores = [one["score"] for one in both["results"]]
    assert scores == sorted(scores, reverse=True)
    one = await ask(client, query, budgets={"turn": 1})
    assert [each["citation"]["kind"] for each in one["results"]] == ["turn"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": []},
        {"kinds": ["memory"]},
        {"budgets": {}},
        {"budgets": {"document": 0}},
        {"budgets": {"document": 5}, "top_k": 5},
        {"kinds": ["turn"], "budgets": {"document": 5}},
    ],
)
async def test_wrong_kinds_and_budgets_are_refused(client: httpx.AsyncClient, wrong: Any) -> None:
    answer = await client.post("/v1/search", json={"query": "picnic", **wrong})
    assert answer.status_code == 422


async def test_many_turns_do_not_crowd_out_a_document(stores: Stores) -> None:
    """Without budgets a hundred turns with the same words fill every list."""
    await fill(stores, [said(at, f"Harvest moon number {at}.", session="s3") for at in range(120)])
    await fill(stores, [prepared("moon.md", "A harvest moon rises early; see also the tables.")])
    calls: list[str] = []

    async def counted(question: str, language: str) -> EncodedQuery:
        calls.append(question)
        return await encode(question, language)

    service = service_on(stores, encoder=counted)
    async with client_of(application(service), await make_key(stores.ledger)) as client:
        found = await ask(client, "harvest moon number", budgets={"document": 2, "turn": 3})
    kinds = [one["citation"]["kind"] for one in found["results"]]
    assert (kinds.count("document"), kinds.count("turn")) == (2, 3)
    assert len(calls) == 1
