"""The seams to storage: what a store must do, in types and in words.

Common to all: every call either returns what it says, or raises `StoreUnavailable` (call
again) or `StoreRejected` (a retry would fail again). Nothing turns an error into an empty
answer. An empty sequence where ids or rows are expected raises `InvalidRequest`. `close`
may be called twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from cluster.filters import Filter
from cluster.model import (
    ApiKey,
    Chunk,
    Generation,
    IndexRow,
    ItemProblem,
    Revision,
    Run,
    Scope,
    StoredPassage,
    Vector,
)
from cluster.text.terms import QueryTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRow:
    row: IndexRow
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """`terms` in the order of the text, repeats kept (`cluster.text.terms.document_terms`)."""

    row: IndexRow
    terms: tuple[str, ...]


class VectorIndex(Protocol):
    """Nearest-neighbour search over chunk vectors of one encoder generation."""

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Write rows by chunk id; a repeated id replaces, the last of a batch wins.

        Raises `StoreRejected` for a wrong dimension, NaN, infinity or a norm off 1 by more
        than 0.01, naming the chunk; then nothing of the call was written.
        """
        ...

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        """Forget these ids. An unknown id is not an error."""
        ...

    async def search(
        self, vector: Vector, *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        """The `limit` nearest `(chunk_id, cosine)` inside `filters.scoped(scope, where)`;
        best first, ties by chunk id."""
        ...

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Row versions of those ids that a search can find at this moment."""
        ...

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Every `(chunk_id, version)` in batches, in no particular order."""
        ...

    async def flush(self) -> None:
        """Make bulk writes durable; call after bulk work, never per row."""
        ...

    async def close(self) -> None: ...


class TextIndex(Protocol):
    """BM25 over our own terms (`cluster.text.terms`)."""

    async def upsert(self, rows: Sequence[TextRow]) -> None:
        """Write rows by chunk id; a repeated id replaces, the last of a batch wins.
        Searchable when the call returns."""
        ...

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        """Forget these ids. An unknown id is not an error. Effective when the call returns."""
        ...

    async def search(
        self, terms: Sequence[QueryTerm], *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        """The `limit` best `(chunk_id, score)` with at least one of `terms`, inside
        `filters.scoped(scope, where)`; score = sum of weight x BM25(term), k1 1.2, b 0.75;
        best first, ties by chunk id. No terms: `InvalidRequest`."""
        ...

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Row versions of those ids that a search can find at this moment."""
        ...

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Every `(chunk_id, version)` in batches, in no particular order."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A revision with its chunks, ready to be written. `chunks` cover the revision."""

    revision: Revision
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """Index work that is owed: bring both indexes to the ledger's state of `chunk_id`."""

    entry_id: int
    chunk_id: str
    version: int
    operation: Literal["upsert", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexWork:
    """The ledger's present state of a chunk: a row to write, or `None` when it must be gone."""

    chunk_id: str
    row: IndexRow | None
    indexed_text: str
    language: str
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """One edition of a document that is visible, as listings show it."""

    document_id: str
    revision_id: str
    kind: str
    source: str
    path: str
    title: str
    language: str
    source_type: str
    source_url: str | None
    product: str | None
    edition: str
    newest_edition: bool
    published_at: datetime | None
    updated_at: datetime | None
    recorded_at: datetime
    authority: float
    quote_policy: str
    chunk_count: int
    text_sha256: str


class Documents(Protocol):
    async def digests(self, tenant: str, origins: Sequence[str]) -> dict[str, str]:
        """origin -> item digest of the revision that is pending or visible. Unknown: absent."""
        ...

    async def put(self, batch: Sequence[Prepared], *, now: datetime) -> int:
        """Write revisions as `pending`, with their chunks and the outbox entries that they
        owe; returns how many were new. A revision id that is already pending or visible is
        left as it is; one that was superseded or deleted comes back as pending. Their
        vectors must be there first (`Vectors.put`), else `InvalidRequest`."""
        ...

    async def publishable(self, *, limit: int) -> dict[str, dict[str, int]]:
        """revision id -> {chunk id: row version} of pending revisions without open outbox
        entries, oldest first: at most `limit`, and no more when those before have 20,000 chunks
        already."""
        ...

    async def unshown(self, tenant: str, *, run_id: str, limit: int) -> tuple[int, list[str]]:
        """How many revisions that this run wrote are still pending, and the origins of the first
        `limit` of them, in the order of their puts."""
        ...

    async def publish(
        self, revision_ids: Sequence[str], *, now: datetime, settled: bool = False
    ) -> int:
        """Make pending revisions visible and, in the same transaction, supersede the former
        revision of the same edition and queue the removal of its chunks; recompute which
        edition is the newest and queue the rows whose flag changed. Of two pending revisions of
        one edition the one put last wins.

        The same goes for revisions of other documents that have the same tenant, owner, origin
        and edition: the item became another document, and its former one goes. Whoever puts
        gives each item an origin of its own. Returns how many became visible.

        `settled` leaves out, and pending, those that owe index work by now: they were deleted
        and put again since they were found to owe none."""
        ...

    async def requeue(self, chunk_ids: Sequence[str]) -> None:
        """Owe the indexes these chunks again (a probe did not find them)."""
        ...

    async def visible(self, scope: Scope, chunk_ids: Sequence[str]) -> dict[str, StoredPassage]:
        """The batched ledger check: those of the chunks that `scope` may see and whose
        revision is visible now."""
        ...

    async def neighbours(
        self, scope: Scope, chunk_id: str, *, before: int, after: int
    ) -> list[StoredPassage]:
        """Visible chunks around one, of the same revision (for a turn: of the same session),
        in reading order, without itself."""
        ...

    async def recent(
        self, scope: Scope, *, where: Filter | None, limit: int
    ) -> list[tuple[str, datetime]]:
        """First chunk of the visible documents and turns that carry the latest moment (said,
        updated, else published), latest first, ties by chunk id; undated ones are left out."""
        ...

    async def page(
        self, scope: Scope, *, where: Filter | None, after: str | None, limit: int
    ) -> tuple[list[DocumentSummary], str | None]:
        """A page of visible editions ordered by (document id, edition key), and the cursor of
        the next page (`None` at the end)."""
        ...

    async def editions(self, scope: Scope, document_id: str) -> list[DocumentSummary]:
        """The visible editions of one document, newest first. Not there, or not for this
        scope: `NotFound`."""
        ...

    async def known_editions(self, scope: Scope) -> list[tuple[str, str]]:
        """Each `(product or "", edition)` that is visible and has an edition, sorted."""
        ...

    async def text(self, scope: Scope, revision_id: str) -> str:
        """The stored text that offsets point into. `NotFound` as above."""
        ...

    async def delete(self, scope: Scope, document_ids: Sequence[str]) -> int:
        """Make all editions and revisions of these documents invisible at once and queue the
        removal of their chunks; text, chunks and their vectors leave the ledger when no
        other chunk needs them. Returns how many documents were there."""
        ...

    async def retire(
        self, tenant: str, *, under: Sequence[str], keep_origins: Sequence[str]
    ) -> int:
        """Delete the editions, of whatever source, of which each revision that is pending or
        visible has an origin under one of the addresses `under`, but not among `keep_origins`
        (gone from there). Under `file:///a/docs` are itself and what goes on with `/` or `#`,
        not `file:///a/docs2`. An empty `under` or `keep_origins` is `InvalidRequest`. Returns
        how many editions."""
        ...

    async def counts(self, tenant: str | None) -> dict[str, int]:
        """`documents`, `editions`, `chunks`, `turns` that are visible, and `pending`."""
        ...


class VectorCache(Protocol):
    """Vectors by (digest of the text, encoder fingerprint): cache, source of the indexer."""

    async def known(self, text_digests: Sequence[str], *, fingerprint: str) -> set[str]:
        """Those that `get` would find."""
        ...

    async def get(self, text_digests: Sequence[str], *, fingerprint: str) -> dict[str, Vector]: ...

    async def put(self, vectors: Mapping[str, Vector], *, fingerprint: str) -> None: ...


class Outbox(Protocol):
    async def take(self, *, limit: int) -> list[OutboxEntry]:
        """The oldest open entries, without removing them."""
        ...

    async def work(self, chunk_ids: Sequence[str]) -> list[IndexWork]:
        """The present state of these chunks, as both indexes should have it."""
        ...

    async def done(self, entries: Sequence[OutboxEntry]) -> None:
        """Remove entries whose version is still the one that was taken."""
        ...

    async def lag(self) -> tuple[int, timedelta]:
        """Open entries, and the age of the oldest."""
        ...


class Runs(Protocol):
    async def start(self, run: Run) -> None: ...

    async def update(
        self,
        run_id: str,
        *,
        state: str,
        counts: Mapping[str, int],
        now: datetime,
        error: str | None = None,
    ) -> None:
        """Counts replace those of the same stage. `finished_at` is set by a final state."""
        ...

    async def interrupt(self, run_id: str, *, now: datetime, error: str) -> bool:
        """End as `interrupted` a run that is `running`; whether it was. Its counts stay."""
        ...

    async def add_problems(self, run_id: str, problems: Sequence[ItemProblem]) -> None:
        """Idempotent by (run, origin, stage)."""
        ...

    async def get(self, tenant: str, run_id: str) -> tuple[Run, list[ItemProblem]]: ...

    async def latest(self, tenant: str, *, limit: int) -> list[Run]:
        """Latest first."""
        ...


class Uploads(Protocol):
    """Bytes that wait for the ingest worker."""

    async def put(
        self,
        run_id: str,
        tenant: str,
        *,
        name: str,
        media_type: str | None,
        content: bytes,
        arguments: Mapping[str, str],
    ) -> None: ...

    async def get(self, run_id: str) -> tuple[str, str, str | None, bytes, dict[str, str]]:
        """tenant, name, media type, content, arguments. `NotFound` when it is gone."""
        ...

    async def waiting(self) -> list[str]:
        """Run ids, oldest first."""
        ...

    async def delete(self, run_id: str) -> None: ...


class Keys(Protocol):
    async def put(self, key: ApiKey, *, secret_sha256: str) -> None: ...

    async def find(self, secret_sha256: str) -> ApiKey | None:
        """The key that is not revoked."""
        ...

    async def all_of(self, tenant: str | None) -> list[ApiKey]: ...

    async def revoke(self, key_id: str, *, now: datetime) -> None:
        """Unknown id: `NotFound`."""
        ...


class Generations(Protocol):
    async def active(self) -> Generation | None: ...

    async def activate(self, generation: Generation) -> None:
        """First come: `InvalidRequest` when another one is active."""
        ...


class Transaction(Protocol):
    """All parts share one database transaction."""

    @property
    def documents(self) -> Documents: ...
    @property
    def vectors(self) -> VectorCache: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def uploads(self) -> Uploads: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def generations(self) -> Generations: ...


class Lease(Protocol):
    """The right to do something alone, while the `Ledger.lease` block lasts."""

    async def check(self) -> None:
        """`StoreUnavailable` when the right may have been lost; leave the block then."""
        ...


class Ledger(Protocol):
    """The truth. Leaving the block normally commits; an exception rolls everything back."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...

    def wake_ups(self) -> AsyncGenerator[None, None]:
        """Yields soon after index work or an upload was added, and once a second anyway,
        also while the store is out of reach."""
        ...

    def lease(self, name: str) -> AbstractAsyncContextManager[Lease]:
        """Enter as the only holder of `name` among all processes; waits for the former one."""
        ...

    async def close(self) -> None: ...
