"""Where a scenario plays: the stores of one machine, or the servers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chaos.harness import INDEXER
from chaos.servers import MilvusLite, Postgres, Server


@contextmanager
def embedded_stores(folder: Path) -> Iterator[list[Server]]:
    """PostgreSQL and Milvus Lite as the local stack runs them; the text index is a folder."""
    with running([Postgres(folder), MilvusLite(folder)]) as servers:
        yield servers


@contextmanager
def running(servers: list[Server]) -> Iterator[list[Server]]:
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.kill()


def victims(servers: Sequence[Server]) -> list[str]:
    """The stores that can be killed; the indexer's process is the embedded text index's."""
    return [*(server.name for server in servers), INDEXER]
