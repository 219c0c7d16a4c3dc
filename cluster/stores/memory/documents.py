"""Documents, revisions and chunks of the reference ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Literal

from cluster.errors import InvalidRequest, NotFound
from cluster.filters import Filter, matches, scoped
from cluster.ids import sha256_hex, vector_key
from cluster.model import Scope, StoredPassage
from cluster.stores.checks import (
    MAX_PUBLISHABLE_CHUNKS,
    check_batch,
    check_same_owner,
    refuse_forgotten,
    require,
    require_limit,
)
from cluster.stores.fields import matchable_fields
from cluster.stores.memory.forgetting import MemoryForgetting
from cluster.stores.memory.generations import claim
from cluster.stores.memory.state import HeldRevision, State
from cluster.stores.memory.usage_erasure import UsageErasure
from cluster.stores.protocols import DocumentSummary, Prepared
from cluster.stores.slots import slot_of
from cluster.stores.succession import (
    changed_flags,
    decide_succession,
    expected_newest,
    gone_editions,
)


class MemoryDocuments:
    def __init__(self, state: State, forgetting: MemoryForgetting) -> None:
        self._state = state
        self._forgetting = forgetting

    async def digests(self, tenant: str, origins: Sequence[str]) -> dict[str, str]:
        asked = set(require(origins, "origins"))
        found = [
            one
            for one in self._state.alive()
            if one.revision.tenant == tenant and one.revision.origin in asked
        ]
        found.sort(key=lambda one: one.put_order)
        return {one.revision.origin: one.revision.item_digest for one in found}

    async def put(self, batch: Sequence[Prepared], *, now: datetime) -> int:
        check_batch(batch)
        last = {one.revision.revision_id: one for one in batch}
        refuse_forgotten(await self._forgetting.refused([one.revision for one in batch]))
        self._check_owners(list(last.values()))
        known = {one.revision.revision_id for one in self._state.alive()}
        fresh = {key: one for key, one in last.items() if key not in known}
        if fresh:
            claim(self._state, {one.revision.fingerprint for one in fresh.values()}, active=True)
        for prepared in fresh.values():
            self._check_vectors(prepared)
        orders = {key: next(self._state.numbers) for key in last}
        for key in last.keys() & known:
            self._touch(last[key], put_order=orders[key])
        beside = self._editions_beside(fresh.values())
        for key, prepared in fresh.items():
            self._write(
                prepared,
                put_order=orders[key],
                others=beside[prepared.revision.document_id],
                now=now,
            )
        self._owe([self._state.revisions[key] for key in fresh], "upsert")
        return len(fresh)

    async def publishable(
        self, *, limit: int, slots: Collection[int] | None = None
    ) -> dict[str, dict[str, int]]:
        state = self._state
        owing = state.owing()
        ready = [
            one
            for one in state.revisions.values()
            if one.state == "pending"
            and not any(chunk.chunk_id in owing for chunk in one.chunks)
            and (slots is None or slot_of(one.revision.revision_id) in slots)
        ]
        ready.sort(key=lambda one: one.put_order)
        ready = ready[: require_limit(limit)]
        before = accumulate((len(one.chunks) for one in ready), initial=0)
        return {
            one.revision.revision_id: {
                chunk.chunk_id: state.versions[chunk.chunk_id] for chunk in one.chunks
            }
            for one, chunks in zip(ready, before, strict=False)
            if chunks < MAX_PUBLISHABLE_CHUNKS
        }

    async def unshown(self, tenant: str, *, run_id: str, limit: int) -> tuple[int, list[str]]:
        pending = [
            one
            for one in self._state.alive()
            if one.state == "pending"
            and (one.revision.tenant, one.revision.run_id) == (tenant, run_id)
        ]
        pending.sort(key=lambda one: one.put_order)
        first = pending[: require_limit(limit)]
        return len(pending), [one.revision.origin for one in first]

    async def publish(
        self, revision_ids: Sequence[str], *, now: datetime, settled: bool = False
    ) -> int:
        wanted = set(require(revision_ids, "revision ids"))
        held = self._state.revisions
        if settled:
            wanted -= {self._state.revision_of_chunk.get(one, "") for one in self._state.owing()}
        asked = [held[one] for one in wanted if one in held and held[one].state == "pending"]
        places = {one.place for one in asked}
        beside = (one for one in self._state.alive() if one.place in places)
        documents = {one.revision.document_id for one in (*asked, *beside)}
        change = decide_succession(self._state.live(documents), wanted=wanted)
        for revision in change.superseded:
            held[revision] = replace(held[revision], state="superseded", ended_at=now)
        self._owe([held[revision] for revision in change.superseded], "delete")
        for revision in change.shown:
            held[revision] = replace(held[revision], state="visible", recorded_at=now)
        self._set_flags(change.flags)
        self._state.note_changed(held[one] for one in (*change.superseded, *change.shown))
        return len(change.shown)

    async def requeue(self, chunk_ids: Sequence[str]) -> None:
        for chunk in sorted(set(require(chunk_ids, "chunk ids"))):
            held = self._of_chunk(chunk)
            alive = held is not None and held.state in ("pending", "visible")
            self._state.owe(chunk, "upsert" if alive else "delete")
            if held is not None and held.state == "visible":
                self._state.note_changed([held])

    async def visible(self, scope: Scope, chunk_ids: Sequence[str]) -> dict[str, StoredPassage]:
        found = {}
        for chunk_id in require(chunk_ids, "chunk ids"):
            held = self._of_chunk(chunk_id)
            if held and held.state == "visible" and held.in_scope(scope):
                found[chunk_id] = self._passage(held, chunk_id)
        return found

    async def alike(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, list[str]]:
        require_limit(limit)
        sketches = {
            chunk.chunk_id: set(held.bands.get(chunk.chunk_id, ()))
            for held in self._state.visible(scope)
            for chunk in held.chunks
        }
        found = {
            one: sorted(
                other for other, bands in sketches.items() if other != one and bands & sketches[one]
            )[:limit]
            for one in sorted(set(require(chunk_ids, "chunk ids")) & sketches.keys())
        }
        return {one: others for one, others in found.items() if others}

    async def neighbours(
        self, scope: Scope, chunk_id: str, *, before: int, after: int
    ) -> list[StoredPassage]:
        if before < 0 or after < 0:
            raise InvalidRequest(f"before {before}, after {after}: neither may be negative")
        held = self._of_chunk(chunk_id)
        if held is None or held.state != "visible" or not held.in_scope(scope):
            return []
        around = [
            (one, chunk.chunk_id) for one in self._session_of(held, scope) for chunk in one.chunks
        ]
        at = [chunk for _, chunk in around].index(chunk_id)
        chosen = around[max(0, at - before) : at] + around[at + 1 : at + 1 + after]
        return [self._passage(one, chunk) for one, chunk in chosen]

    async def recent(
        self, scope: Scope, *, where: Filter | None, limit: int
    ) -> list[tuple[str, datetime]]:
        dated = [
            (one.chunks[0].chunk_id, one.moment)
            for one in self._matching(scope, where)
            if one.moment is not None
        ]
        dated.sort()
        dated.sort(key=lambda pair: pair[1], reverse=True)
        return dated[: require_limit(limit)]

    async def page(
        self, scope: Scope, *, where: Filter | None, after: str | None, limit: int
    ) -> tuple[list[DocumentSummary], str | None]:
        found = sorted(self._matching(scope, where), key=_place)
        start = 0
        if after is not None:
            former = self._state.revisions.get(after)
            if former is None:
                raise InvalidRequest("after: this is no cursor of a former page")
            start = sum(_place(one) <= _place(former) for one in found)
        shown = found[start : start + require_limit(limit)]
        more = len(found) > start + limit
        cursor = shown[-1].revision.revision_id if more else None
        return [_summary(one) for one in shown], cursor

    async def editions(self, scope: Scope, document_id: str) -> list[DocumentSummary]:
        shown = self._editions(document_id, scope)
        if not shown:
            raise NotFound(f"no document {document_id!r}")
        return [_summary(one) for one in shown]

    async def known_editions(self, scope: Scope) -> list[tuple[str, str]]:
        return sorted(
            {
                (one.revision.metadata.product or "", one.revision.edition)
                for one in self._state.visible(scope)
                if one.revision.edition
            }
        )

    async def text(self, scope: Scope, revision_id: str) -> str:
        held = self._state.revisions.get(revision_id)
        if held is None or held.state != "visible" or not held.in_scope(scope):
            raise NotFound(f"no revision {revision_id!r}")
        return held.revision.text

    async def texts(self, scope: Scope, revision_ids: Sequence[str]) -> dict[str, str]:
        held = (self._state.revisions.get(one) for one in require(revision_ids, "revision ids"))
        return {
            one.revision.revision_id: one.revision.text
            for one in held
            if one and one.state in ("visible", "superseded") and one.in_scope(scope)
        }

    async def replaced(
        self, scope: Scope, chunk_ids: Sequence[str], *, since: datetime
    ) -> set[str]:
        held = (self._of_chunk(one) for one in require(chunk_ids, "chunk ids"))
        gone = {
            (one.revision.document_id, one.revision.edition)
            for one in held
            if one and one.state == "superseded"
        }
        return {
            one.revision.revision_id
            for one in self._state.visible(scope)
            if (one.revision.document_id, one.revision.edition) in gone and one.recorded_at >= since
        }

    async def delete(self, scope: Scope, document_ids: Sequence[str]) -> int:
        asked = set(require(document_ids, "document ids"))
        gone = [
            one
            for one in self._state.revisions.values()
            if one.revision.document_id in asked and one.state != "deleted" and one.in_scope(scope)
        ]
        self._erase(gone)
        return len({one.revision.document_id for one in gone})

    async def retire(
        self, tenant: str, *, under: Sequence[str], keep_origins: Sequence[str]
    ) -> int:
        roots = set(require(under, "addresses"))
        keep = set(require(keep_origins, "origins to keep"))
        places = [
            (one.revision.document_id, one.revision.edition, one.revision.origin)
            for one in self._state.alive()
            if one.revision.tenant == tenant
        ]
        gone = gone_editions(places, under=roots, keep_origins=keep)
        self._erase(
            [
                one
                for one in self._state.revisions.values()
                if (one.revision.document_id, one.revision.edition) in gone
                and one.state != "deleted"
            ]
        )
        left = self._state.live({document for document, _ in gone})
        self._set_flags(changed_flags(one for one in left if one.state == "visible"))
        return len(gone)

    async def counts(self, tenant: str | None) -> dict[str, int]:
        alive = [one for one in self._state.alive() if tenant in (None, one.revision.tenant)]
        visible = [one for one in alive if one.state == "visible"]
        documents = [one for one in visible if one.revision.kind == "document"]
        return {
            "documents": len({one.revision.document_id for one in documents}),
            "editions": len(documents),
            "chunks": sum(len(one.chunks) for one in visible),
            "turns": len(visible) - len(documents),
            "pending": len(alive) - len(visible),
        }

    def _check_owners(self, batch: Sequence[Prepared]) -> None:
        owners = {
            one.revision.document_id: (one.revision.tenant, one.revision.owner)
            for one in self._state.alive()
        }
        for prepared in batch:
            revision = prepared.revision
            claim = (revision.tenant, revision.owner)
            tenant, owner = owners.setdefault(revision.document_id, claim)
            check_same_owner(revision, tenant=tenant, owner=owner)

    def _check_vectors(self, prepared: Prepared) -> None:
        for chunk in prepared.chunks:
            key = vector_key(prepared.revision.metadata.language, chunk.indexed_text)
            if (key, prepared.revision.fingerprint) not in self._state.vectors:
                raise InvalidRequest(f"chunk {chunk.chunk_id}: put its vector first")

    def _touch(self, prepared: Prepared, *, put_order: int) -> None:
        """What is live stays as it is, but counts as put now, from its present origin."""
        held = self._state.revisions[prepared.revision.revision_id]
        revision = replace(
            held.revision,
            origin=prepared.revision.origin,
            item_digest=prepared.revision.item_digest,
        )
        self._state.revisions[revision.revision_id] = replace(
            held, revision=revision, put_order=put_order
        )

    def _editions_beside(self, fresh: Iterable[Prepared]) -> dict[str, set[tuple[str, str]]]:
        revisions = [one.revision for one in self._state.alive()]
        beside: dict[str, set[tuple[str, str]]] = {}
        for revision in [*revisions, *(one.revision for one in fresh)]:
            place = (revision.edition_key, revision.edition)
            beside.setdefault(revision.document_id, set()).add(place)
        return beside

    def _write(
        self, prepared: Prepared, *, put_order: int, others: set[tuple[str, str]], now: datetime
    ) -> None:
        revision = prepared.revision
        chunks = tuple(sorted(prepared.chunks, key=lambda chunk: chunk.ordinal))
        self._state.revisions[revision.revision_id] = HeldRevision(
            revision=revision,
            chunks=chunks,
            state="pending",
            newest_edition=expected_newest(revision.edition_key, revision.edition, others=others),
            put_order=put_order,
            recorded_at=now,
            bands=prepared.bands,
        )
        for chunk in prepared.chunks:
            self._state.revision_of_chunk[chunk.chunk_id] = revision.revision_id
            self._state.versions.setdefault(chunk.chunk_id, 0)

    def _set_flags(self, flags: Mapping[str, bool]) -> None:
        for revision, flag in flags.items():
            held = replace(self._state.revisions[revision], newest_edition=flag)
            self._state.revisions[revision] = held
        changed = [self._state.revisions[revision] for revision in flags]
        self._state.note_changed(changed)
        self._owe(changed, "upsert")

    def _owe(
        self, revisions: Iterable[HeldRevision], operation: Literal["upsert", "delete"]
    ) -> None:
        """Those of one call in the order of chunk ids, as every ledger owes them."""
        for chunk_id in sorted(chunk.chunk_id for held in revisions for chunk in held.chunks):
            self._state.owe(chunk_id, operation)

    def _erase(self, gone: Sequence[HeldRevision]) -> None:
        """Owe the indexes the removal, then forget texts, chunks and unneeded vectors."""
        self._owe(gone, "delete")
        for held in gone:
            self._state.revisions[held.revision.revision_id] = replace(
                held,
                revision=replace(held.revision, text="", derived_from=()),
                chunks=(),
                state="deleted",
                newest_edition=False,
            )
            for chunk in held.chunks:
                del (
                    self._state.versions[chunk.chunk_id],
                    self._state.revision_of_chunk[chunk.chunk_id],
                )
        self._state.note_changed(gone)
        UsageErasure(self._state).erase([chunk.chunk_id for held in gone for chunk in held.chunks])
        needed = {key for held in self._state.revisions.values() for key in _vector_keys(held)}
        unneeded = {key for held in gone for key in _vector_keys(held)} - needed
        for key, fingerprint in list(self._state.vectors):
            if key in unneeded:
                del self._state.vectors[key, fingerprint]

    def _of_chunk(self, chunk_id: str) -> HeldRevision | None:
        revision = self._state.revision_of_chunk.get(chunk_id)
        return None if revision is None else self._state.revisions[revision]

    def _matching(self, scope: Scope, where: Filter | None) -> list[HeldRevision]:
        asked = scoped(scope, where)
        return [
            one
            for one in self._state.visible(scope)
            if matches(asked, matchable_fields(one.revision, newest_edition=one.newest_edition))
        ]

    def _editions(self, document_id: str, scope: Scope) -> list[HeldRevision]:
        visible = self._state.visible(scope)
        shown = [one for one in visible if one.revision.document_id == document_id]
        return sorted(shown, key=_place, reverse=True)

    def _session_of(self, held: HeldRevision, scope: Scope) -> list[HeldRevision]:
        """The visible turns of a turn's session in reading order; a document alone."""
        session = _session(held)
        if session is None:
            return [held]
        turns = [one for one in self._state.visible(scope) if _session(one) == session]
        return sorted(turns, key=_turn_place)

    def _passage(self, held: HeldRevision, chunk_id: str) -> StoredPassage:
        revision = held.revision
        scope = Scope(tenant=revision.tenant, owner=revision.owner)
        editions = [one.revision.edition for one in self._editions(revision.document_id, scope)]
        return StoredPassage(
            chunk=next(chunk for chunk in held.chunks if chunk.chunk_id == chunk_id),
            document_id=revision.document_id,
            kind=revision.kind,
            source=revision.source,
            path=revision.path,
            edition=revision.edition,
            edition_key=revision.edition_key,
            newest_edition=held.newest_edition,
            other_editions=tuple(one for one in editions if one not in ("", revision.edition)),
            content_sha256=revision.content_sha256,
            metadata=revision.metadata,
            turn=revision.turn,
            owner=revision.owner,
            recorded_at=held.recorded_at,
        )


