"""A Milvus Lite server of a test's own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cluster.stack.milvus_files import drop_broken_indexes

STARTS_WITHIN_S = 60.0


class MilvusLite:
    """One server process on one folder and port; may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        drop_broken_indexes(self._folder)
        command = "from milvus_lite.cmdline import main; raise SystemExit(main())"
        place = ("--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self._port))
        self._process = subprocess.Popen(
            [sys.executable, "-c", command, "server", *place],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.kill()
                raise RuntimeError("the Milvus Lite server does not start")
            time.sleep(0.1)

    def kill(self) -> None:
        """As `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
        except OSError:
            return False
        return True


@contextlib.contextmanager
def milvus_lite(folder: Path) -> Iterator[MilvusLite]:
    server = MilvusLite(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
