"""A served corpus on real stores, each behind a proxy; opened once, and never again."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict
from serving import DIM, application, client_of, fill, make_key, prepared, service_on, views_of

from cluster.clock import SystemClock
from cluster.indexer import Indexer
from cluster.model import Generation
from cluster.settings import (
    MilvusSettings,
    PostgresSettings,
    ServeSettings,
    Settings,
    TextIndexSettings,
)
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.open import Stores
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import TextIndex
from cluster.stores.tantivy.index import TantivyTextIndex
from fault.tcp_proxy import TcpProxy, tcp_proxy

QUESTION = "How long are access tokens valid?"
ANSWER = "Access tokens are valid for 30 minutes."

FORGETFUL = Settings(serve=ServeSettings(query_cache_entries=0, channel_deadline_s=0.8))
"""A kept answer needs no store, so that nothing would be seen of one that is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Of the stores as they are (`direct`), and as the house under test sees them. Without
    `elasticsearch` the text index is a folder."""

    postgres: str
    milvus: str
    elasticsearch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """`proxies` by the name of the store; `generation` names a collection of its own."""

    direct: Addresses
    behind: Addresses
    proxies: Mapping[str, TcpProxy]
    generation: Generation
    index: str
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    around: Surroundings
    stores: Stores
    client: httpx.AsyncClient

    async def ask(self, query: str = QUESTION) -> httpx.Response:
        return await self.client.post("/v1/search", json={"query": query})

    async def answer(self, query: str = QUESTION) -> dict[str, Any]:
        found = await self.ask(query)
        assert found.status_code == 200, found.text
        told: dict[str, Any] = found.json()
        return told

    async def whole_again(self, *, within_s: float, query: str = QUESTION) -> dict[str, Any]:
        """The first answer without a failure."""
        until = time.monotonic() + within_s
        while True:
            found = await self.ask(query)
            if found.status_code == 200 and not found.json()["failures"]:
                told: dict[str, Any] = found.json()
                return told
            assert time.monotonic() < until, found.text
            await asyncio.sleep(0.1)

    @asynccontextmanager
    async def indexing(self) -> AsyncIterator[None]:
        """The indexer at work."""
        stop = asyncio.Event()
        indexer = Indexer(self.stores.ledger, views_of(self.stores), SystemClock())
        working = asyncio.create_task(indexer.run(stop))
        try:
            yield
        finally:
            stop.set()
            await working


@contextmanager
def surroundings(direct: Addresses, folder: Path) -> Iterator[Surroundings]:
    """A proxy before each store, and the corpus in them."""
    with ExitStack() as running:
        proxies = {
            name: running.enter_context(tcp_proxy(_port(address)))
            for name, address in _named(direct).items()
        }
        seen = {name: _at(_named(direct)[name], proxy.port) for name, proxy in proxies.items()}
        name = uuid.uuid4().hex[:12]
        around = Surroundings(
            direct=direct,
            behind=Addresses(
                postgres=seen["postgres"],
                milvus=seen["milvus"],
                elasticsearch=seen.get("elasticsearch"),
            ),
            proxies=proxies,
            generation=Generation(fingerprint=f"fault-{name}", dim=DIM, recipe={}),
            index=f"fault-{name}",
            folder=folder,
        )
        asyncio.run(_filled(around))
        yield around


@asynccontextmanager
async def house_of(around: Surroundings, *, settings: Settings = FORGETFUL) -> AsyncIterator[House]:
    stores = await opened(around, around.behind)
    try:
        key = await make_key(stores.ledger, role="write")
        async with client_of(application(service_on(stores, settings)), key) as client:
            yield House(around=around, stores=stores, client=client)
    finally:
        for proxy in around.proxies.values():
            proxy.set("pass")
        await stores.close()


async def opened(around: Surroundings, addresses: Addresses, *, read_only: bool = False) -> Stores:
    ledger = await PostgresLedger.open(addresses.postgres, PostgresSettings())
    vectors = await MilvusVectorIndex.open(
        addresses.milvus, token=None, generation=around.generation, settings=MilvusSettings()
    )
    texts: TextIndex
    if addresses.elasticsearch is None:
        texts = TantivyTextIndex.open(around.folder / "text-index", read_only=read_only)
    else:
        texts = await ElasticsearchTextIndex.open(
            TextIndexSettings(
                backend="elasticsearch", url=addresses.elasticsearch, index=around.index
            ),
            read_only=read_only,
        )
    return Stores(ledger=ledger, vector_index=vectors, text_index=texts)


def as_url(conninfo: str) -> str:
    """As an address with host and port."""
    said = conninfo_to_dict(conninfo)
    password = f":{said['password']}" if said.get("password") else ""
    with psycopg.connect(conninfo) as connection:
        port, host = connection.info.port, connection.info.host
    return f"postgresql://{said['user']}{password}@{host}:{port}/{said['dbname']}"


async def _filled(around: Surroundings) -> None:
    stores = await opened(around, around.direct)
    try:
        pages = [prepared("tokens.md", ANSWER), prepared("tls.md", "Use TLS 1.3 everywhere.")]
        fillers = [prepared(f"{n}.md", f"Page {n} is about lamp {n * 7}.") for n in range(20)]
        await fill(stores, [*pages, *fillers])
    finally:
        await stores.close()


def _named(addresses: Addresses) -> dict[str, str]:
    named = {"postgres": addresses.postgres, "milvus": addresses.milvus}
    if addresses.elasticsearch is not None:
        named["elasticsearch"] = addresses.elasticsearch
    return named


def _port(address: str) -> int:
    port = urlsplit(address).port
    assert port is not None, "the proxy needs a store that listens on a port"
    return port


def _at(address: str, port: int) -> str:
    parts = urlsplit(address)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))
