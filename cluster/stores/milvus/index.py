"""Chunk vectors in Milvus: one collection for each encoder generation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types

from cluster.filters import Filter, scoped
from cluster.model import Generation, Scope, Vector
from cluster.settings import MilvusSettings
from cluster.stores.checks import require, storable
from cluster.stores.milvus.connection import Connection
from cluster.stores.milvus.errors import STORE, blaming_no_row
from cluster.stores.milvus.filters import ids_in, render
from cluster.stores.milvus.prepare import prepare
from cluster.stores.milvus.schema import collection_name, entity
from cluster.stores.milvus.server import Server
from cluster.stores.protocols import VectorRow
from cluster.stores.vector_rows import check_query, latest, ranked

BATCH_BYTES = 8 * 2**20
"""Servers refuse messages of 64 MB, proxies in front of them often smaller ones."""

IDS_AT_ONCE = 1000
PROBES_AT_ONCE = 200
SCAN_ROWS = 2000
BULK_TIMEOUT_S = 300.0
"""For a flush, and for a collection that is loaded or indexed with rows in it."""

LITE_FLUSH_ROWS = 1000
"""Milvus Lite compares each row that is not flushed yet, in Python, at 60 microseconds; with
5,000 of them every search takes a third of a second."""

Answer = TypeVar("Answer")


class MilvusVectorIndex:
    """`cluster.stores.protocols.VectorIndex` on Milvus Lite or a server.

    Searches read with bounded staleness: on a server, rows written in the last seconds may
    not be found yet, and `versions` says so. Milvus Lite always reads the latest. Writes of
    one object are serialised, which Milvus Lite needs.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        server: Server,
        name: str,
        generation: Generation,
        settings: MilvusSettings,
    ) -> None:
        self._connection = connection
        self._server = server
        self._dim = generation.dim
        self._settings = settings
        self._name = name
        self._writing = asyncio.Lock()
        self._unflushed = 0

    @classmethod
    async def open(
        cls, uri: str, *, token: str | None, generation: Generation, settings: MilvusSettings
    ) -> MilvusVectorIndex:
        """Make the collection and its indexes if they are not there, and load it.

        `StoreRejected` when a collection of that name has other fields or another dimension.
        """
        connection = await Connection.open(uri, token=token, timeout_s=settings.timeout_s)
        try:
            server, name = await connection.call(
                f"prepare {collection_name(generation)}",
                lambda client, _: prepare(client, generation=generation, settings=settings),
                timeout_s=BULK_TIMEOUT_S,
            )
        except BaseException:
            await connection.close()
            raise
        return cls(connection, server=server, name=name, generation=generation, settings=settings)

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        kept = latest(rows, dim=self._dim, store=STORE)
        tags_as = self._server.tags_as
        entities = [entity(row, tags_as=tags_as) for row in kept]
        async with self._writing:
            for batch in _batches(entities, rows=self._settings.batch_rows):
                await self._write(batch)
                self._unflushed += len(batch)
                if self._server.lite and self._unflushed >= LITE_FLUSH_ROWS:
                    await self._flush()

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        async with self._writing:
            for ids in _lists(require(chunk_ids, "chunk ids"), IDS_AT_ONCE):
                await self._delete(ids)

    async def search(
        self, vector: Vector, *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        check_query(vector, limit=limit, dim=self._dim, store=STORE)
        expression = render(scoped(scope, where), tags_as=self._server.tags_as)
        [hits] = await self._search([vector], expression, limit=limit, fields=[])
        return ranked((hit["chunk_id"], float(hit["distance"])) for hit in hits)

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Asks by vector search, as the read path does: a row that `get` returns can be
        missing from searches. Each row is searched by its own vector, so that only a row
        that really cannot be reached stays out."""
        found: dict[str, int] = {}
        for ids in _lists(require(chunk_ids, "chunk ids"), PROBES_AT_ONCE):
            found.update(await self._probe(ids))
        return found

    async def copies(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Rows stored under each of these ids: a server keeps both rows of a repeated insert,
        and its queries show one of them. Counted over many ids at once, then by halves."""
        found: dict[str, int] = {}
        for ids in _lists(require(chunk_ids, "chunk ids"), IDS_AT_ONCE):
            known = [chunk_id for chunk_id in dict.fromkeys(ids) if storable(chunk_id)]
            found.update(await self._copies(known))
        return found

    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        await self._call("scan", self._catch_up)
        iterator = await self._call("scan", self._iterator)
        while batch := await self._call("scan", lambda client, _: iterator.next()):
            yield [(row["chunk_id"], row["version"]) for row in batch]

    async def flush(self) -> None:
        async with self._writing:
            await self._flush()

    async def close(self) -> None:
        await self._connection.close()

    async def _flush(self) -> None:
        await self._call(
            "flush",
            lambda client, limit: client.flush(self._name, timeout=limit),
            timeout_s=BULK_TIMEOUT_S,
        )
        self._unflushed = 0

    async def _write(self, batch: list[dict[str, Any]]) -> None:
        with blaming_no_row():
            await self._call(
                "upsert", lambda client, limit: client.upsert(self._name, batch, timeout=limit)
            )

    async def _delete(self, ids: Sequence[str]) -> None:
        """Only texts that the store can hold are sent; others cannot be there."""
        if known := [chunk_id for chunk_id in ids if storable(chunk_id)]:
            await self._call(
                "delete",
                lambda client, limit: client.delete(
                    self._name, filter=ids_in(known), timeout=limit
                ),
            )

    async def _search(
        self, vectors: Sequence[Vector], expression: str, *, limit: int, fields: list[str]
    ) -> list[list[dict[str, Any]]]:
        params = {
            "metric_type": "COSINE",
            "params": dict(self._server.search_params(self._settings, limit=limit)),
        }
        answer = await self._call(
            "search",
            lambda client, timeout_s: client.search(
                self._name,
                list(vectors),
                filter=expression,
                limit=limit,
                output_fields=fields,
                search_params=params,
                anns_field="vector",
                consistency_level="Bounded",
                timeout=timeout_s,
            ),
        )
        return [_flat(hits) for hits in answer]

    async def _probe(self, ids: Sequence[str]) -> dict[str, int]:
        """Equal vectors hide each other behind the limit, so they are asked for together."""
        groups = await self._by_vector(ids)
        found: dict[str, int] = {}
        for size in {len(group) for _, group in groups}:
            same = [(vector, group) for vector, group in groups if len(group) == size]
            wanted = ids_in(chunk_id for _, group in same for chunk_id in group)
            vectors = [vector for vector, _ in same]
            for hits in await self._search(vectors, wanted, limit=size, fields=["version"]):
                found.update({hit["chunk_id"]: int(hit["version"]) for hit in hits})
        for vector, group in groups:
            for chunk_id in set(group) - found.keys():
                for hit in (
                    await self._search([vector], ids_in([chunk_id]), limit=1, fields=["version"])
                )[0]:
                    found[hit["chunk_id"]] = int(hit["version"])
        return found

    async def _copies(self, ids: list[str]) -> dict[str, int]:
        [counted] = await self._query(ids, ["count(*)"]) if ids else [{"count(*)": 0}]
        stored = int(counted["count(*)"])
        if stored == 0 or len(ids) == 1:
            return dict.fromkeys(ids, stored) if stored else {}
        there = {row["chunk_id"] for row in await self._query(ids, ["chunk_id"])}
        if len(there) == stored:
            return dict.fromkeys(there, 1)
        middle = len(ids) // 2
        return await self._copies(ids[:middle]) | await self._copies(ids[middle:])

    async def _query(self, ids: Sequence[str], fields: list[str]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = await self._call(
            "query",
            lambda client, timeout_s: client.query(
                self._name,
                filter=ids_in(ids),
                output_fields=fields,
                consistency_level="Strong",
                timeout=timeout_s,
            ),
        )
        return rows

    async def _by_vector(self, ids: Sequence[str]) -> list[tuple[Vector, list[str]]]:
        known = [chunk_id for chunk_id in dict.fromkeys(ids) if storable(chunk_id)]
        if not known:
            return []
        rows = await self._call(
            "query",
            lambda client, timeout_s: client.query(
                self._name,
                filter=ids_in(known),
                output_fields=["chunk_id", "vector"],
                limit=len(known),
                consistency_level="Bounded",
                timeout=timeout_s,
            ),
        )
        groups: dict[bytes, tuple[Vector, list[str]]] = {}
        for row in rows:
            vector = np.asarray(row["vector"], dtype=np.float32)
            groups.setdefault(vector.tobytes(), (vector, []))[1].append(row["chunk_id"])
        return list(groups.values())

    def _catch_up(self, client: MilvusClient, timeout_s: float) -> None:
        """Until everything that was written is read; the iterator does not wait for it."""
        client.query(
            self._name,
            filter=ids_in([""]),
            output_fields=["version"],
            limit=1,
            consistency_level="Strong",
            timeout=timeout_s,
        )

    def _iterator(self, client: MilvusClient, timeout_s: float) -> Any:
        return client.query_iterator(
            self._name,
            batch_size=SCAN_ROWS,
            output_fields=["chunk_id", "version"],
            consistency_level="Strong",
            timeout=timeout_s,
        )

    async def _call(
        self,
        what: str,
        call: Callable[[MilvusClient, float], Answer],
        *,
        timeout_s: float | None = None,
    ) -> Answer:
        return await self._connection.call(
            f"{what} {self._name}", call, collection=self._name, timeout_s=timeout_s
        )


def _batches(entities: list[dict[str, Any]], *, rows: int) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for row in entities:
        weight = _bytes(row)
        if batch and (len(batch) == rows or size + weight > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch


def _bytes(row: dict[str, Any]) -> int:
    texts = (value for value in row.values() if isinstance(value, str | list))
    return int(row["vector"].nbytes) + sum(len(str(text)) * 4 for text in texts) + 200


def _lists(ids: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(ids), size):
        yield list(ids[start : start + size])


def _flat(hits: Any) -> list[dict[str, Any]]:
    """Servers of 2.3 do not say how the primary key is called; the driver then says `id`."""
    flat = [{**hit["entity"], **hit} for hit in hits]
    return [hit if "chunk_id" in hit else {**hit, "chunk_id": hit["id"]} for hit in flat]
