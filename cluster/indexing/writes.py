"""Brings the indexes to the ledger's state of a batch of chunks, and says what they refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cluster.errors import InvalidRequest, StoreRejected
from cluster.kill_points import reached
from cluster.stores.protocols import (
    EVERYWHERE,
    IndexWork,
    OutboxEntry,
    TextIndex,
    TextRow,
    VectorIndex,
    VectorRow,
)
from cluster.text.terms import document_terms

NO_VECTOR = "its vector is not in the ledger"

SomeRow = TypeVar("SomeRow", VectorRow, TextRow)
Targets = Mapping[str, set[str]]
"""Chunk id -> the targets of its entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """`failures`: entry -> why an index cannot hold its row. `owed`: generation -> chunks that
    its index alone refused or missed, though the entry is done everywhere else: owe them to it."""

    written: int
    removed: int
    failures: Mapping[OutboxEntry, str]
    owed: Mapping[str, Sequence[str]]


async def write_out(
    entries: Sequence[OutboxEntry],
    work: Sequence[IndexWork],
    *,
    vector_indexes: Mapping[str, VectorIndex],
    text_index: TextIndex,
    away: Collection[str] = (),
) -> Written:
    """Write `work`, the present state of the chunks of `entries`, to the indexes that each entry
    is owed to. Of `vector_indexes` the active one comes first; a row that has no vector of
    another generation yet is left out of that one's index. The generations `away` are live and
    have no index to write to now: what is owed everywhere is owed to them.

    `StoreUnavailable` stops in the middle: then everything is still owed, and done again.
    """
    targets: dict[str, set[str]] = {}
    for entry in entries:
        targets.setdefault(entry.chunk_id, set()).add(entry.target)
    removed = await _remove(work, targets, vector_indexes, text_index)
    refused: dict[str, dict[str, str]] = {}
    for fingerprint, index in vector_indexes.items():
        refused[fingerprint] = await _write_vectors(work, targets, fingerprint, index)
    refused[EVERYWHERE] = await _write_texts(work, targets, text_index)
    active, *others = vector_indexes
    failures = {}
    for entry in entries:
        needed = (active, EVERYWHERE) if entry.target == EVERYWHERE else (entry.target,)
        for target in needed:
            if why := refused[target].get(entry.chunk_id):
                failures[entry] = why
    return Written(
        written=sum(one.row is not None for one in work),
        removed=removed,
        failures=failures,
        owed={
            one: chunks
            for one, chunks in (
                *((one, _unnoted(refused[one], targets, one)) for one in others),
                *((one, _missed(work, targets, one)) for one in away),
            )
            if chunks
        },
    )


async def _write_vectors(
    work: Sequence[IndexWork], targets: Targets, fingerprint: str, index: VectorIndex
) -> dict[str, str]:
    wanted = [one for one in _wanted(work, targets, fingerprint) if one.row is not None]
    rows = [
        VectorRow(row=one.row, vector=one.vectors[fingerprint])
        for one in wanted
        if one.row is not None and fingerprint in one.vectors
    ]
    refused = await _write(rows, index.upsert)
    reached("indexer.vectors_upserted")
    return refused | {one.chunk_id: NO_VECTOR for one in wanted if fingerprint not in one.vectors}


async def _write_texts(
    work: Sequence[IndexWork], targets: Targets, index: TextIndex
) -> dict[str, str]:
    rows = await asyncio.to_thread(_text_rows, _wanted(work, targets, EVERYWHERE))
    refused = await _write(rows, index.upsert)
    reached("indexer.texts_upserted")
    return refused


def _unnoted(refused: Mapping[str, str], targets: Targets, fingerprint: str) -> list[str]:
    """Refused, and no entry of its own says so. A vector that is not there yet is no refusal:
    whoever adds it owes the row."""
    return [
        chunk
        for chunk, why in refused.items()
        if why != NO_VECTOR and fingerprint not in targets[chunk]
    ]


def _missed(work: Sequence[IndexWork], targets: Targets, fingerprint: str) -> list[str]:
    """Owed everywhere: removals, and rows that have a vector. Whoever adds one owes the row."""
    return [
        one.chunk_id
        for one in work
        if EVERYWHERE in targets[one.chunk_id] and (one.row is None or fingerprint in one.vectors)
    ]


def _wanted(work: Iterable[IndexWork], targets: Targets, target: str) -> list[IndexWork]:
    """Those owed everywhere, or to this target."""
    return [one for one in work if targets[one.chunk_id] & {EVERYWHERE, target}]


async def _remove(
    work: Sequence[IndexWork],
    targets: Targets,
    vector_indexes: Mapping[str, VectorIndex],
    text_index: TextIndex,
) -> int:
    gone = [one for one in work if one.row is None]
    for fingerprint, index in vector_indexes.items():
        if ids := [one.chunk_id for one in _wanted(gone, targets, fingerprint)]:
            await index.delete(ids)
            reached("indexer.vectors_deleted")
    if ids := [one.chunk_id for one in _wanted(gone, targets, EVERYWHERE)]:
        await text_index.delete(ids)
        reached("indexer.texts_deleted")
    return len(gone)


async def _write(
    rows: Sequence[SomeRow], upsert: Callable[[Sequence[SomeRow]], Awaitable[None]]
) -> dict[str, str]:
    """Write all but the rows that the index refuses, which are found by halving: chunk id ->
    why."""
    if not rows:
        return {}
    try:
        await upsert(rows)
    except (StoreRejected, InvalidRequest) as error:
        if len(rows) == 1:
            return {rows[0].row.chunk_id: str(error)}
        middle = len(rows) // 2
        refused = await _write(rows[:middle], upsert)
        return refused | await _write(rows[middle:], upsert)
    return {}


def _text_rows(work: Iterable[IndexWork]) -> list[TextRow]:
    return [
        TextRow(row=one.row, terms=document_terms(one.indexed_text))
        for one in work
        if one.row is not None
    ]
