"""Documents, their revisions and chunks in the ledger."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from cluster.filters import Filter
from cluster.model import (
    Chunk,
    Revision,
    Scope,
    StoredPassage,
    Vector,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A revision with its chunks, ready to be written. `chunks` cover the revision. `bands`:
    chunk id -> its sketch (`cluster.text.sketches`), of those that have one."""

    revision: Revision
    chunks: tuple[Chunk, ...]
    bands: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


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
        left as it is, but for origin, item digest and place in the order of puts; one that was
        superseded or deleted comes back as pending. Their vectors must be there first
        (`VectorCache.put`), else `InvalidRequest`."""
        ...

    async def publishable(
        self, *, limit: int, slots: Collection[int] | None = None
    ) -> dict[str, dict[str, int]]:
        """revision id -> {chunk id: row version} of pending revisions that owe no index work to
        all indexes, oldest first: at most `limit`, and no more when those before have 20,000
        chunks already. `slots`: only revisions that fall into them; `None` is all."""
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

    async def alike(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, list[str]]:
        """For those of the chunks that are visible, other visible chunks with a band of their
        sketch in common, in the order of ids, at most `limit` each; absent where there are
        none. Of a band that thousands share, some may be missing."""
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

    async def texts(self, scope: Scope, revision_ids: Sequence[str]) -> dict[str, str]:
        """Stored texts by revision id, for an answer that was checked a moment ago: of those
        that are visible, or were until they were superseded. Deleted ones are absent."""
        ...

    async def replaced(
        self, scope: Scope, chunk_ids: Sequence[str], *, since: datetime
    ) -> set[str]:
        """The revisions that became visible at or after `since` in the place of those, of the
        same edition of the same document, that these chunks belong to."""
        ...

    async def delete(self, scope: Scope, document_ids: Sequence[str]) -> int:
        """Make all editions and revisions of these documents invisible at once and queue the
        removal of their chunks; text and chunks leave the ledger, and vectors that no other
        chunk needs. Returns how many documents were there."""
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

    async def put(
        self,
        vectors: Mapping[str, Vector],
        *,
        fingerprint: str,
        tokens: Mapping[str, bytes] | None = None,
    ) -> None:
        """A vector that is there already stays as it is. `tokens` are the packed token vectors
        (`cluster.models.token_vectors`) of those texts for which there are some, by the same
        keys, else `InvalidRequest`; they come in the place of those that are there."""
        ...

    async def tokens_of(
        self, scope: Scope, chunk_ids: Sequence[str], *, fingerprint: str
    ) -> dict[str, bytes]:
        """Packed token vectors by chunk id, of those chunks that `scope` may see and whose
        revision is visible now; without an entry where there are none."""
        ...

    async def drop_unneeded(self, *, after: str, limit: int) -> tuple[int, str | None]:
        """Of the next `limit` vectors after the key `after`, in the order of the keys, drop those
        that no chunk needs, by whatever encoder: how many, and the last key, `None` when there
        were no more. A vector that a revision is just being put for stays, or the put is
        refused ("put its vector first")."""
        ...
