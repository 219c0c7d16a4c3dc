"""Files that hold many records: where each record lies, without holding the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from cluster.errors import UnreadableItem
from ingest.places import open_bytes
from ingest.records import decode_record, session_of
from ingest.rules import Rules, canonical

_UNIT_BYTES = 2 * 1024 * 1024
_SKIP_BYTES = 1024 * 1024
_SNIFF_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBatch:
    """Lines from byte `start` to byte `stop`; `records` of them are neither empty nor too
    large. `too_large` tells `(line number, bytes)` of those that were passed over."""

    start: int
    stop: int
    first_line: int
    records: int
    ordinals: tuple[int, ...]
    too_large: tuple[tuple[int, int], ...]


def is_corpus(uri: str, rules: Rules) -> bool:
    """Does the first line hold a record with a text?"""
    with open_bytes(uri) as stream:
        first = stream.readline(_SNIFF_BYTES)
    try:
        record = decode_record(first)
    except UnreadableItem:
        return False
    fields = canonical(record, rules.document_aliases)
    return isinstance(fields.get("text"), str) or isinstance(fields.get("turns"), list)


def line_batches(
    uri: str, *, rules: Rules, max_lines: int, max_line_bytes: int
) -> Iterator[LineBatch]:
    """Up to `max_lines` lines or 2 MiB at a time.

    The turns of a session are counted here, since only here all lines pass in order; a file
    whose first record is no turn is taken to hold documents.
    """
    sessions = Sessions(rules)
    batch = _Growing(start=0, first_line=1)
    with open_bytes(uri) as stream:
        for number, offset, size, raw in lines(stream, max_bytes=max_line_bytes):
            if raw is None:
                batch.too_large.append((number, size))
            elif raw.strip():
                batch.records += 1
                batch.ordinals.append(sessions.ordinal(raw))
            batch.stop = offset + size
            if batch.records >= max_lines or batch.stop - batch.start >= _UNIT_BYTES:
                yield batch.done(ordinals=bool(sessions.talking))
                batch = _Growing(start=batch.stop, first_line=number + 1)
    yield batch.done(ordinals=bool(sessions.talking))


def lines(
    stream: BinaryIO, *, max_bytes: int, number: int = 0, offset: int = 0
) -> Iterator[tuple[int, int, int, bytes | None]]:
    """`(number, offset, size, content)` from where the stream stands; no content when a line is
    longer than `max_bytes`. `number` and `offset` are those of what came before."""
    while raw := stream.readline(max_bytes + 1):
        number += 1
        size = len(raw)
        if size > max_bytes and not raw.endswith(b"\n"):
            while more := stream.readline(_SKIP_BYTES):
                size += len(more)
                if more.endswith(b"\n"):
                    break
            yield number, offset, size, None
        else:
            yield number, offset, size, raw
        offset += size


def rows(uri: str, *, row_group: int, batch: int) -> Iterator[dict[str, Any] | UnreadableItem]:
    """The records of one row group, `batch` of them in memory at a time; one that holds a value
    that cannot be read is what is wrong with it. `UnreadableItem` when the rest is damaged."""
    with open_bytes(uri) as stream:
        try:
            file = pq.ParquetFile(stream)
            for part in file.iter_batches(batch_size=batch, row_groups=[row_group]):
                yield from _records(part)
        except (pa.ArrowException, OSError) as error:
            raise UnreadableItem("broken", f"damaged Parquet file: {error}") from error


def _records(part: Any) -> list[dict[str, Any] | UnreadableItem]:
    try:
        return list(part.to_pylist())
    except (ValueError, OverflowError):
        return [_record(part.slice(number, 1)) for number in range(part.num_rows)]


def _record(row: Any) -> dict[str, Any] | UnreadableItem:
    try:
        return dict(row.to_pylist()[0])
    except (ValueError, OverflowError) as error:
        return UnreadableItem("broken", f"a value that cannot be read: {error}")


def row_groups(uri: str) -> list[int]:
    """Rows of each row group of a Parquet file."""
    with open_bytes(uri) as stream:
        try:
            meta = pq.ParquetFile(stream).metadata
        except (pa.ArrowException, OSError) as error:
            raise UnreadableItem("broken", f"not a Parquet file: {error}") from error
        return [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]


@dataclass(slots=True, kw_only=True)
class _Growing:
    start: int
    first_line: int
    stop: int = 0
    records: int = 0
    ordinals: list[int] = field(default_factory=list)
    too_large: list[tuple[int, int]] = field(default_factory=list)

    def done(self, *, ordinals: bool) -> LineBatch:
        return LineBatch(
            start=self.start,
            stop=self.stop,
            first_line=self.first_line,
            records=self.records,
            ordinals=tuple(self.ordinals) if ordinals else (),
            too_large=tuple(self.too_large),
        )


class Sessions:
    """Counts turns by session; looks no further once the first record was no turn."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._turns: Counter[str] = Counter()
        self.talking: bool | None = None

    def ordinal(self, raw: bytes) -> int:
        session = None if self.talking is False else self._session(raw)
        if self.talking is None:
            self.talking = session is not None
        if session is None:
            return 0
        self._turns[session] += 1
        return self._turns[session] - 1

    def _session(self, raw: bytes) -> str | None:
        try:
            return session_of(decode_record(raw), self._rules)
        except UnreadableItem:
            return None
