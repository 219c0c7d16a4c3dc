"""Stores that outlive our processes, and can be killed themselves: one interface for all."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import psutil
import psycopg
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from cluster.stack.ports import free_port

STARTS_WITHIN_S = 90.0
LOOK_EVERY_S = 0.05


class Server(Protocol):
    """A store's process, with what our settings say about it."""

    @property
    def name(self) -> str: ...

    @property
    def environ(self) -> Mapping[str, str]: ...

    def start(self) -> None:
        """Returns when it answers."""
        ...

    def empty(self) -> None:
        """Take away what former scenarios left."""
        ...

    def kill(self) -> None:
        """SIGKILL, and all that it started."""
        ...


class Postgres:
    """The embedded server as the stack runs it, with durable commits."""

    name = "postgres"

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder / "postgres", free_port()
        self._password = folder / "postgres.password"
        self._password.write_text(secrets.token_hex(16), encoding="ascii")
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "postgres.log"

        self._database = "palimpsest"

    @property
    def url(self) -> str:
        """Of the database of the scenario that runs."""
        return self._url(self._database)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"PALIMPSEST_POSTGRES__URL": self.url}

    def start(self) -> None:
        place = (str(self._folder), str(self._port), str(self._password))
        self._process = _started("cluster.stack.postgres_process", place, self._log)
        _wait_for(self._answers, self._process, self._log)

    def empty(self) -> None:
        self._database = emptied(self._url("postgres"))

    def kill(self) -> None:
        _kill(self._process)

    def _url(self, database: str) -> str:
        password = self._password.read_text(encoding="ascii")
        return f"postgresql://palimpsest:{password}@127.0.0.1:{self._port}/{database}"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


class MilvusLite:
    """The embedded server as the stack runs it."""

    name = "milvus"

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder / "milvus", free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "milvus.log"

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def environ(self) -> Mapping[str, str]:
        return {"PALIMPSEST_MILVUS__URI": self.uri}

    def start(self) -> None:
        place = (str(self._folder), str(self._port))
        self._process = _started("cluster.stack.milvus_process", place, self._log)
        _wait_for(lambda: listens(self._port), self._process, self._log)

    def empty(self) -> None:
        without_collections(self.uri)

    def kill(self) -> None:
        _kill(self._process)


def emptied(server: str) -> str:
    """A database that was just made, and the only one of ours: its name."""
    with psycopg.connect(server, autocommit=True) as connection:
        old = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'chaos%'")
        for (name,) in old.fetchall():
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        made = f"chaos_{secrets.token_hex(6)}"
        connection.execute(f"CREATE DATABASE {made} TEMPLATE template0 ENCODING 'UTF8'".encode())
    return made


def without_collections(uri: str) -> None:
    client = MilvusClient(uri, timeout=30, dedicated=True)
    try:
        for alias in client.list_aliases().get("aliases", []):
            client.drop_alias(alias)
        for name in client.list_collections():
            client.drop_collection(name)
    finally:
        client.close()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _started(module: str, arguments: tuple[str, ...], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _wait_for(answers: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while not answers():
        if process.poll() is not None or time.monotonic() > until:
            _kill(process)
            said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"the server of {log} does not start:\n{said}")
        time.sleep(LOOK_EVERY_S)


def _kill(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is not None:
        return
    family = psutil.Process(process.pid).children(recursive=True)
    for one in (process.pid, *(child.pid for child in family)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    process.wait()
    psutil.wait_procs(family, timeout=10)
