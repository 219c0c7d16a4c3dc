"""A new index beside the one in use, and the switch from one to the other.

    replacement = await Replacement.begin(settings)
    await replacement.index.upsert(rows)  # all of the ledger's; none: start empty
    await replacement.swap()              # or `abandon`

Whoever replaces it holds the indexer's lease: a row that is written to the old index meanwhile
is not in the new one.
"""

from __future__ import annotations

from typing import Any

from cluster.errors import StoreUnavailable
from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.aliases import (
    WHOLE_INDEX_S,
    behind,
    create,
    next_of,
    remove,
)
from cluster.stores.elasticsearch.connection import Connection
from cluster.stores.elasticsearch.errors import STORE
from cluster.stores.elasticsearch.index import ElasticsearchTextIndex


class Replacement:
    """`index` is the new one, empty at first; searches go to the old one until `swap`."""

    def __init__(self, connection: Connection, settings: TextIndexSettings) -> None:
        self._connection = connection
        self._alias = settings.index
        self.index = ElasticsearchTextIndex(
            connection, alias=next_of(settings.index), settings=settings
        )

    @classmethod
    async def begin(cls, settings: TextIndexSettings) -> Replacement:
        """What an earlier replacement left unfinished is removed. The index in use may be of
        another layout, or not there at all."""
        connection = await Connection.open(settings)
        try:
            await remove(connection, next_of(settings.index))
            await create(connection, settings, alias=next_of(settings.index))
        except BaseException:
            await connection.close()
            raise
        return cls(connection, settings)

    async def swap(self) -> None:
        """The alias goes to the new index and the old one away, in one step; closes."""
        old = await behind(self._connection, self._alias)
        new = await behind(self._connection, next_of(self._alias))
        if len(new) != 1:
            raise StoreUnavailable(
                STORE, f"{next_of(self._alias)} is gone: another replacement began; begin again"
            )
        actions: list[dict[str, Any]] = [
            *({"remove_index": {"index": name}} for name in old),
            {"remove": {"index": new[0], "alias": next_of(self._alias)}},
            {"add": {"index": new[0], "alias": self._alias, "is_write_index": True}},
        ]
        await self._connection.call(
            f"switch {self._alias} to {new[0]}",
            lambda client: client.indices.update_aliases(actions=actions),
            timeout_s=WHOLE_INDEX_S,
        )
        await self._connection.close()

    async def abandon(self) -> None:
        """The index in use stays; closes."""
        await remove(self._connection, next_of(self._alias))
        await self._connection.close()


async def removed(settings: TextIndexSettings) -> None:
    """The index in use and one that is being built, if there are any."""
    connection = await Connection.open(settings)
    try:
        for alias in (settings.index, next_of(settings.index)):
            await remove(connection, alias)
    finally:
        await connection.close()
