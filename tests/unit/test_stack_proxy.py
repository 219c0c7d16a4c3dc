"""Parts of this machine are reached although the environment names a proxy."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import grpc  # type: ignore[import-untyped]  # it ships no types
import pytest

from cluster.stack.home import Home, prepare_home
from cluster.stack.ports import free_port
from cluster.stack.probes import ask
from cluster.stack.running import Running
from cluster.stack.spec import Probe, ServiceSpec
from cluster.stores.milvus.connection import Connection


class Yes(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """A test has no log."""


class Anything(grpc.GenericRpcHandler):  # type: ignore[misc]  # it ships no types
    """Answers every call with nothing, which a client of Milvus takes for success."""

    def service(self, _details: object) -> object:
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"")


@contextmanager
def a_grpc_server() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=(Anything(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not answer."""
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_an_http_probe_goes_straight() -> None:
    with HTTPServer(("127.0.0.1", 0), Yes) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        probe = Probe(kind="http", target=f"http://127.0.0.1:{server.server_port}/")
        assert ask(probe, age_s=60.0, was_ready=False)
        server.shutdown()


def test_a_grpc_probe_goes_straight() -> None:
    with a_grpc_server() as address:
        probe = Probe(kind="grpc", target=f"{address}/any/call", timeout_s=2.0)
        assert ask(probe, age_s=60.0, was_ready=False)


def test_the_local_milvus_is_reached_straight() -> None:
    async def connect(uri: str) -> None:
        await (await Connection.open(uri, token=None, timeout_s=3.0)).close()

    with a_grpc_server() as address:
        asyncio.run(connect(f"http://{address}"))


def test_a_part_keeps_what_was_excepted_and_gets_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", ".example.org")
    home = Home(tmp_path)
    prepare_home(home)
    words = "import os; print(os.environ['no_proxy'], os.environ['NO_PROXY'])"
    spec = ServiceSpec(name="x", command=(sys.executable, "-c", words), probe=Probe(kind="alive"))
    part = Running(spec, home)
    part.start()
    deadline = time.monotonic() + 10
    while part.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert part.last_words() == " ".join([".example.org,127.0.0.1,localhost"] * 2)
