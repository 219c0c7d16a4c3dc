"""Documents, revisions and chunks in PostgreSQL; `cluster.stores.protocols.Documents`.

Whoever changes a document's revisions first locks the document's row, in the order of ids.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from cluster.errors import InvalidRequest, NotFound
from cluster.filters import Filter, scoped
from cluster.ids import vector_key
from cluster.model import Scope, StoredPassage
from cluster.stores.checks import (
    MAX_PUBLISHABLE_CHUNKS,
    check_batch,
    check_same_owner,
    refuse_forgotten,
    require,
    require_limit,
    storable,
)
from cluster.stores.postgres.filters import render
from cluster.stores.postgres.forgetting import PostgresForgetting
from cluster.stores.postgres.generations import claim
from cluster.stores.postgres.rows import (
    chunk_record,
    lineage_records,
    read_passages,
    read_summary,
    revision_record,
    to_json,
)
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.postgres.usage_erasure import UsageErasure
from cluster.stores.protocols import DocumentSummary, Prepared
from cluster.stores.succession import (
    LiveRevision,
    changed_flags,
    decide_succession,
    expected_newest,
    gone_editions,
)

ERASED_AT_ONCE = 500
"""Revisions that one statement erases: of very many it would not be done in time."""


class PostgresDocuments:
    def __init__(self, connection: Connection, forgetting: PostgresForgetting) -> None:
        self._connection = connection
        self._forgetting = forgetting
        self._sql = Statements(connection, "documents")
        self._usage = UsageErasure(connection)

    async def digests(self, tenant: str, origins: Sequence[str]) -> dict[str, str]:
        asked = [origin for origin in require(origins, "origins") if storable(origin)]
        rows = await self._sql.rows("digests", {"tenant": tenant, "origins": asked})
        return dict(rows)

    async def put(self, batch: Sequence[Prepared], *, now: datetime) -> int:
        check_batch(batch)
        last = {prepared.revision.revision_id: prepared for prepared in batch}
        await self._forgetting.lock_puts(sorted({one.revision.tenant for one in batch}))
        refuse_forgotten(await self._forgetting.refused([one.revision for one in batch]))
        live = await self._claim_documents(list(last.values()))
        orders = await self._sql.rows("next_put_orders", {"count": len(last)})
        ordered = [(order[0], one) for order, one in zip(orders, last.values(), strict=True)]
        known = {one.revision_id for one in live}
        fresh = [pair for pair in ordered if pair[1].revision.revision_id not in known]
        if fresh:
            fingerprints = {one.revision.fingerprint for _, one in fresh}
            await claim(self._connection, fingerprints, active=True)
            await self._check_vectors([prepared for _, prepared in fresh])
        await self._touch([pair for pair in ordered if pair[1].revision.revision_id in known])
        if fresh:
            await self._write(fresh, live, now=now)
            await self._notify()
        return len(fresh)

    async def publishable(
        self, *, limit: int, slots: Collection[int] | None = None
    ) -> dict[str, dict[str, int]]:
        asked = {
            "limit": require_limit(limit),
            "chunks": MAX_PUBLISHABLE_CHUNKS,
            "slots": None if slots is None else list(slots),
        }
        rows = await self._sql.rows("publishable", asked)
        found: dict[str, dict[str, int]] = {}
        for revision, chunk, version in rows:
            found.setdefault(revision, {})[chunk] = version
        return found

    async def unshown(self, tenant: str, *, run_id: str, limit: int) -> tuple[int, list[str]]:
        asked = {"tenant": tenant, "run": run_id, "limit": require_limit(limit)}
        rows = await self._sql.rows("unshown", asked)
        return (rows[0][0] if rows else 0), [row[1] for row in rows]

    async def publish(
        self, revision_ids: Sequence[str], *, now: datetime, settled: bool = False
    ) -> int:
        ids = list(require(revision_ids, "revision ids"))
        locked = await self._sql.rows("lock_documents_to_publish", {"ids": ids})
        if not locked:
            return 0
        if settled:
            owing = {row[0] for row in await self._sql.rows("owing", {"ids": ids})}
            ids = [one for one in ids if one not in owing]
        live = await self._live([row[0] for row in locked])
        change = decide_succession(live, wanted=set(ids))
        if change.superseded:
            superseded = list(change.superseded)
            await self._sql.run("supersede", {"ids": superseded, "now": now})
            await self._queue(superseded, operation="delete")
        await self._sql.run("show", {"ids": list(change.shown), "now": now})
        await self._set_flags(change.flags)
        return len(change.shown)

    async def requeue(self, chunk_ids: Sequence[str]) -> None:
        ids = list(require(chunk_ids, "chunk ids"))
        await self._sql.run("queue_chunks", {"ids": ids})
        await self._usage.note_chunks(ids)
        await self._notify()

    async def visible(self, scope: Scope, chunk_ids: Sequence[str]) -> dict[str, StoredPassage]:
        asked = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        return read_passages(await self._sql.rows("visible", {**_walls(scope), "ids": asked}))

    async def alike(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, list[str]]:
        asked = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        values = {**_walls(scope), "ids": asked, "limit": require_limit(limit)}
        found: dict[str, list[str]] = {}
        for chunk, other in await self._sql.rows("alike", values):
            found.setdefault(chunk, []).append(other)
        return found

    async def neighbours(
        self, scope: Scope, chunk_id: str, *, before: int, after: int
    ) -> list[StoredPassage]:
        if before < 0 or after < 0:
            raise InvalidRequest(f"before {before}, after {after}: neither may be negative")
        if not storable(chunk_id):
            return []
        places = await self._sql.rows("place", {**_walls(scope), "id": chunk_id})
        if not places:
            return []
        names = ("revision", "ordinal", "kind", "document", "source", "conversation", "session")
        place = dict(zip((*names, "turn"), places[0], strict=True))
        statement = "around_in_session" if place["kind"] == "turn" else "around_in_revision"
        sides = {"before": before, "after": after}
        rows = await self._sql.rows(statement, {**_walls(scope), **place, **sides})
        ids = [row[0] for row in rows]
        passages = await self.visible(scope, ids) if ids else {}
        return [passages[one] for one in ids if one in passages]

    async def recent(
        self, scope: Scope, *, where: Filter | None, limit: int
    ) -> list[tuple[str, datetime]]:
        text, values = render(scoped(scope, where))
        rows = await self._sql.rows("recent", {**values, "limit": require_limit(limit)}, where=text)
        return [(chunk, moment) for chunk, moment in rows]

    async def page(
        self, scope: Scope, *, where: Filter | None, after: str | None, limit: int
    ) -> tuple[list[DocumentSummary], str | None]:
        text, values = render(scoped(scope, where))
        place = _read_cursor(after) if after is not None else ("", "", "")
        start = dict(zip(("document", "edition_key", "edition"), place, strict=True))
        rows = await self._sql.rows(
            "page", {**values, **start, "limit": require_limit(limit) + 1}, where=text
        )
        shown = rows[:limit]
        more = len(rows) > limit
        cursor = _write_cursor(shown[-1][0], shown[-1][19], shown[-1][10]) if more else None
        return [read_summary(row) for row in shown], cursor

    async def editions(self, scope: Scope, document_id: str) -> list[DocumentSummary]:
        if not storable(document_id):
            raise NotFound(f"no document {document_id!r}")
        rows = await self._sql.rows("editions", {**_walls(scope), "id": document_id})
        if not rows:
            raise NotFound(f"no document {document_id!r}")
        return [read_summary(row) for row in rows]

    async def known_editions(self, scope: Scope) -> list[tuple[str, str]]:
        rows = await self._sql.rows("known_editions", _walls(scope))
        return [(product, edition) for product, edition in rows]

    async def text(self, scope: Scope, revision_id: str) -> str:
        known = storable(revision_id)
        asked = {**_walls(scope), "id": revision_id}
        rows = await self._sql.rows("text", asked) if known else []
        if not rows:
            raise NotFound(f"no revision {revision_id!r}")
        return str(rows[0][0])

    async def texts(self, scope: Scope, revision_ids: Sequence[str]) -> dict[str, str]:
        asked = [one for one in require(revision_ids, "revision ids") if storable(one)]
        return dict(await self._sql.rows("texts", {**_walls(scope), "ids": asked}))

    async def replaced(
        self, scope: Scope, chunk_ids: Sequence[str], *, since: datetime
    ) -> set[str]:
        asked = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        found = await self._sql.rows("replaced", {**_walls(scope), "ids": asked, "since": since})
        return {row[0] for row in found}

    async def delete(self, scope: Scope, document_ids: Sequence[str]) -> int:
        asked = [one for one in require(document_ids, "document ids") if storable(one)]
        locked = await self._sql.rows("lock_documents_in_scope", {**_walls(scope), "ids": asked})
        documents = [row[0] for row in locked]
        rows = await self._sql.rows("revisions_of_documents", {"ids": documents})
        await self._erase([row[0] for row in rows])
        return len({row[1] for row in rows})

    async def retire(
        self, tenant: str, *, under: Sequence[str], keep_origins: Sequence[str]
    ) -> int:
        roots = set(require(under, "addresses"))
        keep = set(require(keep_origins, "origins to keep"))
        origins = await self._sql.rows("origins_of_tenant", {"tenant": tenant})
        gone = gone_editions(origins, under=roots, keep_origins=keep)
        documents = sorted({document for document, _ in gone})
        await self._sql.rows("lock_documents", {"ids": documents})
        places = ((one.document_id, one.edition, one.origin) for one in await self._live(documents))
        gone = gone_editions(places, under=roots, keep_origins=keep)
        rows = await self._sql.rows("revisions_of_documents", {"ids": documents})
        erased = [row for row in rows if (row[1], row[2]) in gone]
        await self._erase([row[0] for row in erased])
        if erased:
            live = await self._live(documents)
            await self._set_flags(changed_flags(one for one in live if one.state == "visible"))
        return len({(row[1], row[2]) for row in erased})

    async def counts(self, tenant: str | None) -> dict[str, int]:
        rows = await self._sql.rows("counts", {"tenant": tenant})
        names = ("documents", "editions", "chunks", "turns", "pending")
        return {name: int(value) for name, value in zip(names, rows[0], strict=True)}

    async def _claim_documents(self, batch: Sequence[Prepared]) -> list[LiveRevision]:
        """Lock the batch's documents, make sure that they are its own; their live revisions."""
        first = {one.revision.document_id: one.revision for one in reversed(batch)}
        ids = list(first)
        await self._sql.run(
            "add_documents",
            {
                "ids": ids,
                "tenants": [one.tenant for one in first.values()],
                "owners": [one.owner for one in first.values()],
            },
        )
        locked = await self._sql.rows("lock_documents", {"ids": ids})
        live = await self._live(ids)
        alive = {one.document_id for one in live}
        owners: dict[str, tuple[str, str | None]] = {}
        for document, tenant, owner in locked:
            claim = (first[document].tenant, first[document].owner)
            owners[document] = (tenant, owner) if document in alive else claim
            if owners[document] != (tenant, owner):
                await self._sql.run(
                    "reassign_document", {"id": document, "tenant": claim[0], "owner": claim[1]}
                )
        for prepared in batch:
            tenant, owner = owners[prepared.revision.document_id]
            check_same_owner(prepared.revision, tenant=tenant, owner=owner)
        return live

    async def _touch(self, known: Sequence[tuple[int, Prepared]]) -> None:
        """What is live stays as it is, but counts as put now, from its present origin."""
        if known:
            await self._sql.run(
                "touch",
                {
                    "ids": [one.revision.revision_id for _, one in known],
                    "orders": [order for order, _ in known],
                    "origins": [one.revision.origin for _, one in known],
                    "digests": [one.revision.item_digest for _, one in known],
                },
            )

    async def _check_vectors(self, batch: Sequence[Prepared]) -> None:
        needed = {
            (vector_key(one.revision.metadata.language, chunk.indexed_text),
             one.revision.fingerprint): chunk.chunk_id
            for one in batch
            for chunk in one.chunks
        }  # fmt: skip
        keys = [key for key, _ in needed]
        fingerprints = [fingerprint for _, fingerprint in needed]
        rows = await self._sql.rows("lock_vectors", {"keys": keys, "fingerprints": fingerprints})
        for missing in needed.keys() - {(row[0], row[1]) for row in rows}:
            raise InvalidRequest(f"chunk {needed[missing]}: put its vector first")

    async def _write(
        self,
        fresh: Sequence[tuple[int, Prepared]],
        live: Sequence[LiveRevision],
        *,
        now: datetime,
    ) -> None:
        beside: dict[str, set[tuple[str, str]]] = {}
        for one in live:
            beside.setdefault(one.document_id, set()).add((one.edition_key, one.edition))
        for _, prepared in fresh:
            revision = prepared.revision
            place = (revision.edition_key, revision.edition)
            beside.setdefault(revision.document_id, set()).add(place)
        revisions = [
            revision_record(
                prepared,
                newest_edition=expected_newest(
                    prepared.revision.edition_key,
                    prepared.revision.edition,
                    others=beside[prepared.revision.document_id],
                ),
                put_order=order,
                now=now,
            )
            for order, prepared in fresh
        ]
        chunks = (
            chunk_record(
                chunk,
                language=prepared.revision.metadata.language,
                bands=prepared.bands.get(chunk.chunk_id),
            )
            for _, prepared in fresh
            for chunk in prepared.chunks
        )
        await self._sql.run("put_revisions", {"rows": to_json(revisions)})
        await self._sql.run("put_chunks", {"rows": to_json(chunks)})
        if lineage := [row for _, prepared in fresh for row in lineage_records(prepared.revision)]:
            await self._sql.run("put_lineage", {"rows": to_json(lineage)})

    async def _live(self, document_ids: Sequence[str]) -> list[LiveRevision]:
        rows = await self._sql.rows("live", {"ids": list(document_ids)})
        return [
            LiveRevision(
                revision_id=row[0],
                document_id=row[1],
                tenant=row[2],
                owner=row[3],
                origin=row[4],
                edition=row[5],
                edition_key=row[6],
                state=row[7],
                put_order=row[8],
                newest_edition=row[9],
            )
            for row in rows
        ]

    async def _set_flags(self, flags: Mapping[str, bool]) -> None:
        if flags:
            await self._sql.run("set_flags", {"ids": list(flags), "flags": list(flags.values())})
            await self._queue(list(flags), operation="upsert")

    async def _queue(self, revision_ids: Sequence[str], *, operation: str) -> None:
        asked = {"ids": list(revision_ids), "operation": operation}
        await self._sql.run("queue_revisions", asked)
        await self._notify()

    async def _notify(self) -> None:
        await self._sql.rows("notify", {})

    async def _erase(self, revision_ids: Sequence[str]) -> None:
        """Owe the indexes the removal, then forget texts, chunks and unneeded vectors."""
        for start in range(0, len(revision_ids), ERASED_AT_ONCE):
            await self._erase_some(list(revision_ids[start : start + ERASED_AT_ONCE]))

    async def _erase_some(self, ids: list[str]) -> None:
        await self._queue(ids, operation="delete")
        texts = sorted({row[0] for row in await self._sql.rows("erase_chunks", {"ids": ids})})
        vectors = await self._sql.rows("vectors_of_texts", {"keys": texts})
        await self._usage.erase(ids)
        await self._sql.run("erase_lineage", {"ids": ids})
        await self._sql.run("erase_revisions", {"ids": ids})
        keys = [key for key, _ in vectors]
        fingerprints = [fingerprint for _, fingerprint in vectors]
        await self._sql.run("erase_vectors", {"keys": keys, "fingerprints": fingerprints})


def _walls(scope: Scope) -> dict[str, object]:
    return {"tenant": scope.tenant, "owner": scope.owner}


def _write_cursor(*place: str) -> str:
    raw = json.dumps(place, ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(raw).decode()


def _read_cursor(cursor: str) -> tuple[str, str, str]:
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        document, edition_key, edition = place
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidRequest("after: this is no cursor of a former page") from error
    parts = (document, edition_key, edition)
    if not all(isinstance(part, str) and storable(part) for part in parts):
        raise InvalidRequest("after: this is no cursor of a former page")
    return parts
