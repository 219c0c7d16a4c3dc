"""A TCP proxy before a store, whose manners can be changed while it runs.

It lives on a thread of its own, so that what is tested may block its event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Literal

Manner = Literal["pass", "drop", "refuse", "stall", "slow", "half"]
"""
- `pass`: as if it were not there
- `drop`: every connection is reset, new ones as soon as they are made
- `refuse`: as `drop`, and nobody listens
- `stall`: connections stay, and new ones are made, but no byte passes until another manner
- `slow`: `SLOW_BYTES_PER_S` in each direction
- `half`: of the next answer only half, then a reset; and so on with each connection
"""

SLOW_BYTES_PER_S = 2000
READ_BYTES = 65_536
SLICE_S = 0.02

Pair = tuple[asyncio.StreamWriter, asyncio.StreamWriter]


class TcpProxy:
    """Before `host:port`; its own `port` stays the same all its life."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._manner: Manner = "pass"
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._pairs: set[Pair] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            self.port: int = held.getsockname()[1]

    def start(self) -> None:
        self._thread.start()
        self._run(self._listen())

    def stop(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def set(self, manner: Manner) -> None:
        """In force when it returns."""
        self._run(self._set(manner))

    def _run(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _set(self, manner: Manner) -> None:
        self._manner = manner
        if manner == "stall":
            self._flowing.clear()
        else:
            self._flowing.set()
        if manner in ("drop", "refuse"):
            self._reset_all()
        if manner == "refuse" and self._server is not None:
            self._server.close()
            self._server = None
        if manner != "refuse" and self._server is None:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        self._reset_all()
        # Also those that have just come in, and both directions of each connection.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        self._reset_all()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._join(reader, writer)
        finally:
            _reset(writer)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._while_stalled()
        if self._manner in ("drop", "refuse"):
            return
        from_store, to_store = await asyncio.open_connection(*self._target)
        pair = (writer, to_store)
        self._pairs.add(pair)
        try:
            asking = asyncio.create_task(self._pump(reader, to_store, is_answer=False))
            answering = asyncio.create_task(self._pump(from_store, writer, is_answer=True))
            both = (asking, answering)
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in both:
                    one.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            self._pairs.discard(pair)
            _reset(to_store)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        while data := await reader.read(READ_BYTES):
            await self._while_stalled()
            if self._manner == "half" and is_answer:
                writer.write(data[: len(data) // 2])
                await writer.drain()
                return
            await self._send(data, writer)

    async def _send(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        step = max(1, round(SLOW_BYTES_PER_S * SLICE_S))
        while data and self._manner == "slow":
            writer.write(data[:step])
            data = data[step:]
            await asyncio.sleep(SLICE_S)
        writer.write(data)
        await writer.drain()

    async def _while_stalled(self) -> None:
        await self._flowing.wait()

    def _reset_all(self) -> None:
        for pair in list(self._pairs):
            for writer in pair:
                _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends it at once, with what is still to be sent."""
    writer.transport.abort()


@contextmanager
def tcp_proxy(port: int, *, host: str = "127.0.0.1") -> Iterator[TcpProxy]:
    proxy = TcpProxy(host, port)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
