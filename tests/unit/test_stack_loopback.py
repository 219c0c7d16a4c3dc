"""The replica's private server asks for loopback, whatever Ray asked for."""

from __future__ import annotations

import importlib

import pytest

from cluster.stack.loopback import keep_replica_on_loopback


def test_a_replica_binds_to_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    replica = importlib.import_module("ray.serve._private.replica")
    asked: list[str] = []
    monkeypatch.setattr(
        replica, "add_port_to_grpc_server", lambda _s, address: asked.append(address)
    )
    keep_replica_on_loopback()
    keep_replica_on_loopback()
    replica.add_port_to_grpc_server(None, "[::]:0")
    assert asked == ["127.0.0.1:0"]
