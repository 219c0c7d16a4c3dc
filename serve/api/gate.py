"""What every request passes first: its id, a place among the others, a bounded body, a clock.

Requests beyond `max_ongoing` wait, at most `max_waiting` of them and not for ever; the rest are
told to come back. Health, readiness and metrics do not queue. The clock of a deadline runs from
here; a body that does not come in time gives its place back.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.api.auth import NO_KEY
from serve.api.problems import problem
from serve.metrics import Metrics

log = logging.getLogger(__name__)

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
JSON_BODY_BYTES = 1 << 20
UNQUEUED = frozenset({"/healthz", "/readyz", "/metrics"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_ongoing: int
    max_waiting: int
    max_upload_bytes: int
    queue_s: float = 10.0
    body_s: float = 10.0
    upload_body_s: float = 300.0
    echo_request_id: bool = True
    """Off behind Ray's proxy, which gives and echoes the id itself."""


class Gate:
    def __init__(self, app: ASGIApp, *, limits: Limits, metrics: Metrics) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._places = asyncio.Semaphore(limits.max_ongoing)
        self._ongoing = self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, receive, send, limits=self._limits)
        started = time.perf_counter()
        try:
            await self._admit(visit)
        finally:
            self._metrics.answered(
                method=visit.method,
                route=visit.route,
                status=visit.status,
                seconds=time.perf_counter() - started,
            )

    async def _admit(self, visit: _Visit) -> None:
        if visit.bad_id:
            form = "1 to 128 letters, digits and any of . _ : -"
            await visit.refuse("bad-header", f"X-Request-Id must be {form}")
        elif visit.announced > visit.max_bytes:
            await visit.refuse("too-large", visit.too_large())
        elif visit.keyless:  # before it can hold a place with a body that it does not send
            headers = {"WWW-Authenticate": "Bearer"}
            await visit.refuse("not-authenticated", NO_KEY, headers=headers)
        elif visit.path in UNQUEUED:
            await self._pass(visit)
        elif self._places.locked() and self._waiting >= self._limits.max_waiting:
            detail = f"{self._ongoing} requests are in work and {self._waiting} wait; retry"
            await visit.refuse("overloaded", detail, headers={"Retry-After": "1"})
        else:
            await self._queue(visit)

    async def _queue(self, visit: _Visit) -> None:
        if not await self._place():
            detail = f"no place became free within {self._limits.queue_s:g} s; retry"
            await visit.refuse("overloaded", detail, headers={"Retry-After": "1"})
            return
        self._count(ongoing=1)
        try:
            await self._pass(visit)
        finally:
            self._places.release()
            self._count(ongoing=-1)

    async def _place(self) -> bool:
        self._count(waiting=1)
        try:
            async with asyncio.timeout(self._limits.queue_s):
                return await self._places.acquire()
        except TimeoutError:
            return False
        finally:
            self._count(waiting=-1)

    def _count(self, *, ongoing: int = 0, waiting: int = 0) -> None:
        self._ongoing += ongoing
        self._waiting += waiting
        self._metrics.load(ongoing=self._ongoing, waiting=self._waiting)

    async def _pass(self, visit: _Visit) -> None:
        try:
            await self._app(visit.scope, visit.receive, visit.send)
        except Exception:  # the outermost loop of a request
            log.exception("request %s %s failed", visit.request_id, visit.path)
            if visit.status:
                raise
            await visit.refuse("internal-error", "the request failed; the log has the reason")


class _Visit:
    """One request on its way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, limits: Limits) -> None:
        headers = Headers(scope=scope)
        given = headers.get("x-request-id")
        self.bad_id = given is not None and not REQUEST_ID.fullmatch(given)
        self.request_id = uuid.uuid4().hex if given is None or self.bad_id else given
        self.scope = scope
        scope.setdefault("state", {})["request_id"] = self.request_id
        scope["state"]["arrived"] = time.perf_counter()
        self.method = str(scope["method"]) if scope["method"] in _METHODS else "OTHER"
        self.path = str(scope["path"])
        self.keyless = self.path.startswith("/v1/") and not (
            "authorization" in headers or "x-api-key" in headers
        )
        self.status = 0
        upload = self.path.rstrip("/") == "/v1/documents" and self.method == "POST"
        self.max_bytes = limits.max_upload_bytes if upload else JSON_BODY_BYTES
        self._body_s = limits.upload_body_s if upload else limits.body_s
        self._body_by: float | None = None
        self._body_ended = False
        announced = headers.get("content-length", "0")
        self.announced = int(announced) if announced.isdigit() else 0
        self._receive, self._send, self._limits = receive, send, limits
        self._received = 0

    @property
    def route(self) -> str:
        """The template of the address, so that ids do not become labels."""
        return str(getattr(self.scope.get("route"), "path", "(none)"))

    def too_large(self) -> str:
        return f"the body may have {self.max_bytes:,} bytes at most; send less"

    async def receive(self) -> Message:
        """All parts of the body share one time limit; afterwards, as long as it takes."""
        loop = asyncio.get_running_loop()
        self._body_by = self._body_by or loop.time() + self._body_s
        try:
            async with asyncio.timeout_at(None if self._body_ended else self._body_by):
                message = await self._receive()
        except TimeoutError as error:
            raise HTTPException(408, f"the body did not come within {self._body_s:g} s") from error
        self._body_ended = not message.get("more_body", False)
        self._received += len(message.get("body", b""))
        if self._received > self.max_bytes:
            raise HTTPException(413, self.too_large())
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            if self._limits.echo_request_id or self.bad_id:
                MutableHeaders(scope=message)["X-Request-Id"] = self.request_id
        await self._send(message)

    async def refuse(
        self, name: str, detail: str, *, headers: dict[str, str] | None = None
    ) -> None:
        response = problem(
            name, detail, instance=self.path, request_id=self.request_id, headers=headers
        )
        await response(self.scope, self._receive, self.send)


_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
