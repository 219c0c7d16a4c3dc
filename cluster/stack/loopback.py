"""Keeps the private server of a Serve replica on loopback.

Ray binds everything to the address of its node, but each Serve replica opens one server for
its peers on all addresses. A deployment of the local stack calls this in its constructor,
before Serve opens that server.
"""

from __future__ import annotations

import importlib
from typing import Any

EVERYWHERE = "[::]:"
LOOPBACK = "127.0.0.1:"


def keep_replica_on_loopback() -> None:
    """Takes effect in this process. May be called twice. Not for a cluster of machines."""
    replica: Any = importlib.import_module("ray.serve._private.replica")
    bind = replica.add_port_to_grpc_server
    if getattr(bind, "on_loopback", False):
        return

    def bind_on_loopback(server: Any, address: str) -> Any:
        return bind(server, address.replace(EVERYWHERE, LOOPBACK))

    bind_on_loopback.on_loopback = True  # type: ignore[attr-defined]  # marks the second call
    replica.add_port_to_grpc_server = bind_on_loopback
