"""A TCP proxy before a store, whose manners can be changed while it runs.

It lives on a thread of its own, so that what is tested may block its event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
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
- `half`: of the next answer only half, then the end; and so on with each connection
"""

SLOW_BYTES_PER_S = 2000
READ_BYTES = 65_536
SLICE_S = 0.02

END_AT_ONCE = struct.pack("ii", 1, 0)


class TcpProxy:
    """Before `host:port`; its own `port` stays the same all its life.

    It reads and writes plain sockets and keeps a list of them: a stream's server has nobody who
    closes a connection that came in at the moment of its end.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._manner: Manner = "pass"
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._loop = asyncio.new_event_loop()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            self.port: int = held.getsockname()[1]

    def start(self) -> None:
        self._thread.start()
        self._run(self._set("pass"))

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
            await self._reset_all()
        if manner == "refuse":
            self._stop_listening()
        elif self._listener is None:
            self._listen()

    async def _end(self) -> None:
        self._stop_listening()
        await self._reset_all()

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._accept, self._listener)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            client, _ = listener.accept()
            self._hold(client)
            task = self._loop.create_task(self._serve(client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _hold(self, one: socket.socket) -> None:
        one.setblocking(False)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, END_AT_ONCE)
        self._open.add(one)

    def _reset(self, one: socket.socket) -> None:
        self._open.discard(one)
        one.close()

    async def _reset_all(self) -> None:
        """Whoever waits on a socket ends first: a closed one must not be waited on."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in set(self._open):
            self._reset(one)

    async def _serve(self, client: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):
                await self._while_stalled()
                if self._manner not in ("drop", "refuse"):
                    await self._join(client)
        finally:
            self._reset(client)

    async def _join(self, client: socket.socket) -> None:
        store = socket.socket()
        self._hold(store)
        try:
            await self._loop.sock_connect(store, self._target)
            asking = asyncio.create_task(self._pump(client, store, is_answer=False))
            answering = asyncio.create_task(self._pump(store, client, is_answer=True))
            both = (asking, answering)
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in both:
                    one.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            self._reset(store)

    async def _pump(self, source: socket.socket, sink: socket.socket, *, is_answer: bool) -> None:
        while data := await self._loop.sock_recv(source, READ_BYTES):
            await self._while_stalled()
            if self._manner == "half" and is_answer:
                await self._loop.sock_sendall(sink, data[: len(data) // 2])
                _end_in_order(sink)
                return
            await self._send(data, sink)
        _end_in_order(sink)

    async def _send(self, data: bytes, sink: socket.socket) -> None:
        step = max(1, round(SLOW_BYTES_PER_S * SLICE_S))
        while data and self._manner == "slow":
            await self._loop.sock_sendall(sink, data[:step])
            data = data[step:]
            await asyncio.sleep(SLICE_S)
        await self._loop.sock_sendall(sink, data)

    async def _while_stalled(self) -> None:
        await self._flowing.wait()


def _end_in_order(sink: socket.socket) -> None:
    """What was sent before arrives: a reset may throw it away on the other side."""
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))


@contextmanager
def tcp_proxy(port: int, *, host: str = "127.0.0.1") -> Iterator[TcpProxy]:
    proxy = TcpProxy(host, port)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
