"""A real PostgreSQL for tests, on a free port: the embedded one, or Debian's 15, the oldest
that is supported.

The server refuses to run as root, so root lends it to `nobody`. Durability is off.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from cluster.stack.postgres_process import as_servant, program, server_version
from servers.needs import Missing, free_port

OLDEST = 15
START_S = 60.0
STOP_S = 15.0
EMBEDDED_LOCALE = ("--locale-provider=builtin", "--locale=C.UTF-8")
OTHER_LOCALE = ("--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8")
"""Sorts by language: no order of ours may come from the server."""

NOT_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
"""Quick, and still enough for a killed process: what it wrote is the operating system's. Commits
that are acknowledged before they are written are for the product to refuse."""


class PostgresServer:
    """One server with its data in `folder`; may be stopped, killed and started again there.

    It ends with the thread that started it, however that ends.
    """

    def __init__(self, folder: Path, *, major: int, port: int | None = None) -> None:
        self._programs = programs(major)
        self._locale = EMBEDDED_LOCALE if major == server_version() else OTHER_LOCALE
        self._ends_with_us = _ends_with_us(folder)
        self._folder = folder
        self._port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://palimpsest@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Returns when it answers. `RuntimeError` with the end of its log when it does not."""
        data = self._folder / "data"
        if not data.is_dir():
            self._make_cluster(data)
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": "",
            "max_connections": 100,
            **dict.fromkeys(NOT_DURABLE, "off"),
        }
        command = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        log = self._folder / "server.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [*self._ends_with_us, self._programs / "postgres", "-D", data, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                start_new_session=True,
            )
        try:
            self._wait(log)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Orderly, without waiting for clients."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL for the server and what it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _make_cluster(self, data: Path) -> None:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
        done = subprocess.run(
            [
                *self._ends_with_us,
                *(str(self._programs / "initdb"), "-D", str(data), "-U", "palimpsest"),
                *("--auth=trust", "--encoding=UTF8", "--no-sync"),
                *self._locale,
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stderr[-2000:]}")

    def _wait(self, log: Path) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"PostgreSQL ended at once:\n{_end_of(log)}")
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=2).close()
                return
            time.sleep(0.1)
        raise RuntimeError(f"PostgreSQL did not answer in {START_S:g} s:\n{_end_of(log)}")


@contextlib.contextmanager
def postgres(*, major: int | None = None) -> Iterator[str]:
    """The URL of a server of its own, whose data go with it; `None`: of the embedded version.
    `Missing` says what it lacks."""
    major = server_version() if major is None else major
    programs(major)
    with tempfile.TemporaryDirectory(prefix="palimpsest-pg-") as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder), major=major)
        server.start()
        try:
            yield server.url
        finally:
            server.kill()


def programs(major: int) -> Path:
    """Where the server's programs lie; `Missing` names the package to install."""
    if shutil.which("setpriv") is None:
        raise Missing("setpriv is missing: install util-linux")
    if major == server_version():
        return program("postgres").parent
    folder = Path(f"/usr/lib/postgresql/{major}/bin")
    if not (folder / "postgres").is_file():
        raise Missing(
            f"PostgreSQL {major} is not installed: install Debian's postgresql-{major}, "
            "or name such a server by PALIMPSEST_TEST_OLDEST_POSTGRES_URL"
        )
    return folder


def _ends_with_us(folder: Path) -> list[str]:
    """Before a command, so that it ends when this process does, and does not run as root."""
    servant = as_servant(folder) if os.geteuid() == 0 else ["setpriv"]
    return [servant[0], "--pdeathsig", "INT", *servant[1:], "--"]


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]