def _vector_keys(held: HeldRevision) -> Iterable[str]:
    language = held.revision.metadata.language
    for chunk in held.chunks:
        yield vector_key(language, chunk.indexed_text)


def _session(held: HeldRevision) -> tuple[str, str, str] | None:
    turn = held.revision.turn
    return None if turn is None else (held.revision.source, turn.conversation, turn.session)


def _turn_place(held: HeldRevision) -> tuple[int, str]:
    turn = held.revision.turn
    return (turn.ordinal if turn else 0, held.revision.document_id)


def _place(held: HeldRevision) -> tuple[str, str, str]:
    revision = held.revision
    return (revision.document_id, revision.edition_key, revision.edition)


def _summary(held: HeldRevision) -> DocumentSummary:
    revision = held.revision
    meta = revision.metadata
    return DocumentSummary(
        document_id=revision.document_id,
        revision_id=revision.revision_id,
        kind=revision.kind,
        source=revision.source,
        path=revision.path,
        title=meta.title,
        language=meta.language,
        source_type=meta.source_type,
        source_url=meta.source_url,
        product=meta.product,
        edition=revision.edition,
        newest_edition=held.newest_edition,
        published_at=meta.published_at,
        updated_at=meta.updated_at,
        recorded_at=held.recorded_at,
        authority=meta.authority,
        quote_policy=meta.quote_policy,
        chunk_count=len(held.chunks),
        text_sha256=sha256_hex(revision.text),
    )
