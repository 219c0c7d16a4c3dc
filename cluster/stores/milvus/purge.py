"""Make a Milvus server drop deleted rows from its segments."""

from __future__ import annotations

from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from cluster.stores.milvus.errors import translated

PREFIX = "chunks_"


def compact(uri: str, *, token: str | None) -> str:
    """Flush and compact every collection of ours; what happened, in words. The server removes
    the old segments from its storage some time later, as `dataCoord.gc` is set."""
    with translated("compact"):
        client = MilvusClient(uri=uri, token=token or "")
        try:
            names = [name for name in client.list_collections() if name.startswith(PREFIX)]
            for name in names:
                client.flush(name)
                client.compact(name)
        finally:
            client.close()
    return f"{len(names)} collections compacted; the server drops old segments after a while"
