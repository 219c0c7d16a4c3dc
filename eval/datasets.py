"""A retrieval set on disk: `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` in one folder.

Lines of the corpus have `doc_id`, `text` and often `title`; lines of the queries `query_id` and
`text`; the qrels are `query_id`, `doc_id`, `score`, separated by tabs, under a header.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.errors import InvalidRequest
from cluster.ids import sha256_hex

HEADER = ("query_id", "doc_id", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`fields` are the other keys of the line, as they stand there."""

    doc_id: str
    title: str
    text: str
    fields: Mapping[str, Any]

    @property
    def full_text(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    query_id: str
    text: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSet:
    """Documents and queries in the order of their files. `qrels[query_id][doc_id]` is the
    relevance, 0 included where a file states it; every id in it exists."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]

    @property
    def judged(self) -> tuple[Query, ...]:
        """The queries with at least one relevant document: those that can be scored."""
        return tuple(
            query
            for query in self.queries
            if any(score > 0 for score in self.qrels.get(query.query_id, {}).values())
        )


def sample(queries: Sequence[Query], *, limit: int) -> list[Query]:
    """The same `limit` questions on every machine: those with the smallest hash of their id."""
    return sorted(queries, key=lambda query: sha256_hex(query.query_id))[:limit]


def read_set(folder: Path) -> RetrievalSet:
    """Raises `InvalidRequest` naming the file and line that is missing or wrong."""
    documents = tuple(_document(line, where) for where, line in read_lines(folder / "corpus.jsonl"))
    queries = tuple(_query(line, where) for where, line in read_lines(folder / "queries.jsonl"))
    doc_ids = _unique([document.doc_id for document in documents], folder / "corpus.jsonl")
    query_ids = _unique([query.query_id for query in queries], folder / "queries.jsonl")
    qrels = _qrels(folder / "qrels.tsv", doc_ids=doc_ids, query_ids=query_ids)
    return RetrievalSet(name=folder.name, documents=documents, queries=queries, qrels=qrels)


def _document(line: dict[str, Any], where: str) -> Document:
    return Document(
        doc_id=_text(line, "doc_id", where),
        title=_text(line, "title", where, default=""),
        text=_text(line, "text", where),
        fields={key: line[key] for key in line if key not in ("doc_id", "title", "text")},
    )


def _query(line: dict[str, Any], where: str) -> Query:
    return Query(
        query_id=_text(line, "query_id", where),
        text=_text(line, "text", where),
        fields={key: line[key] for key in line if key not in ("query_id", "text")},
    )


def _text(line: dict[str, Any], key: str, where: str, *, default: str | None = None) -> str:
    value = line.get(key, default)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}: no text under {key!r}")
    return value


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """`file:line` and the object of each line that is not blank."""
    for where, raw in _raw_lines(path):
        try:
            line = json.loads(raw)
        except ValueError as error:
            raise InvalidRequest(f"{where}: not valid JSON ({error})") from error
        if not isinstance(line, dict):
            raise InvalidRequest(f"{where}: not a JSON object")
        yield where, line


def _raw_lines(path: Path) -> Iterator[tuple[str, str]]:
    """`file:line` and the text of each line that is not blank."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    yield f"{path}:{number}", raw.rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} cannot be read: {error}") from error


def _unique(ids: list[str], path: Path) -> frozenset[str]:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise InvalidRequest(f"{path}: the id {one!r} stands there twice")
        seen.add(one)
    return frozenset(seen)


def _qrels(
    path: Path, *, doc_ids: frozenset[str], query_ids: frozenset[str]
) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for number, (where, raw) in enumerate(_raw_lines(path)):
        parts = tuple(raw.split("\t"))
        if number == 0 and parts == HEADER:
            continue
        if len(parts) != len(HEADER):
            raise InvalidRequest(f"{where}: three columns are needed: {', '.join(HEADER)}")
        query_id, doc_id, score = parts
        if query_id not in query_ids or doc_id not in doc_ids:
            raise InvalidRequest(f"{where}: {query_id!r} or {doc_id!r} is in no other file")
        try:
            qrels.setdefault(query_id, {})[doc_id] = int(score)
        except ValueError as error:
            raise InvalidRequest(f"{where}: the score {score!r} is no whole number") from error
    return qrels
