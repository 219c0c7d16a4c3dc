"""Is it still anywhere? Every store is searched: by id as its read path does, by id as its
scan does, and by the words of what was forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from cluster.forget.naming import names_of, path_of
from cluster.forget.request import Work
from cluster.model import Scope
from cluster.stores.protocols import Finding, Ledger, Needles, TextIndex, Transaction
from cluster.stores.views import Views
from cluster.text.terms import QueryTerm, document_terms

IDS_AT_ONCE = 1000
SAMPLES_ASKED = 16
TERMS_OF_A_SAMPLE = 6
HITS = 200


class _Searchable(Protocol):
    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]: ...

    def scan(self) -> AsyncIterator[list[tuple[str, int]]]: ...


async def residue(ledger: Ledger, views: Views, tenant: str, work: Work) -> list[Finding]:
    """Empty when nothing is left. Store errors pass through: what cannot be searched is not
    known to be clean."""
    async with ledger.transaction() as tx:
        needles = await present_needles(tx, tenant, work)
        found = await tx.forgetting.residue(tenant, needles)
    if not work.chunk_ids:
        return found
    for fingerprint, index in (await views.vector_indexes()).items():
        found += await _in_index(f"vectors {fingerprint}", index, work.chunk_ids)
    found += await _in_index("text index", views.text_index, work.chunk_ids)
    found += await _by_words(views.text_index, tenant, work)
    return found


async def present_needles(tx: Transaction, tenant: str, work: Work) -> Needles:
    """Without what names a document that came back since, which only new content can: the place
    of an item is not closed, and who lifts a receipt opens the rest. Nor an origin from which
    another document was read that stays."""
    documents = [one for one in work.needles.ids if one.startswith("doc_")]
    back = [
        holding
        for start in range(0, len(documents), IDS_AT_ONCE)
        for holding in await tx.forgetting.holdings(tenant, documents[start : start + IDS_AT_ONCE])
    ]
    ids = {each for one in back for each in (one.document_id, one.revision_id, *one.chunk_ids)}
    names = {name for one in back for name in names_of(one)} | ids
    for start in range(0, len(work.needles.names), IDS_AT_ONCE):
        part = work.needles.names[start : start + IDS_AT_ONCE]
        for origin in await tx.documents.digests(tenant, part):
            names |= {origin, path_of(origin)}
    return replace(
        work.needles,
        ids=tuple(one for one in work.needles.ids if one not in ids),
        names=tuple(one for one in work.needles.names if one not in names),
        samples=tuple(one for one in work.needles.samples if one not in names),
    )


async def _in_index(store: str, index: _Searchable, chunk_ids: Sequence[str]) -> list[Finding]:
    forgotten = set(chunk_ids)
    searched = 0
    for ids in _parts(chunk_ids):
        searched += len((await index.versions(ids)).keys() & forgotten)
    scanned = 0
    async for batch in index.scan():
        scanned += sum(chunk in forgotten for chunk, _ in batch)
    return [
        Finding(store=store, place=place, rows=rows)
        for place, rows in (("look-up", searched), ("scan", scanned))
        if rows
    ]


async def _by_words(index: TextIndex, tenant: str, work: Work) -> list[Finding]:
    forgotten = set(work.chunk_ids)
    hits = 0
    for sample in work.needles.samples[:SAMPLES_ASKED]:
        rare = sorted(set(document_terms(sample)), key=lambda term: (-len(term), term))
        terms = [
            QueryTerm(term=term, weight=1.0, surface=term) for term in rare[:TERMS_OF_A_SAMPLE]
        ]
        for owner in (None, *work.owners) if terms else ():
            scope = Scope(tenant=tenant, owner=owner)
            found = await index.search(terms, scope=scope, where=None, limit=HITS)
            hits += len({chunk for chunk, _ in found} & forgotten)
    return [Finding(store="text index", place="search", rows=hits)] if hits else []


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield list(ids[start : start + IDS_AT_ONCE])
