"""How does a row look in a collection, and which fields are indexed how?"""

from __future__ import annotations

from typing import Any

from pymilvus import CollectionSchema, DataType, FieldSchema  # type: ignore[import-untyped]  # has no types

from cluster.errors import StoreRejected
from cluster.filters import FIELDS, FieldKind
from cluster.ids import sha256_hex
from cluster.model import FieldValue, Generation
from cluster.stores.checks import storable
from cluster.stores.milvus.filters import (
    MAX_STORED_BYTES,
    NO_FLAG,
    NO_MOMENT,
    NO_NUMBER,
    TagsAs,
    stored_tags,
    stored_text,
)
from cluster.stores.milvus.server import Server
from cluster.stores.protocols import VectorRow
from cluster.stores.vector_rows import MAX_ID_BYTES

STORE = "milvus"
PARTITION_KEY = "tenant"
MAX_TAGS = 1024
MAX_TAGS_BYTES = 65_535


SPARE_NAMES = 20


def collection_names(generation: Generation) -> tuple[str, ...]:
    """The name of its collection, then those that it gets when that one cannot be had."""
    name = collection_name(generation)
    return (name, *(f"{name}_{number}" for number in range(2, SPARE_NAMES + 2)))


def collection_name(generation: Generation) -> str:
    """One collection for each encoding; the fingerprint is text of any form."""
    return f"chunks_{sha256_hex(generation.fingerprint)[:12]}"


def collection_schema(dim: int, *, server: Server) -> CollectionSchema:
    fields = [
        FieldSchema("chunk_id", DataType.VARCHAR, is_primary=True, max_length=MAX_ID_BYTES),
        FieldSchema("version", DataType.INT64),
        FieldSchema("vector", DataType.FLOAT_VECTOR, dim=dim),
        *(_field(name, kind, server=server) for name, kind in FIELDS.items()),
    ]
    return CollectionSchema(fields, auto_id=False, enable_dynamic_field=False)


def entity(row: VectorRow, *, tags_as: TagsAs) -> dict[str, Any]:
    """`StoreRejected` for a text that no store can hold or too many tags."""
    held = row.row.fields
    try:
        values = {name: _value(held.get(name), kind, tags_as) for name, kind in FIELDS.items()}
    except ValueError as error:
        raise StoreRejected(STORE, f"chunk {row.row.chunk_id}: {error}") from error
    return {
        "chunk_id": row.row.chunk_id,
        "version": row.row.version,
        "vector": row.vector,
        **values,
    }


def _field(name: str, kind: FieldKind, *, server: Server) -> FieldSchema:
    match kind:
        case "moment":
            return FieldSchema(name, DataType.INT64)
        case "number":
            return FieldSchema(name, DataType.DOUBLE)
        case "flag":
            return FieldSchema(name, DataType.INT8)
        case "texts" if server.tags_as == "array":
            return FieldSchema(
                name,
                DataType.ARRAY,
                element_type=DataType.VARCHAR,
                max_capacity=MAX_TAGS,
                max_length=MAX_STORED_BYTES,
            )
        case "texts":
            return FieldSchema(name, DataType.VARCHAR, max_length=MAX_TAGS_BYTES)
        case "text":
            return FieldSchema(
                name,
                DataType.VARCHAR,
                max_length=MAX_STORED_BYTES,
                is_partition_key=name == PARTITION_KEY and server.partitions_tenants,
            )


def _value(value: FieldValue, kind: FieldKind, tags_as: TagsAs) -> str | list[str] | float | int:
    match kind:
        case "texts":
            return _tags(value, tags_as=tags_as)
        case "text":
            return stored_text(_storable(str(value or "")))
        case "number":
            return NO_NUMBER if value is None else float(value)  # type: ignore[arg-type]
        case "moment":
            return NO_MOMENT if value is None else int(value)  # type: ignore[arg-type]
        case "flag":
            return NO_FLAG if value is None else int(bool(value))


def _tags(value: FieldValue, *, tags_as: TagsAs) -> str | list[str]:
    tags = value if isinstance(value, tuple) else ()
    if len(tags) > MAX_TAGS:
        raise ValueError(f"{len(tags)} tags, at most {MAX_TAGS}")
    return stored_tags([_storable(tag) for tag in tags], tags_as=tags_as)


def _storable(text: str) -> str:
    if not storable(text):
        raise ValueError("NUL or a lone surrogate in a filter field; clean the text first")
    return text
