"""The embedded text index: Tantivy in a folder, one writing process, any number of readers."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tantivy import Document, Index, IndexWriter, Occur, Query, Searcher

from cluster.errors import StoreRejected, StoreUnavailable
from cluster.filters import Filter, scoped
from cluster.model import Scope
from cluster.stores.checks import require, require_limit
from cluster.stores.protocols import TextRow
from cluster.stores.tantivy.filters import render
from cluster.stores.tantivy.rows import (
    BUCKET,
    BUCKETS,
    CHUNK_ID,
    TERMS,
    VERSION,
    build_schema,
    document,
)
from cluster.text.terms import QueryTerm

STORE = "text index"
REBUILD = "move the folder away and rebuild the index from the ledger"

Answer = TypeVar("Answer")


class TantivyTextIndex:
    """`TextIndex` on Tantivy. Each write is one durable commit, so write in batches.

    Scores are Tantivy's: 32-bit floats, lengths over 40 terms rounded down to one of 256
    steps (at most 11 %), statistics (idf, mean length) over the rows of all tenants, with deleted
    rows counted until their segment is merged. Scores are rounded to six digits so that
    equal rows are ties whatever the order of summing.
    """

    def __init__(self, path: Path, *, writer_heap_mb: int, read_only: bool) -> None:
        self._path = path
        self._heap_bytes = writer_heap_mb * 1024 * 1024
        self._read_only = read_only
        self._schema = build_schema()
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._index: Index | None = None
        self._writer: IndexWriter | None = None
        self._seen: tuple[int, int] | None = None
        self._folder: tuple[int, int] | None = None
        self._closed = False

    @classmethod
    def open(
        cls, path: Path, *, writer_heap_mb: int = 64, read_only: bool = False
    ) -> TantivyTextIndex:
        """The index in the folder `path`, made when it is not there.

        A writer that another process (or object) holds raises `StoreUnavailable`. A read-only
        index may be opened before the writer made the folder; until then its calls raise
        `StoreUnavailable`. A damaged folder, or one of another layout, raises `StoreRejected`.
        """
        index = cls(path, writer_heap_mb=writer_heap_mb, read_only=read_only)
        if not read_only:
            index._open_writer()
        return index

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        latest = {row.row.chunk_id: row for row in require(rows, "rows")}
        await asyncio.to_thread(self._upsert, latest)

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self._write, tuple(require(chunk_ids, "chunk ids")), ())

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        wall = scoped(scope, where)
        wanted, most = tuple(require(terms, "terms")), require_limit(limit)
        return await asyncio.to_thread(
            self._read, lambda searcher: self._search(searcher, wanted, wall, most)
        )

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        return dict(await self._stored(chunk_ids))

    async def copies(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Rows stored under each of these ids; more than one only where another program wrote."""
        return dict(Counter(chunk_id for chunk_id, _ in await self._stored(chunk_ids)))

    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        searcher: Searcher = await asyncio.to_thread(self._read, lambda searcher: searcher)
        for number in range(BUCKETS):
            query = Query.term_query(self._schema, BUCKET, number)
            rows = await asyncio.to_thread(_rows, searcher, query, limit=searcher.num_docs)
            if rows:
                yield rows

    async def close(self) -> None:
        """Waits for merges that run; afterwards another process may write."""
        await asyncio.to_thread(self._close)

    async def _stored(self, chunk_ids: Sequence[str]) -> list[tuple[str, int]]:
        asked = list(require(chunk_ids, "chunk ids"))
        query = Query.term_set_query(self._schema, CHUNK_ID, asked)
        return await asyncio.to_thread(
            self._read, lambda searcher: _all_rows(searcher, query, expected=len(asked))
        )

    def _upsert(self, latest: dict[str, TextRow]) -> None:
        self._write(tuple(latest), [document(row) for row in latest.values()])

    def _write(self, forget: Iterable[str], documents: Iterable[Document]) -> None:
        """Everything or nothing, searchable when it returns."""
        with self._writing:
            self._check_open()
            if self._read_only:
                raise StoreRejected(STORE, f"{self._path} is open for reading only")
            self._notice_another_folder()
            writer = self._writer or self._open_writer()
            try:
                for chunk_id in forget:
                    writer.delete_documents_by_term(CHUNK_ID, chunk_id)
                for row in documents:
                    writer.add_document(row)
                writer.commit()
                self._opened().reload()
            except (ValueError, OSError) as error:
                self._writer = self._index = None
                del writer  # gives its lock back; the next write starts anew on the last commit
                raise StoreUnavailable(STORE, _why_not_written(self._path, error)) from error

    def _read(self, ask: Callable[[Searcher], Answer]) -> Answer:
        self._check_open()
        if not self._read_only:
            with self._writing:
                self._notice_another_folder()
                if self._index is None:
                    self._open_writer()
        index = self._opened()
        try:
            self._catch_up(index)
            return ask(index.searcher())
        except (ValueError, OSError) as error:
            raise StoreUnavailable(STORE, f"cannot read {self._path}: {error}") from error

    def _search(
        self, searcher: Searcher, terms: Sequence[QueryTerm], wall: Filter, limit: int
    ) -> list[tuple[str, float]]:
        inside = render(
            wall,
            schema=self._schema,
            dictionary=lambda name: (text for text, _ in searcher.terms_with_prefix(name, "")),
        )
        query = Query.boolean_query(
            [
                (Occur.Must, Query.boolean_query([self._clause(term) for term in terms])),
                (Occur.Must, Query.const_score_query(inside, 0.0)),
            ]
        )
        return _best(searcher, query, limit=limit)

    def _clause(self, term: QueryTerm) -> tuple[Occur, Query]:
        query = Query.term_query(self._schema, TERMS, term.term, "freq")
        return Occur.Should, Query.boost_query(query, term.weight)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(STORE, f"{self._path} is closed")

    def _opened(self) -> Index:
        with self._opening:
            if self._index is None:
                if not (self._path / "meta.json").is_file():
                    raise StoreUnavailable(STORE, f"no index in {self._path} yet; start the writer")
                self._index = self._open_index()
            return self._index

    def _open_index(self) -> Index:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            index = Index(self._schema, path=str(self._path), reuse=True)
            index.config_reader("manual")
            index.reload()
        except OSError as error:
            raise StoreUnavailable(STORE, f"cannot open {self._path}: {error}") from error
        except ValueError as error:
            raise StoreRejected(STORE, f"cannot open {self._path}: {error}; {REBUILD}") from error
        return index

    def _open_writer(self) -> IndexWriter:
        if self._index is None:
            self._index = self._open_index()
        try:
            self._writer = self._index.writer(heap_size=self._heap_bytes, num_threads=1)
            self._folder = _identity(self._path)
        except (ValueError, OSError) as error:
            reason = str(error)
            if "LockBusy" in reason:
                reason = "another process writes there; stop it first"
            raise StoreUnavailable(STORE, f"cannot write to {self._path}: {reason}") from error
        return self._writer

    def _notice_another_folder(self) -> None:
        """The folder was moved away, to be built again: a writer that went on from what it
        remembers would refer to files that are not there."""
        if self._index is not None and self._folder != _identity(self._path):
            self._writer = self._index = None

    def _catch_up(self, index: Index) -> None:
        """See the commits of the writing process; it replaces `meta.json` with each."""
        if not self._read_only:
            return
        status = (self._path / "meta.json").stat()
        state = (status.st_ino, status.st_mtime_ns)
        with self._opening:
            if state != self._seen:
                index.reload()
                self._seen = state

    def _close(self) -> None:
        with self._writing:
            writer, self._writer, self._closed = self._writer, None, True
            if writer is not None:
                writer.wait_merging_threads()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _why_not_written(path: Path, error: Exception) -> str:
    if "os error 28" in str(error) or "StorageFull" in str(error):
        return f"cannot write to {path}: the disk is full; free some space and call again"
    return f"cannot write to {path}: {error}"


