"""Files that hold many records: where each record lies, without holding the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
    """`lines` as in `LinesUnit`; `ordinals` count turns of a session; `too_large` tells
    `(line number, bytes)` of lines that were passed over."""

    lines: tuple[tuple[int, int, int], ...]
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
    """Up to `max_lines` lines or 2 MiB at a time; empty lines are passed over.

    The sessions of turns are counted here, since only here all lines pass in order.
    """
    sessions: Counter[str] = Counter()
    talking: bool | None = None
    lines: list[tuple[int, int, int]] = []
    ordinals: list[int] = []
    too_large: list[tuple[int, int]] = []
    held = 0
    with open_bytes(uri) as stream:
        for number, offset, size, raw in _lines(stream, max_line_bytes):
            if raw is None:
                too_large.append((number, size))
                continue
            if not raw.strip():
                continue
            session = None if talking is False else _session(raw, rules)
            talking = session is not None if talking is None else talking
            lines.append((number, offset, size))
            ordinals.append(sessions[session] if session is not None else 0)
            if session is not None:
                sessions[session] += 1
            held += size
            if len(lines) >= max_lines or held >= _UNIT_BYTES:
                yield LineBatch(
                    lines=tuple(lines), ordinals=tuple(ordinals), too_large=tuple(too_large)
                )
                lines, ordinals, too_large, held = [], [], [], 0
    yield LineBatch(lines=tuple(lines), ordinals=tuple(ordinals), too_large=tuple(too_large))


def rows(uri: str, *, row_group: int, batch: int) -> Iterator[dict[str, Any]]:
    """The records of one row group, `batch` of them in memory at a time."""
    with open_bytes(uri) as stream:
        for part in pq.ParquetFile(stream).iter_batches(batch_size=batch, row_groups=[row_group]):
            yield from part.to_pylist()


def row_groups(uri: str) -> list[int]:
    """Rows of each row group of a Parquet file."""
    with open_bytes(uri) as stream:
        try:
            meta = pq.ParquetFile(stream).metadata
        except (pa.ArrowException, OSError) as error:
            raise UnreadableItem("broken", f"not a Parquet file: {error}") from error
        return [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]


def _lines(stream: BinaryIO, max_bytes: int) -> Iterator[tuple[int, int, int, bytes | None]]:
    """`(number, offset, size, content)`; no content when longer than `max_bytes`."""
    number = offset = 0
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


def _session(raw: bytes, rules: Rules) -> str | None:
    try:
        return session_of(decode_record(raw), rules)
    except UnreadableItem:
        return None
