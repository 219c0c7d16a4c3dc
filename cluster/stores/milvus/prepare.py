"""Make a collection ready: create it, index its fields, load it; again and again the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types
from pymilvus.exceptions import MilvusException  # type: ignore[import-untyped]  # has no types

from cluster.errors import StoreRejected
from cluster.filters import FIELDS
from cluster.model import Generation
from cluster.settings import MilvusSettings
from cluster.stores.milvus.errors import STORE
from cluster.stores.milvus.schema import collection_names, collection_schema
from cluster.stores.milvus.server import Server, detect

AT_ONCE = 8
LEFT_OVER = "File exists"


def prepare(
    client: MilvusClient, *, generation: Generation, settings: MilvusSettings
) -> tuple[Server, str]:
    """The server, and the name of the collection. Safe to call from several processes at once,
    and after one that died half-way."""
    server = detect(client.get_server_version(timeout=settings.timeout_s))
    name = held_name(client, generation) or _create(client, generation, server=server)
    _check(name, client.describe_collection(name), server=server, dim=generation.dim)
    _index(client, name, server=server, settings=settings)
    client.load_collection(name)
    return server, name


def held_name(client: MilvusClient, generation: Generation) -> str | None:
    """Under which name its collection is there: the first of those that it may have."""
    held = set(client.list_collections())
    return next((name for name in collection_names(generation) if name in held), None)


def _create(client: MilvusClient, generation: Generation, *, server: Server) -> str:
    """Under the next name where Milvus Lite has files of a dropped collection left, which it
    neither shows nor writes over."""
    schema = collection_schema(generation.dim, server=server)
    *names, last = collection_names(generation)
    for name in (*names, last):
        try:
            client.create_collection(name, schema=schema, consistency_level="Bounded")
        except MilvusException as error:
            if client.has_collection(name):
                return name
            if name == last or not server.lite or LEFT_OVER not in str(error):
                raise
        else:
            return name
    raise AssertionError("the last name is made, or its error raised")


def _check(name: str, described: dict[str, Any], *, server: Server, dim: int) -> None:
    """Against what this version of the program would create."""
    there = {field["name"]: field for field in described["fields"]}
    wanted = {field.name for field in collection_schema(dim, server=server).fields}
    held_dim = int(there.get("vector", {}).get("params", {}).get("dim", 0))
    if there.keys() != wanted or held_dim != dim:
        raise StoreRejected(
            STORE,
            f"collection {name} has other fields or dimension {held_dim}, not {dim}; "
            "drop it and build the index again from the ledger",
        )


def _index(client: MilvusClient, name: str, *, server: Server, settings: MilvusSettings) -> None:
    """Several at once: the driver waits half a second for each index."""
    there = {
        client.describe_index(name, index)["field_name"] for index in client.list_indexes(name)
    }
    wanted = [field for field in ("vector", *_indexed(server)) if field not in there]
    make = partial(_index_field, client, name, server=server, settings=settings)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="milvus-prepare") as pool:
        list(pool.map(make, wanted))


def _indexed(server: Server) -> list[str]:
    """Every filter field, but for tags where the server cannot."""
    return [name for name, kind in FIELDS.items() if kind != "texts" or server.indexes_tags]


def _index_field(
    client: MilvusClient, name: str, field: str, *, server: Server, settings: MilvusSettings
) -> None:
    params = client.prepare_index_params()
    if field == "vector":
        kind, build = server.vector_index(settings)
        params.add_index(field, index_type=kind, metric_type="COSINE", params=build)
    else:
        params.add_index(field, index_type=server.scalar_index)
    try:
        client.create_index(name, params)
    except MilvusException:
        if field not in client.list_indexes(name):
            raise
