"""Collections of encoder generations as wholes: opened, named for people, dropped."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from cluster.errors import StoreRejected
from cluster.model import Generation
from cluster.settings import MilvusSettings
from cluster.stores.milvus.connection import Connection
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.milvus.prepare import held_name
from cluster.stores.milvus.schema import collection_names
from cluster.stores.milvus.server import detect

ALIAS = "chunks_active"
"""The collection that questions search, for those who look with other tools. We do not read
it: the ledger says which generation is active."""

GONE = "gone_"
DROP_TRIES = 5
DROP_PAUSE_S = 1.0
"""Milvus Lite cannot drop a collection that it is writing files for at the moment."""

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusCollections:
    """`cluster.stores.protocols.Collections` on one Milvus. A connection for each call: they
    are rare."""

    uri: str
    token: str | None
    settings: MilvusSettings

    async def open(self, generation: Generation) -> MilvusVectorIndex:
        return await MilvusVectorIndex.open(
            self.uri, token=self.token, generation=generation, settings=self.settings
        )

    async def point(self, generation: Generation) -> None:
        try:
            await self._call("move the alias", partial(_point, generation=generation))
        except StoreRejected as error:
            _log.warning("the alias %s is not moved: %s", ALIAS, error)

    async def drop(self, generations: Sequence[Generation]) -> int:
        names = [name for one in generations for name in collection_names(one)]
        for _ in range(DROP_TRIES - 1):
            try:
                return await self._call("drop collections", partial(_drop, names=names))
            except StoreRejected as error:
                _log.warning("%s; tried again", error)
                await asyncio.sleep(DROP_PAUSE_S)
        return await self._call("drop collections", partial(_drop, names=names))

    async def _call(self, what: str, call: Callable[[MilvusClient], Answer]) -> Answer:
        timeout_s = self.settings.timeout_s
        connection = await Connection.open(self.uri, token=self.token, timeout_s=timeout_s)
        try:
            return await connection.call(what, lambda client, _: call(client))
        finally:
            await connection.close()


def _point(client: MilvusClient, *, generation: Generation) -> None:
    """Create or alter, by what is there: `alter` of one that is not is an error."""
    name = held_name(client, generation)
    if name is None:
        return
    held = client.list_aliases(name).get("aliases", [])
    if ALIAS in held:
        return
    if client.has_collection(ALIAS):
        client.alter_alias(name, ALIAS)
    else:
        client.create_alias(name, ALIAS)


def _drop(client: MilvusClient, *, names: Sequence[str]) -> int:
    held = set(client.list_collections())
    there = [name for name in names if name in held]
    for name in there:
        for alias in client.list_aliases(name).get("aliases", []):
            client.drop_alias(alias)
        client.drop_collection(_out_of_the_way(client, name))
    for left in client.list_collections():
        if left.startswith(GONE):
            client.drop_collection(left)
    return len(there)


def _out_of_the_way(client: MilvusClient, name: str) -> str:
    """Milvus Lite deletes a folder file by file. When that stops half-way, what is left must
    not stand where a collection of that name is made again."""
    if not detect(client.get_server_version()).lite:
        return name
    gone = f"{GONE}{uuid.uuid4().hex}"
    client.rename_collection(name, gone)
    return gone
