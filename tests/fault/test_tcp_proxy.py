"""The proxy of the fault tests does what it says: else they would prove nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fault.tcp_proxy import SLOW_BYTES_PER_S, TcpProxy, tcp_proxy


@contextmanager
def an_echo() -> Iterator[int]:
    """Sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def echo(connection: socket.socket) -> None:
    with connection:
        try:
            while data := connection.recv(65_536):
                connection.sendall(data)
        except OSError:
            return


@pytest.fixture
def proxy() -> Iterator[TcpProxy]:
    with an_echo() as port, tcp_proxy(port) as made:
        yield made


def connected(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


def test_what_passes_passes(proxy: TcpProxy) -> None:
    with connected(proxy) as one:
        one.sendall(b"hello")
        assert one.recv(10) == b"hello"


def test_a_dropped_connection_ends_and_so_does_a_new_one(proxy: TcpProxy) -> None:
    with connected(proxy) as old:
        old.sendall(b"x")
        assert old.recv(10) == b"x"
        proxy.set("drop")
        assert ended(old)
    assert dropped(proxy)
    proxy.set("pass")
    with connected(proxy) as again:
        again.sendall(b"y")
        assert again.recv(10) == b"y"


def test_refused_means_that_nobody_listens(proxy: TcpProxy) -> None:
    proxy.set("refuse")
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    proxy.set("pass")
    connected(proxy).close()


def test_what_is_stalled_comes_later(proxy: TcpProxy) -> None:
    with connected(proxy) as one:
        proxy.set("stall")
        one.sendall(b"late")
        one.settimeout(0.3)
        with pytest.raises(TimeoutError):
            one.recv(10)
        proxy.set("pass")
        one.settimeout(5)
        assert one.recv(10) == b"late"


def test_slow_takes_its_time(proxy: TcpProxy) -> None:
    proxy.set("slow")
    sent = b"z" * (SLOW_BYTES_PER_S // 4)
    with connected(proxy) as one:
        began = time.monotonic()
        one.sendall(sent)
        got = b""
        while len(got) < len(sent):
            got += one.recv(1000)
        assert time.monotonic() - began > 0.2


def test_half_of_an_answer_and_no_more(proxy: TcpProxy) -> None:
    proxy.set("half")
    with connected(proxy) as one:
        one.sendall(b"0123456789")
        assert one.recv(100) == b"01234"
        assert ended(one)


def dropped(proxy: TcpProxy) -> bool:
    """A new connection is reset: before it is known to be made, or at its first read."""
    try:
        new = connected(proxy)
    except ConnectionResetError:
        return True
    with new:
        return ended(new)


def ended(one: socket.socket) -> bool:
    try:
        return one.recv(10) == b""
    except ConnectionResetError:
        return True
