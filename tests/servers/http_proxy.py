"""A real HTTP proxy before a server, that answers some requests itself or changes an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession, web

_HOP = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-encoding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    method: str
    path: str
    body: bytes

    @property
    def lines(self) -> list[Any]:
        """Of a body with one JSON value a line."""
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Instead = Callable[[Asked], Answered | None]
"""An answer that is given without asking the server, or `None`."""

Sent = Callable[[Asked], Asked]
"""What the server is asked in its place."""

Changed = Callable[[Asked, Answered], Answered]
"""What becomes of the server's answer to what it was sent; the request is the first one."""


@dataclass(slots=True)
class HttpProxy:
    """`url` stands for the server's. The rules may be set at any time; `asked` grows with every
    request."""

    url: str
    instead: Instead = field(default=lambda _: None)
    sent: Sent = field(default=lambda asked: asked)
    changed: Changed = field(default=lambda _, answered: answered)
    asked: list[Asked] = field(default_factory=list)

    def to(self, ending: str) -> list[Asked]:
        return [one for one in self.asked if one.path.split("?")[0].endswith(ending)]


def answer(status: int, body: Any) -> Answered:
    """In the form of Elasticsearch."""
    headers = {"Content-Type": "application/json", "X-Elastic-Product": "Elasticsearch"}
    return Answered(status=status, headers=headers, body=json.dumps(body).encode())


@asynccontextmanager
async def http_proxy(server: str) -> AsyncIterator[HttpProxy]:
    """On a free port of loopback."""
    proxy = HttpProxy(url="")
    async with ClientSession(auto_decompress=True) as session:

        async def handle(request: web.Request) -> web.Response:
            asked = Asked(method=request.method, path=request.path_qs, body=await request.read())
            proxy.asked.append(asked)
            answered = proxy.instead(asked)
            if answered is None:
                answered = await _forward(session, server, request, proxy.sent(asked))
            answered = proxy.changed(asked, answered)
            return web.Response(
                status=answered.status, headers=_kept(answered.headers), body=answered.body
            )

        application = web.Application(client_max_size=2**30)
        application.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield proxy
        finally:
            await runner.cleanup()


async def _forward(
    session: ClientSession, server: str, request: web.Request, asked: Asked
) -> Answered:
    async with session.request(
        asked.method, server + asked.path, headers=_kept(request.headers), data=asked.body
    ) as response:
        body = await response.read()
        return Answered(status=response.status, headers=dict(response.headers), body=body)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}
