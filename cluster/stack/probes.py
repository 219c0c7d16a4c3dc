"""Does a part do its work? One function per kind of probe; each ends within its time limit."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from pathlib import Path

from cluster.stack.spec import Probe

BEAT_S = 10.0
"""A part that beats touches its file at least this often."""

SETTLED_S = 2.0

_STRAIGHT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Parts run on this machine; a proxy of the environment cannot reach them."""


def ask(probe: Probe, *, age_s: float, was_ready: bool) -> bool:
    """`age_s`: since the start of the process. Any HTTP answer shows life; only one that says
    yes shows that the part is ready."""
    match probe.kind:
        case "alive":
            return age_s >= SETTLED_S
        case "http":
            return _http(probe, any_answer=was_ready)
        case "grpc":
            return _grpc(probe)
        case "postgres":
            return _postgres(probe)
        case "beat":
            return _beat(probe, age_s)


def _http(probe: Probe, *, any_answer: bool) -> bool:
    try:
        with _STRAIGHT.open(probe.target, timeout=probe.timeout_s):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return any_answer
    except OSError:
        return False


def _grpc(probe: Probe) -> bool:
    import grpc  # type: ignore[import-untyped]  # it ships no types

    address, method = probe.target.split("/", 1)
    metadata = [("authorization", f"Bearer {_secret(probe)}")] if probe.secret_file else []
    options = [("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(address, options=options) as channel:
        call = channel.unary_unary(f"/{method}")
        try:
            answer: bytes = call(
                bytes.fromhex(probe.request_hex), timeout=probe.timeout_s, metadata=metadata
            )
        except grpc.RpcError:
            return False
        return probe.expect.encode() in answer


def _postgres(probe: Probe) -> bool:
    import psycopg

    host, port = probe.target.split(":")
    try:
        with psycopg.connect(
            host=host,
            port=int(port),
            user="palimpsest",
            password=_secret(probe),
            dbname="palimpsest",
            connect_timeout=max(2, int(probe.timeout_s)),
            options=f"-c statement_timeout={int(probe.timeout_s * 1000)}",
        ) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _beat(probe: Probe, age_s: float) -> bool:
    """A beat from before the start of the process is another one's."""
    try:
        silent_s = time.time() - Path(probe.target).stat().st_mtime
    except OSError:
        return False
    return silent_s <= min(BEAT_S * 2, age_s)


def _secret(probe: Probe) -> str:
    return Path(probe.secret_file or "").read_text(encoding="ascii").strip()
