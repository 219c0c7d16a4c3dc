"""Where a scenario plays: the stores of one machine, or the servers of a cluster."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from chaos.cluster_servers import ClusterElasticsearch, ClusterMilvus, ClusterPostgres
from chaos.harness import INDEXER
from chaos.servers import MilvusLite, Postgres, Server
from servers import elasticsearch, milvus


@contextmanager
def embedded_stores(folder: Path) -> Iterator[list[Server]]:
    """PostgreSQL and Milvus Lite as the local stack runs them; the text index is a folder."""
    with running([Postgres(folder), MilvusLite(folder)]) as servers:
        yield servers


@contextmanager
def cluster_stores(folder: Path) -> Iterator[list[Server]]:
    """PostgreSQL, Milvus and Elasticsearch. `Missing` says what one of them lacks."""
    with ExitStack() as kept:
        # Where the servers' own users can reach it.
        postgres = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="palimpsest-pg-")))
        postgres.chmod(0o755)
        places = [milvus.new_folder(), elasticsearch.new_folder()]
        for place in places:
            kept.callback(shutil.rmtree, place, ignore_errors=True)
        servers: list[Server] = [
            ClusterPostgres(postgres),
            ClusterMilvus(places[0]),
            ClusterElasticsearch(places[1]),
        ]
        with running(servers):
            yield servers


PLACES: Mapping[str, Callable[[Path], AbstractContextManager[list[Server]]]] = {
    "embedded": embedded_stores,
    "servers": cluster_stores,
}


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
    """The stores that can be killed. The indexer's process is the embedded text index's; beside
    Elasticsearch it is one of ours like any other."""
    names = [server.name for server in servers]
    return names if "elasticsearch" in names else [*names, INDEXER]
