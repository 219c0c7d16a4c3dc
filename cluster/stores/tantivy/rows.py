"""Rows -> Tantivy documents: the schema, and what is written for each field."""

from __future__ import annotations

from zlib import crc32

from tantivy import Document, Schema, SchemaBuilder

from cluster.errors import InvalidRequest
from cluster.filters import FIELDS, MAX_TEXT_BYTES
from cluster.model import FieldValue
from cluster.stores.protocols import TextRow
from cluster.stores.tantivy.filters import ABSENT, as_double

CHUNK_ID = "chunk_id"
VERSION = "version"
TERMS = "terms"
BUCKET = "bucket"
BUCKETS = 64
"""A scan walks through the rows in so many parts, told apart by a checksum of the id."""


def build_schema() -> Schema:
    """`terms` are split at white space, nothing else is analysed."""
    builder = SchemaBuilder()
    builder.add_text_field(CHUNK_ID, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field(VERSION, stored=True)
    builder.add_text_field(TERMS, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field(BUCKET, indexed=True)
    builder.add_text_field(ABSENT, tokenizer_name="raw", index_option="basic")
    for name, kind in FIELDS.items():
        if kind in ("text", "texts"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        elif kind == "number":
            builder.add_float_field(name, indexed=True)
        elif kind == "moment":
            builder.add_integer_field(name, indexed=True)
        else:
            builder.add_boolean_field(name, indexed=True)
    return builder.build()


def document(row: TextRow) -> Document:
    """A wrong type in a field raises `InvalidRequest`, naming the chunk."""
    result = Document()
    result.add_text(CHUNK_ID, row.row.chunk_id)
    result.add_unsigned(VERSION, row.row.version)
    result.add_unsigned(BUCKET, bucket(row.row.chunk_id))
    result.add_text(TERMS, " ".join(row.terms))
    for name in FIELDS:
        value = row.row.fields.get(name)
        if value is None or value in ("", ()):
            result.add_text(ABSENT, name)
            continue
        try:
            _add(result, name, value)
        except (TypeError, OverflowError, ValueError) as error:
            raise InvalidRequest(
                f"chunk {row.row.chunk_id}: field {name!r} cannot be {value!r}"
            ) from error
    return result


def bucket(chunk_id: str) -> int:
    return crc32(chunk_id.encode("utf-8", "surrogatepass")) % BUCKETS


def _add(result: Document, name: str, value: FieldValue) -> None:
    kind = FIELDS[name]
    if kind == "flag" and isinstance(value, bool):
        result.add_boolean(name, value)
    elif kind == "number" and isinstance(value, int | float):
        result.add_float(name, as_double(value))
    elif kind == "moment" and isinstance(value, int):
        result.add_integer(name, value)
    elif kind == "text" and isinstance(value, str):
        _add_text(result, name, value)
    elif kind == "texts" and isinstance(value, tuple):
        for text in value:
            _add_text(result, name, text)
    else:
        raise TypeError(name)


def _add_text(result: Document, name: str, text: str) -> None:
    """A lone surrogate cannot be written, nor be asked for by a filter: the row has the field,
    and no value matches. No filter can tell texts apart beyond its own longest value."""
    held = text[: MAX_TEXT_BYTES + 1]
    if held.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in held):
        result.add_text(name, held)
