"""A store that is gone, slow or silent: answers come in time, and say what they lack."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from fault.houses import ANSWER, House, Surroundings, house_of
from fault.tcp_proxy import Manner
from serve.service import KEY_TTL_S

pytestmark = [pytest.mark.stores, pytest.mark.slow]

DEADLINE_S = 2.0
SPARE_S = 0.5
"""What a busy test machine may add to it."""

BACK_WITHIN_S = 15.0
MANNERS: tuple[Manner, ...] = ("drop", "refuse", "stall", "slow", "half")
OF_ITS_OWN_TIME = "copies"
"""The look for copies asks PostgreSQL within a third of a second, which a busy machine may take
away whatever else is broken; the answer then says so, as it should."""
CHANNEL = {"milvus": "semantic", "elasticsearch": "keyword"}


@pytest.mark.parametrize("manner", MANNERS)
async def test_an_answer_without_the_vectors_is_partial(
    embedded: Surroundings, manner: Manner
) -> None:
    await partial_answers(embedded, "milvus", manner)


@pytest.mark.parametrize("manner", MANNERS)
async def test_without_the_ledger_nothing_is_shown(embedded: Surroundings, manner: Manner) -> None:
    await no_answers(embedded, manner)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("store", ["milvus", "elasticsearch"])
async def test_an_answer_without_a_server_is_partial(
    servers: Surroundings, store: str, manner: Manner
) -> None:
    await partial_answers(servers, store, manner)


async def partial_answers(around: Surroundings, store: str, manner: Manner) -> None:
    async with house_of(around) as house:
        assert (await house.answer())["failures"] == []
        around.proxies[store].set(manner)
        for _ in range(3):
            began = time.monotonic()
            found = await house.answer()
            assert time.monotonic() - began < DEADLINE_S + SPARE_S
            failed = [each["channel"] for each in found["failures"]]
            failed = [each for each in failed if each != OF_ITS_OWN_TIME]
            assert failed == [CHANNEL[store]] or (manner == "slow" and not failed)
            assert found["results"][0]["text"] == ANSWER
        around.proxies[store].set("pass")
        again = await house.whole_again(within_s=BACK_WITHIN_S)
        assert again["results"][0]["text"] == ANSWER


async def no_answers(around: Surroundings, manner: Manner) -> None:
    async with house_of(around) as house:
        assert (await house.answer())["failures"] == []
        around.proxies["postgres"].set(manner)
        await refused_in_time(house, manner)
        # By now the key that came with the request has to be looked up anew, too.
        await asyncio.sleep(KEY_TTL_S)
        await refused_in_time(house, manner)
        around.proxies["postgres"].set("pass")
        again = await house.whole_again(within_s=BACK_WITHIN_S)
        assert again["results"][0]["text"] == ANSWER


async def refused_in_time(house: House, manner: Manner) -> None:
    began = time.monotonic()
    found = await house.ask()
    assert time.monotonic() - began < DEADLINE_S + SPARE_S, found.text
    if found.status_code == 200:
        assert manner == "slow"
        return
    assert found.status_code in (503, 504), found.text
    assert found.headers["content-type"] == "application/problem+json"
    assert ANSWER not in found.text
    if found.status_code == 503:
        assert re.search("postgres|ledger", found.json()["detail"])
