"""Make an Elasticsearch server drop deleted rows from its segments."""

from __future__ import annotations

from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.connection import Connection

LIMIT_S = 600.0


async def expunge(settings: TextIndexSettings) -> str:
    """Merge the segments that hold deleted rows; what happened, in words."""
    connection = await Connection.open(settings)
    try:
        await connection.call(
            "forcemerge",
            lambda client: client.indices.forcemerge(
                index=settings.index, only_expunge_deletes=True, flush=True
            ),
            timeout_s=LIMIT_S,
        )
    finally:
        await connection.close()
    return "segments with removed rows were merged"
