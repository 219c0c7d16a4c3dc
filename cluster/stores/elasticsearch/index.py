"""The text index on an Elasticsearch server: any number of writers and readers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from cluster.filters import Filter, scoped
from cluster.model import Scope
from cluster.settings import TextIndexSettings
from cluster.stores.checks import require, require_limit
from cluster.stores.elasticsearch.aliases import check_layout, ensure_index
from cluster.stores.elasticsearch.bulk import deleting, write, writing
from cluster.stores.elasticsearch.connection import Connection
from cluster.stores.elasticsearch.errors import NOT_NOW, of_status
from cluster.stores.elasticsearch.filters import Query, render
from cluster.stores.elasticsearch.rows import CHUNK_ID, TERMS, can_be_id, indexed_term
from cluster.stores.protocols import TextRow
from cluster.text.terms import QueryTerm

PAGE = 10_000
"""The most that the server gives at once."""

SCAN_ROWS = 5000
KEEP_S = 120
"""How long the server keeps the view of a scan for its next batch."""


class ElasticsearchTextIndex:
    """`TextIndex` behind an alias of an Elasticsearch server.

    Scores are Lucene's: 32-bit floats, lengths over 40 terms rounded down to one of 256 steps,
    statistics (idf, mean length) over the rows of all tenants, with deleted rows counted until
    their segment is merged. With several shards they are gathered from all of them for each
    search.

    A row's version is its document's external version: an older one than the index has is
    passed over as done. A deleted row's version is remembered for an hour, so that a late
    write of it is passed over as well; after that the ledger's check of each answer protects.
    """

    def __init__(self, connection: Connection, *, alias: str, settings: TextIndexSettings) -> None:
        self._connection = connection
        self._alias = alias
        self._batch_rows = settings.batch_rows
        self._many_shards = settings.shards > 1

    @classmethod
    async def open(
        cls, settings: TextIndexSettings, *, read_only: bool = False
    ) -> ElasticsearchTextIndex:
        """Makes the index when it is not there and this is not a reader; until then a
        reader's calls raise `StoreUnavailable`.

        `StoreUnavailable` when the server does not answer or the index has no shards,
        `StoreRejected` when the server or the index is not one that we can use.
        """
        connection = await Connection.open(settings)
        try:
            if read_only:
                await check_layout(connection, settings.index)
            else:
                await ensure_index(connection, settings)
        except BaseException:
            await connection.close()
            raise
        return cls(connection, alias=settings.index, settings=settings)

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        """As `cluster.stores.elasticsearch.bulk.write` says."""
        latest = {row.row.chunk_id: row for row in require(rows, "rows")}
        # All are looked at before the first is sent.
        operations = [writing(row) for row in latest.values()]
        await write(self._connection, self._alias, operations, batch_rows=self._batch_rows)

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        """One version above the one that is there, so that the row's own cannot come back and
        the next one can, however often it is deleted."""
        asked = [name for name in dict.fromkeys(require(chunk_ids, "chunk ids")) if can_be_id(name)]
        for start in range(0, len(asked), PAGE):
            held = await self._held(asked[start : start + PAGE])
            operations = (deleting(name, version=version + 1) for name, version in held.items())
            await write(self._connection, self._alias, operations, batch_rows=self._batch_rows)

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        wanted, most = require(terms, "terms"), require_limit(limit)
        query = _scored(wanted, scoped(scope, where))
        hits: list[tuple[str, float]] = []
        after: list[Any] | None = None
        while len(hits) < most:
            size = min(PAGE, most - len(hits))
            page = await self._page(query, size=size, after=after)
            hits += [(str(hit["sort"][1]), float(hit["sort"][0])) for hit in page]
            if len(page) < size:
                break
            after = page[-1]["sort"]
        return hits

    async def matched(
        self, terms: Sequence[QueryTerm], *, chunk_ids: Sequence[str], scope: Scope
    ) -> dict[str, tuple[str, ...]]:
        """Which of `terms` each of these rows has, in the order of `terms`; rows that are not
        there, not inside `scope` or have none of them are absent."""
        wanted = require(terms, "terms")
        asked = [name for name in dict.fromkeys(require(chunk_ids, "chunk ids")) if can_be_id(name)]
        found: dict[str, tuple[str, ...]] = {}
        for start in range(0, len(asked), PAGE):
            part = asked[start : start + PAGE]
            wall: Query = {"bool": {"filter": [_of_ids(part), render(scoped(scope, None))]}}
            query = _any_of(wanted, wall, named=True)
            for hit in await self._search(query, size=len(part), sort=["_doc"]):
                places = sorted(int(name) for name in hit["matched_queries"])
                found[hit["_id"]] = tuple(wanted[place].term for place in places)
        return found

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        asked = [name for name in dict.fromkeys(require(chunk_ids, "chunk ids")) if can_be_id(name)]
        found: dict[str, int] = {}
        for start in range(0, len(asked), PAGE):
            part = asked[start : start + PAGE]
            hits = await self._search(_of_ids(part), size=len(part), sort=["_doc"])
            found.update({hit["_id"]: int(hit["_version"]) for hit in hits})
        return found

    async def scan(self) -> AsyncGenerator[list[tuple[str, int]], None]:
        """One point in time, however long it takes; it is given back at the end."""
        opened = await self._connection.call(
            "open a view",
            lambda client: client.open_point_in_time(
                index=self._alias,
                keep_alive=f"{KEEP_S}s",
                allow_partial_search_results=False,
            ),
        )
        view = _View(name=opened.body["id"])
        try:
            while batch := await self._scanned(view):
                yield batch
        finally:
            await self._connection.call(
                "close a view", lambda client: client.close_point_in_time(id=view.name)
            )

    async def close(self) -> None:
        await self._connection.close()

    async def _held(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Versions that the server has, searchable or not."""
        answer = await self._connection.call(
            "look for versions",
            lambda client: client.mget(index=self._alias, ids=chunk_ids, source=False),
        )
        documents = answer.body["docs"]
        if failed := next((one["error"] for one in documents if "error" in one), None):
            raise of_status("look for versions", NOT_NOW, failed)
        return {one["_id"]: int(one["_version"]) for one in documents if one["found"]}

    async def _page(
        self, query: Query, *, size: int, after: list[Any] | None
    ) -> list[Mapping[str, Any]]:
        """Best first, ties by chunk id."""
        return await self._search(
            query,
            size=size,
            sort=[{"_score": "desc"}, {CHUNK_ID: "asc"}],
            search_after=after,
            stored_fields="_none_",
            version=False,
            # Copies of a shard differ in the deleted rows that their statistics count.
            preference=f"q{crc32(repr(query).encode('utf-8', 'surrogatepass')):08x}",
        )

    async def _search(self, query: Query, **how: Any) -> list[Mapping[str, Any]]:
        """All shards or an error: hits of some of them would look like an answer."""
        body = {"version": True, "source": False, "track_total_hits": False, **how}
        answer = await self._connection.call(
            "search",
            lambda client: client.search(
                index=self._alias,
                query=query,
                allow_partial_search_results=False,
                search_type="dfs_query_then_fetch" if self._many_shards else None,
                **body,
            ),
        )
        hits: list[Mapping[str, Any]] = answer.body["hits"]["hits"]
        return hits

    async def _scanned(self, view: _View) -> list[tuple[str, int]]:
        answer = await self._connection.call(
            "scan",
            lambda client: client.search(
                pit={"id": view.name, "keep_alive": f"{KEEP_S}s"},
                size=SCAN_ROWS,
                sort=["_shard_doc"],
                search_after=view.after,
                allow_partial_search_results=False,
                version=True,
                source=False,
                track_total_hits=False,
            ),
        )
        hits = answer.body["hits"]["hits"]
        view.name = answer.body.get("pit_id", view.name)
        view.after = hits[-1]["sort"] if hits else None
        return [(hit["_id"], int(hit["_version"])) for hit in hits]


@dataclass(slots=True)
class _View:
    """The server may give it another name with each batch."""

    name: str
    after: list[Any] | None = None


def _scored(terms: Sequence[QueryTerm], wall: Filter) -> Query:
    return _any_of(terms, render(wall), named=False)


def _any_of(terms: Sequence[QueryTerm], wall: Query, *, named: bool) -> Query:
    """The score is the sum over the terms; the wall adds nothing to it."""
    clauses = [_clause(term, str(place) if named else None) for place, term in enumerate(terms)]
    return {"bool": {"should": clauses, "minimum_should_match": 1, "filter": [wall]}}


def _clause(term: QueryTerm, name: str | None) -> Query:
    """Not analysed: the term is looked up as it is."""
    value: dict[str, Any] = {"value": indexed_term(term.term), "boost": term.weight}
    return {"term": {TERMS: value if name is None else {**value, "_name": name}}}


def _of_ids(chunk_ids: Sequence[str]) -> Query:
    return {"ids": {"values": list(chunk_ids)}}
