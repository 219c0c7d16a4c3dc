"""Writes in batches: each item of an answer is looked at, and only what failed is sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.errors import StoreError, StoreRejected, StoreUnavailable
from cluster.stores.elasticsearch.connection import Connection
from cluster.stores.elasticsearch.errors import (
    BAD_REQUEST,
    CONFLICT,
    NOT_ALLOWED,
    NOT_FOUND,
    STORE,
    TOO_LARGE,
    is_block,
    may_pass,
    of_status,
    passes_by_itself,
    status_of,
)
from cluster.stores.elasticsearch.rows import as_line, document
from cluster.stores.protocols import TextRow

BATCH_BYTES = 1_000_000
"""The client warns of larger bodies, which it sends in one go: they hold up the event loop. What
stands before a server may take still less; then a batch is halved."""

FIRST_PAUSE_S = 0.1
MAX_PAUSE_S = 2.0
_LAST_OF_SUCCESS = 299


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Lines of a bulk body: what to do, and for a write the document."""

    chunk_id: str
    lines: tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(len(line) + 1 for line in self.lines)


@dataclass(slots=True)
class _Sorted:
    """What became of a batch."""

    again: list[Operation] = field(default_factory=list)
    refused: list[tuple[str, StoreError]] = field(default_factory=list)
    reason: str = ""


def writing(row: TextRow) -> Operation:
    """The row's version is the document's: what is older than the index has is not written."""
    held = document(row)
    action = _action("index", row.row.chunk_id, row.row.version)
    return Operation(chunk_id=row.row.chunk_id, lines=(action, held))


def deleting(chunk_id: str, *, version: int) -> Operation:
    return Operation(chunk_id=chunk_id, lines=(_action("delete", chunk_id, version),))


async def write(
    connection: Connection, alias: str, operations: Iterable[Operation], *, batch_rows: int
) -> None:
    """All of them, searchable when it returns.

    Each batch has the connection's timeout, with its retries. `StoreRejected` names a chunk that
    was refused; the others are written. `StoreUnavailable`: any part may be written; that is
    also what a refused login is here, as it says nothing against a row.
    """
    refused: list[tuple[str, StoreError]] = []
    try:
        for batch in batches(operations, rows=batch_rows):
            refused += await _send(connection, alias, batch)
        await _refresh(connection, alias)
    except StoreRejected as error:
        if status_of(error) == BAD_REQUEST:
            raise
        raise StoreUnavailable(STORE, error.message) from error
    if refused:
        chunk_id, reason = refused[0]
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise StoreRejected(STORE, f"chunk {chunk_id}{more}: {reason.message}") from reason


def batches(operations: Iterable[Operation], *, rows: int) -> Iterator[list[Operation]]:
    batch: list[Operation] = []
    size = 0
    for operation in operations:
        if batch and (len(batch) == rows or size + operation.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(operation)
        size += operation.size
    if batch:
        yield batch


async def _refresh(connection: Connection, alias: str) -> None:
    """Once for all batches. `refresh=wait_for` would wait for the server's own next one."""
    answer = await connection.call("refresh", lambda client: client.indices.refresh(index=alias))
    if failed := int(answer.body["_shards"]["failed"]):
        raise StoreUnavailable(STORE, f"refresh: it failed on {failed} shards")


async def _send(
    connection: Connection, alias: str, batch: list[Operation]
) -> list[tuple[str, StoreError]]:
    """The chunks that were refused, and why."""
    clock = asyncio.get_running_loop().time
    until, pause_s = clock() + connection.timeout_s, FIRST_PAUSE_S
    refused: list[tuple[str, StoreError]] = []
    while True:
        try:
            outcome = await _once(connection, alias, batch, timeout_s=max(0.001, until - clock()))
        except StoreRejected as error:
            if status_of(error) != TOO_LARGE:
                raise
            return refused + await _send_halves(connection, alias, batch, error)
        refused += outcome.refused
        if not outcome.again:
            return refused
        if clock() + pause_s >= until:
            raise StoreUnavailable(
                STORE,
                f"{len(outcome.again)} rows not written in {connection.timeout_s:g} s, "
                f"e.g. chunk {outcome.again[0].chunk_id}: {outcome.reason}",
            )
        await asyncio.sleep(pause_s)
        batch, pause_s = outcome.again, min(pause_s * 2, MAX_PAUSE_S)


async def _send_halves(
    connection: Connection, alias: str, batch: list[Operation], error: StoreError
) -> list[tuple[str, StoreError]]:
    if len(batch) == 1:
        return [(batch[0].chunk_id, error)]
    middle = len(batch) // 2
    refused = await _send(connection, alias, batch[:middle])
    return refused + await _send(connection, alias, batch[middle:])


async def _once(
    connection: Connection, alias: str, batch: list[Operation], *, timeout_s: float
) -> _Sorted:
    # Lines that are bytes already are sent as they are, whatever the client's types say.
    lines: list[Any] = [line for operation in batch for line in operation.lines]
    try:
        answer = await connection.call(
            "bulk",
            lambda client: client.bulk(index=alias, operations=lines, require_alias=True),
            timeout_s=timeout_s,
        )
    except StoreUnavailable as error:
        if not may_pass(error):
            raise
        return _Sorted(again=batch, reason=error.message)
    return _sort(batch, answer.body["items"])


def _sort(batch: Sequence[Operation], items: Sequence[Mapping[str, Any]]) -> _Sorted:
    """The items come in the order of the batch. Raises what concerns the whole index."""
    if len(items) != len(batch):
        raise StoreUnavailable(STORE, f"bulk: {len(items)} answers to {len(batch)} rows")
    outcome = _Sorted()
    for operation, item in zip(batch, items, strict=True):
        [result] = item.values()
        status, cause = int(result["status"]), result.get("error", {})
        if _done(status, cause):
            continue
        error = of_status("bulk", status, cause)
        if passes_by_itself(status, cause):
            outcome.again.append(operation)
            outcome.reason = error.message
        elif isinstance(error, StoreUnavailable) or status in NOT_ALLOWED:
            raise StoreUnavailable(STORE, error.message)
        else:
            outcome.refused.append((operation.chunk_id, error))
    return outcome


def _done(status: int, cause: Mapping[str, Any]) -> bool:
    """Written, or a newer version is there already, or there was nothing to delete."""
    return (
        status <= _LAST_OF_SUCCESS or status == CONFLICT or (status == NOT_FOUND and not cause)
    ) and not is_block(cause)


def _action(what: str, chunk_id: str, version: int) -> bytes:
    return as_line({what: {"_id": chunk_id, "version": version, "version_type": "external_gte"}})
