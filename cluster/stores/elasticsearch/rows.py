"""Rows -> Elasticsearch documents: how the index is laid out, and what is written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from cluster.errors import InvalidRequest, StoreRejected
from cluster.filters import FIELDS, MAX_TEXT_BYTES, FieldKind
from cluster.model import FieldValue
from cluster.stores.checks import storable
from cluster.stores.elasticsearch.errors import STORE
from cluster.stores.elasticsearch.filters import ABSENT, as_double
from cluster.stores.protocols import TextRow

CHUNK_ID = "chunk_id"
TERMS = "terms"
LAYOUT = 1
"""Grows when an index of the layout before cannot serve the code any longer; it is rebuilt."""

MAX_ID_BYTES = 512
MAX_TERM_UNITS = 255
"""The analyzer cuts longer terms into pieces of so many UTF-16 units; we cut before it does,
in rows and questions alike."""

NO_TERMS = "\ue000"
"""Stands in a row without terms, which would not count in the statistics otherwise as it does in
the other indexes. Not a letter, so that no question has it."""

_SPACE = re.compile("[\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]")
"""Where the analyzer splits."""

_TYPES: Mapping[FieldKind, str] = {
    "text": "keyword",
    "texts": "keyword",
    "number": "double",
    "moment": "long",
    "flag": "boolean",
}


def index_settings(*, shards: int, replicas: int) -> dict[str, Any]:
    return {
        "number_of_shards": shards,
        "number_of_replicas": replicas,
        # Every write refreshes when it is done; this is for one that died before it could.
        "refresh_interval": "30s",
        # How long a deleted row's version refuses a late write of it.
        "gc_deletes": "1h",
        "max_terms_count": 65_536,
        "similarity": {"default": {"type": "BM25", "k1": 1.2, "b": 0.75}},
    }


def mappings() -> dict[str, Any]:
    """`terms` are split at white space, nothing else is analysed; nothing but ids is stored."""
    exact = {"type": "keyword"}
    fields = {name: {"type": _TYPES[kind]} for name, kind in FIELDS.items()}
    terms = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
    return {
        "dynamic": "strict",
        "_meta": {"palimpsest_layout": LAYOUT},
        "_source": {"enabled": False},
        "properties": {CHUNK_ID: exact, ABSENT: exact, TERMS: terms, **fields},
    }


def document(row: TextRow) -> bytes:
    """One line of JSON. A wrong type in a field raises `InvalidRequest`, an id that is too long
    and a term that the analyzer would take apart `StoreRejected`, naming the chunk."""
    if not can_be_id(row.row.chunk_id):
        raise StoreRejected(STORE, f"chunk {row.row.chunk_id[:80]!r}: no id that it can hold")
    held: dict[str, Any] = {CHUNK_ID: row.row.chunk_id, TERMS: _terms(row)}
    absent = []
    for name, kind in FIELDS.items():
        value = row.row.fields.get(name)
        if value is None or value in ("", ()):
            absent.append(name)
            continue
        try:
            held[name] = _field(kind, value)
        except (TypeError, OverflowError) as error:
            raise InvalidRequest(
                f"chunk {row.row.chunk_id}: field {name!r} cannot be {value!r}"
            ) from error
    held[ABSENT] = absent
    return as_line(held)


def as_line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def can_be_id(chunk_id: str) -> bool:
    return bool(chunk_id) and storable(chunk_id) and len(chunk_id.encode()) <= MAX_ID_BYTES


def indexed_term(term: str) -> str:
    """A term as the index holds it."""
    if len(term) * 2 <= MAX_TERM_UNITS:
        return term
    units = term.encode("utf-16-le", "surrogatepass")[: MAX_TERM_UNITS * 2]
    return units.decode("utf-16-le", "ignore")


def _terms(row: TextRow) -> str:
    """Looked at as one text, which is quick; term by term only to name the wrong one."""
    together = "".join(row.terms)
    if "" in row.terms or not storable(together) or _SPACE.search(together):
        wrong = next(t for t in row.terms if not t or not storable(t) or _SPACE.search(t))
        raise StoreRejected(
            STORE,
            f"chunk {row.row.chunk_id}: {wrong!r} is no term; "
            "terms are not empty and hold no white space",
        )
    return " ".join(map(indexed_term, row.terms)) or NO_TERMS


def _field(kind: FieldKind, value: FieldValue) -> Any:
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "moment" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(as_double(value))
    if kind == "text" and isinstance(value, str):
        return _texts((value,))
    if kind == "texts" and isinstance(value, tuple):
        return _texts(value)
    raise TypeError(kind)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise OverflowError(number)
    return number


def _texts(values: tuple[str, ...]) -> list[str]:
    """A text that cannot be written cannot be asked for by a filter: the row has the field,
    and no value matches. No filter can tell texts apart beyond its own longest value."""
    return [text[: MAX_TEXT_BYTES + 1] for text in values if _writable(text)]


def _writable(text: str) -> bool:
    if not isinstance(text, str):
        raise TypeError(text)
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
