"""What a proxy before Elasticsearch, or a server in trouble, answers in place of what was asked."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from serving import prepared

from fault.houses import ANSWER, House, Surroundings, house_of
from fault.waiting import AWAY_S, BACK_WITHIN_S, found_by, held, put, until, whole_or_hidden
from servers.http_proxy import Answered, Asked, HttpProxy, Instead, answer, http_proxy

pytestmark = [pytest.mark.stores, pytest.mark.slow]

DEADLINE_S = 2.5
WITHOUT_A_WORD = "<html>Try again later</html>"


def always(status: int) -> Instead:
    """For searches and writes alike, in the form that gateways have."""

    def instead(asked: Asked) -> Answered | None:
        if _is(asked, "_search") or _is(asked, "_bulk"):
            headers = {"Content-Type": "text/html", "X-Elastic-Product": "Elasticsearch"}
            return Answered(status=status, headers=headers, body=WITHOUT_A_WORD.encode())
        return None

    return instead


def failed_items(asked: Asked) -> Answered | None:
    """Accepted as a whole, refused one by one."""
    if not _is(asked, "_bulk"):
        return None
    error = {"type": "es_rejected_execution_exception", "reason": "the queue is full"}
    items = [
        {next(iter(line)): {"_id": "x", "status": 429, "error": error}}
        for line in asked.lines
        if set(line) <= {"index", "delete", "create"}
    ]
    return answer(200, {"took": 1, "errors": True, "items": items})


INSTEAD: dict[str, Instead] = {
    "429": always(429),
    "413": always(413),
    "503": always(503),
    "200 with failed items": failed_items,
}


@pytest.mark.parametrize("status", ["429", "413", "503"])
async def test_an_answer_is_partial_and_in_time(servers: Surroundings, status: str) -> None:
    async with (
        http_proxy(str(servers.direct.elasticsearch)) as proxy,
        behind(servers, proxy) as house,
    ):
        assert (await house.answer())["failures"] == []
        proxy.instead = INSTEAD[status]
        began = time.monotonic()
        found = await house.answer()
        assert time.monotonic() - began < DEADLINE_S
        assert [each["channel"] for each in found["failures"]] == ["keyword"]
        assert found["results"][0]["text"] == ANSWER
        proxy.instead = nothing_instead
        await house.whole_again(within_s=BACK_WITHIN_S)


@pytest.mark.parametrize("kind", INSTEAD)
async def test_no_write_is_lost_or_shown_by_half(servers: Surroundings, kind: str) -> None:
    number = list(INSTEAD).index(kind)
    page = prepared(f"http-{number}.md", f"Lamp H{number}X shines at sea.")
    async with (
        http_proxy(str(servers.direct.elasticsearch)) as proxy,
        behind(servers, proxy) as house,
        house.indexing(),
    ):
        proxy.instead = INSTEAD[kind]
        await put(house.stores.ledger, page)
        await whole_or_hidden(house, page, for_s=AWAY_S)
        assert proxy.to("_bulk"), "nothing was written through the proxy"
        assert not await found_by(house, page)
        proxy.instead = nothing_instead
        await until(lambda: found_by(house, page), within_s=BACK_WITHIN_S)
        assert await held(servers, page) == [True, True]


def behind(around: Surroundings, proxy: HttpProxy) -> AbstractAsyncContextManager[House]:
    addresses = replace(around.behind, elasticsearch=proxy.url)
    return house_of(replace(around, behind=addresses))


def nothing_instead(_: Asked) -> Answered | None:
    return None


def _is(asked: Asked, ending: str) -> bool:
    return asked.path.split("?")[0].endswith(ending)