def _rows(searcher: Searcher, query: Query, *, limit: int) -> list[tuple[str, int]]:
    """Chunk ids and versions of what the query finds."""
    found = searcher.search(query, max(1, limit), count=False).hits
    documents = (searcher.doc(address) for _, address in found)
    return [(held[CHUNK_ID][0], held[VERSION][0]) for held in documents]


def _all_rows(searcher: Searcher, query: Query, *, expected: int) -> list[tuple[str, int]]:
    """As `_rows`, also where one id was written twice: no row pushes another one out."""
    limit = expected + 1
    while len(rows := _rows(searcher, query, limit=limit)) == limit:
        limit *= 2
    return rows


def _best(searcher: Searcher, query: Query, *, limit: int) -> list[tuple[str, float]]:
    """Tantivy breaks ties by place in the index; so ask until the last tie is complete."""
    wanted = limit + 1
    while True:
        found = searcher.search(query, wanted, count=False).hits
        scores = [float(f"{score:.6g}") for score, _ in found]
        if len(found) < wanted or scores[-1] < scores[limit - 1]:
            break
        wanted *= 4
    chosen = [
        (searcher.doc(address)[CHUNK_ID][0], score)
        for score, (_, address) in zip(scores, found, strict=True)
        if score >= scores[min(limit, len(scores)) - 1]
    ]
    return sorted(chosen, key=lambda hit: (-hit[1], hit[0]))[:limit]
