"""One connection to Milvus, called from coroutines.

The blocking client runs in a few threads of its own. Its asynchronous sister is experimental:
after the loss of a server it closes the channel under the calls of others, which cancels
their tasks, and on Milvus Lite it can neither create an index nor iterate.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from cluster.errors import StoreRejected, StoreUnavailable
from cluster.stores.milvus.errors import STORE, is_not_loaded, translated

CALLS_AT_ONCE = 8
GRACE_S = 1.0
"""The driver's own timeout comes first, so that its reason is the one that is told."""

_CHANNEL = {
    # Channels to one address share their waiting time before the next attempt, up to two
    # minutes of it; a server that came back would be refused all that time.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1000,
    # A gRPC server in Python hangs up on those that ping it while nothing is under way.
    "grpc.keepalive_permit_without_calls": 0,
}

_OF_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")

Answer = TypeVar("Answer")


class Connection:
    """Reconnects by itself; a collection that a restarted server holds unloaded is loaded."""

    def __init__(self, client: MilvusClient, *, timeout_s: float) -> None:
        self._client: MilvusClient | None = client
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="milvus")

    @classmethod
    async def open(cls, uri: str, *, token: str | None, timeout_s: float) -> Connection:
        # Every failure is raised, and told by whoever handles it; the driver also prints it.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        with translated(f"connect to {uri}"):
            client = await asyncio.to_thread(
                MilvusClient,
                uri,
                token=token or "",
                timeout=timeout_s,
                dedicated=True,
                grpc_options=_channel_options(uri),
            )
        return cls(client, timeout_s=timeout_s)

    async def call(
        self,
        what: str,
        call: Callable[[MilvusClient, float], Answer],
        *,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """`call` gets the client and the timeout to hand on. Cancelling the task does not
        stop a call that is under way; the timeout does."""
        timeout_s = timeout_s or self._timeout_s
        try:
            return await self._once(what, call, timeout_s)
        except StoreRejected as error:
            if collection is None or not is_not_loaded(error):
                raise
        name = collection
        await self._once("load", lambda client, limit: client.load_collection(name), timeout_s)
        return await self._once(what, call, timeout_s)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await asyncio.to_thread(client.close)
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _once(
        self, what: str, call: Callable[[MilvusClient, float], Answer], timeout_s: float
    ) -> Answer:
        client = self._client
        if client is None:
            raise StoreUnavailable(STORE, f"{what}: the connection was closed")
        loop = asyncio.get_running_loop()
        with translated(what):
            async with asyncio.timeout(timeout_s + GRACE_S):
                return await loop.run_in_executor(self._threads, partial(call, client, timeout_s))


def _channel_options(uri: str) -> dict[str, int]:
    """A proxy of the environment cannot reach a server of this machine."""
    if urlsplit(uri).hostname in _OF_THIS_MACHINE:
        return {**_CHANNEL, "grpc.enable_http_proxy": 0}
    return dict(_CHANNEL)
