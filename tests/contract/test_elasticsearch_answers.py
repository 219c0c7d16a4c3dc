"""What Elasticsearch, or what stands before it, may answer: every item is looked at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from cluster.errors import StoreError, StoreRejected, StoreUnavailable
from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from contract.text_index import ACME, asked, ids, row, scanned
from servers.elasticsearch_index import new_settings, removed
from servers.http_proxy import Answered, Asked, HttpProxy, answer, http_proxy

pytestmark = pytest.mark.stores

REJECTED = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
OVERLOADED = {"error": {**REJECTED, "root_cause": [REJECTED]}, "status": 429}


@pytest.fixture
async def proxy(elasticsearch_url: str) -> AsyncIterator[HttpProxy]:
    async with http_proxy(elasticsearch_url) as proxy:
        yield proxy


@pytest.fixture
async def settings(proxy: HttpProxy, elasticsearch_url: str) -> AsyncIterator[TextIndexSettings]:
    settings = new_settings(proxy.url, timeout_s=3.0)
    yield settings
    await removed(settings.model_copy(update={"url": elasticsearch_url}))


@pytest.fixture
async def index(settings: TextIndexSettings) -> AsyncIterator[ElasticsearchTextIndex]:
    index = await ElasticsearchTextIndex.open(settings)
    yield index
    await index.close()


class Refusal:
    """The rows `names` do not reach the server in the first `times` bulks that have them; the
    answer, HTTP 200, says why not."""

    def __init__(self, proxy: HttpProxy, names: set[str], status: int, *, times: int) -> None:
        self._left = dict.fromkeys(names, times)
        self._status = status
        self._held: dict[int, str] = {}
        proxy.sent, proxy.changed = self._without, self._with

    def _without(self, asked: Asked) -> Asked:
        if "_bulk" not in asked.path:
            return asked
        pairs = list(zip(asked.lines[::2], asked.lines[1::2], strict=True))
        self._held = {}
        for place, (action, _) in enumerate(pairs):
            name = action["index"]["_id"]
            if self._left.get(name, 0):
                self._left[name] -= 1
                self._held[place] = name
        kept = [
            line for place, pair in enumerate(pairs) if place not in self._held for line in pair
        ]
        body = "".join(json.dumps(line) + "\n" for line in kept).encode()
        return replace(asked, body=body)

    def _with(self, asked: Asked, answered: Answered) -> Answered:
        if "_bulk" not in asked.path or not self._held:
            return answered
        items = answered.json["items"] if answered.status == 200 else []
        error = {"type": "some_exception", "reason": "a reason"}
        for place, name in sorted(self._held.items()):
            items.insert(place, {"index": {"_id": name, "status": self._status, "error": error}})
        return answer(200, {"took": 1, "errors": True, "items": items})


def bulks(proxy: HttpProxy) -> list[list[str]]:
    return [[line["index"]["_id"] for line in one.lines[::2]] for one in proxy.to("_bulk")]


@pytest.mark.parametrize("status", [429, 503])
async def test_only_rejected_items_are_sent_again(
    index: ElasticsearchTextIndex, proxy: HttpProxy, status: int
) -> None:
    Refusal(proxy, {"c2", "c4"}, status, times=2)
    await index.upsert([row(f"c{n}", version=n) for n in range(1, 6)])
    assert bulks(proxy) == [["c1", "c2", "c3", "c4", "c5"], ["c2", "c4"], ["c2", "c4"]]
    assert await scanned(index) == {f"c{n}": n for n in range(1, 6)}


async def test_items_that_stay_rejected_are_told_in_time(
    index: ElasticsearchTextIndex, proxy: HttpProxy
) -> None:
    Refusal(proxy, {"c2"}, 429, times=1000)
    clock = asyncio.get_running_loop().time
    started = clock()
    with pytest.raises(
        StoreUnavailable, match=r"1 rows not written in 3 s, e\.g\. chunk c2.*a reason"
    ):
        await index.upsert([row("c1"), row("c2")])
    assert 1.0 < clock() - started < 4.0
    assert len(bulks(proxy)) < 10


async def test_refused_item_is_named_and_the_others_are_written(
    index: ElasticsearchTextIndex, proxy: HttpProxy
) -> None:
    Refusal(proxy, {"c2"}, 400, times=1000)
    with pytest.raises(StoreRejected, match=r"chunk c2: .*a reason"):
        await index.upsert([row("c1"), row("c2"), row("c3")])
    assert await ids(index) == ["c1", "c3"]


@pytest.mark.parametrize("ending", ["_bulk", "_refresh"])
@pytest.mark.parametrize("status", [401, 403, 200])
async def test_refused_login_says_nothing_against_a_row(
    index: ElasticsearchTextIndex, proxy: HttpProxy, status: int, ending: str
) -> None:
    """A row that is refused is set aside in the end; here none is to blame."""
    page = Answered(status=status, headers={"Content-Type": "text/html"}, body=b"log in")
    proxy.instead = lambda asked: page if ending in asked.path else None
    with pytest.raises(StoreUnavailable):
        await index.upsert([row("c1")])
    proxy.instead = lambda _: None
    await index.upsert([row("c1")])
    assert await ids(index) == ["c1"]


async def test_lost_item_answers_are_no_success(
    index: ElasticsearchTextIndex, proxy: HttpProxy
) -> None:
    proxy.changed = lambda asked, answered: (
        answer(200, {"errors": False, "items": answered.json["items"][:1]})
        if "_bulk" in asked.path
        else answered
    )
    with pytest.raises(StoreUnavailable, match="1 answers to 2 rows"):
        await index.upsert([row("c1"), row("c2")])


async def test_refresh_that_failed_is_no_success(
    index: ElasticsearchTextIndex, proxy: HttpProxy
) -> None:
    failed = {"_shards": {"total": 2, "successful": 1, "failed": 1}}
    proxy.instead = lambda asked: answer(200, failed) if "_refresh" in asked.path else None
    with pytest.raises(StoreUnavailable, match="refresh"):
        await index.upsert([row("c1")])


async def test_too_large_a_batch_is_halved(index: ElasticsearchTextIndex, proxy: HttpProxy) -> None:
    proxy.instead = lambda asked: answer(413, "too large") if len(asked.body) > 5000 else None
    await index.upsert([row(f"c{n:02d}") for n in range(40)])
    assert len(await ids(index)) == 40
    with pytest.raises(StoreRejected, match=r"chunk big: .*413"):
        await index.upsert([row("c1"), row("big", "x" * 90 + " y" * 5000), row("c99")])
    assert len(await ids(index)) == 42


async def test_busy_server_is_asked_again(index: ElasticsearchTextIndex, proxy: HttpProxy) -> None:
    answers = iter([429, 503])

    def instead(asked: Asked) -> Answered | None:
        status = next(answers, None) if "_bulk" in asked.path else None
        return answer(status, OVERLOADED) if status else None

    proxy.instead = instead
    await index.upsert([row("c1")])
    assert await ids(index) == ["c1"]
    assert len(proxy.to("_bulk")) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, StoreUnavailable),
        (503, StoreUnavailable),
        (502, StoreUnavailable),
        (500, StoreUnavailable),
        (408, StoreUnavailable),
        (400, StoreRejected),
        (401, StoreRejected),
        (403, StoreRejected),
        (413, StoreRejected),
    ],
)
async def test_error_of_a_search_is_no_empty_answer(
    index: ElasticsearchTextIndex, proxy: HttpProxy, status: int, kind: type[StoreError]
) -> None:
    await index.upsert([row("c1")])
    proxy.instead = lambda asked: answer(status, OVERLOADED) if "_search" in asked.path else None
    with pytest.raises(kind, match=f"search.*{REJECTED['reason']}"):
        await ids(index)
    proxy.instead = lambda _: None
    assert await ids(index) == ["c1"]


async def test_page_of_a_proxy_is_told_short(
    index: ElasticsearchTextIndex, proxy: HttpProxy
) -> None:
    page = Answered(status=502, headers={"Content-Type": "text/html"}, body=b"<p>\nBad</p>" * 200)
    proxy.instead = lambda _: page
    with pytest.raises(StoreUnavailable, match="search") as caught:
        await ids(index)
    assert len(str(caught.value)) < 400


async def test_another_product_and_another_version_are_refused(
    settings: TextIndexSettings, proxy: HttpProxy
) -> None:
    plain = {"Content-Type": "application/json"}
    proxy.instead = lambda _: Answered(status=200, headers=plain, body=b"{}")
    with pytest.raises(StoreRejected, match="not Elasticsearch"):
        await ElasticsearchTextIndex.open(settings)
    proxy.instead = lambda _: answer(200, {"nodes": {"a": {"version": "8.19.3"}}})
    with pytest.raises(StoreRejected, match=r"8\.19\.3; version 9 is needed"):
        await ElasticsearchTextIndex.open(settings)
    error = {"type": "media_type_header_exception", "reason": "Invalid media-type value"}
    proxy.instead = lambda _: answer(400, {"error": {**error, "root_cause": [error]}})
    with pytest.raises(StoreRejected, match="not of major version 9"):
        await ElasticsearchTextIndex.open(settings)
    error = {"type": "security_exception", "reason": "missing authentication"}
    proxy.instead = lambda _: answer(401, {"error": {**error, "root_cause": [error]}})
    with pytest.raises(StoreRejected, match=r"text_index\.api_key"):
        await ElasticsearchTextIndex.open(settings)


async def test_cancelled_search_leaves_the_index_usable(
    index: ElasticsearchTextIndex, proxy: HttpProxy
) -> None:
    await index.upsert([row("c1")])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.0001):
            await index.search(asked("word"), scope=ACME, where=None, limit=1)
    assert await ids(index) == ["c1"]
    assert proxy.to("_search")
