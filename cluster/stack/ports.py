"""Is a port free, and who has it?"""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection

import psutil

from cluster.errors import StackError
from cluster.settings import PREFIX
from cluster.stack.spec import Port


def free_port() -> int:
    """A loopback port that nobody has at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def check_port(port: Port, *, own: Collection[int] = ()) -> None:
    """Raises `StackError` naming the port, who has it if that can be seen, and the setting.

    `own` are process ids of the same stack: what they hold is free for it (Ray holds the port
    of the Serve application longer than the process that deployed it lives).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((port.host, port.number))
        except OSError as error:
            found = holder(port.number)
            if found is None or found.pid not in own:
                raise StackError(_refused(port, error, found)) from error


def holder(port: int) -> psutil.Process | None:
    """The process that listens there, as far as this user may see it."""
    try:
        for found in psutil.net_connections("tcp"):
            if (
                found.status == psutil.CONN_LISTEN
                and found.laddr
                and found.laddr[1] == port
                and found.pid
            ):
                return psutil.Process(found.pid)
    except psutil.Error:
        return None
    return None


def _refused(port: Port, error: OSError, found: psutil.Process | None) -> str:
    variable = PREFIX + port.setting.replace(".", "__").upper()
    way_out = f"set {port.setting} (or {variable}) to another port"
    if error.errno != errno.EADDRINUSE:
        return f"cannot listen on {port.host}:{port.number}: {error.strerror}; {way_out}"
    return f"port {port.number} is taken by {_name(found)}; end that, or {way_out}"


def _name(process: psutil.Process | None) -> str:
    if process is None:
        return "another process"
    try:
        return f"process {process.pid} ({process.name()})"
    except psutil.Error:
        return f"process {process.pid}"
