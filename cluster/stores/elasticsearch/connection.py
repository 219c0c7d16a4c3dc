"""One client of an Elasticsearch server, and whether the server is one that we can use."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from elastic_transport import client_utils
from elasticsearch import AsyncElasticsearch

from cluster.errors import InvalidSettings, StoreRejected, StoreUnavailable
from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.errors import STORE, translated

MAJOR = 9
"""The client's own: it asks for answers in this version's form."""

CALLS_AT_ONCE = 16
_PORTS = {"http": 9200, "https": 443}

Answer = TypeVar("Answer")


class Connection:
    """Reconnects by itself. Used by the event loop that opened it."""

    def __init__(self, client: AsyncElasticsearch, *, timeout_s: float) -> None:
        self._client: AsyncElasticsearch | None = client
        self.timeout_s = timeout_s

    @classmethod
    async def open(cls, settings: TextIndexSettings) -> Connection:
        """`StoreUnavailable` when nobody answers, `StoreRejected` when it is a server of
        another major version, or something else."""
        # It tells of every request; failures are raised, and told by whoever handles them.
        logging.getLogger("elastic_transport").setLevel(logging.CRITICAL)
        client = AsyncElasticsearch(
            hosts=hosts(settings.url or ""),
            api_key=settings.api_key,
            basic_auth=_login(settings),
            ca_certs=client_utils.DEFAULT if settings.ca_file is None else str(settings.ca_file),
            request_timeout=settings.timeout_s,
            connections_per_node=CALLS_AT_ONCE,
            # A kept connection that the server closed meanwhile is found out by using it.
            # Every call may be repeated.
            max_retries=1,
            retry_on_status=(),
        )
        connection = cls(client, timeout_s=settings.timeout_s)
        try:
            await connection._check_version()
        except BaseException:
            await connection.close()
            raise
        return connection

    async def call(
        self,
        what: str,
        call: Callable[[AsyncElasticsearch], Awaitable[Answer]],
        *,
        timeout_s: float | None = None,
    ) -> Answer:
        """`timeout_s` bounds the whole call, with its retry."""
        if self._client is None:
            raise StoreUnavailable(STORE, f"{what}: it is closed")
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        client = self._client.options(request_timeout=limit_s)
        with translated(what):
            async with asyncio.timeout(limit_s):
                return await call(client)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _check_version(self) -> None:
        """The root page, which clients ask as a rule, is not part of every build."""
        answer = await self.call(
            "ask the version",
            lambda client: client.nodes.info(metric="http", filter_path="nodes.*.version"),
        )
        nodes: dict[str, Any] = answer.body.get("nodes", {})
        versions = sorted({str(node["version"]) for node in nodes.values()})
        if any(int(version.split(".")[0]) != MAJOR for version in versions):
            raise StoreRejected(
                STORE, f"the server is version {', '.join(versions)}; version {MAJOR} is needed"
            )


def hosts(url: str) -> list[str]:
    """`http://a, https://b:9243` -> addresses with ports. `InvalidSettings` for other things."""
    return [_host(urlsplit(one.strip())) for one in url.split(",")]


def _host(parts: SplitResult) -> str:
    if parts.scheme not in _PORTS or not parts.hostname:
        raise InvalidSettings("text_index.url: an address such as http://127.0.0.1:9200 is needed")
    port = parts.port or _PORTS[parts.scheme]
    login, at, _ = parts.netloc.rpartition("@")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{login}{at}{name}:{port}{parts.path.rstrip('/')}"


def _login(settings: TextIndexSettings) -> tuple[str, str] | None:
    if settings.user is None or settings.password is None:
        return None
    return settings.user, settings.password
