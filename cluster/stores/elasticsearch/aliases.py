"""Which index is behind an alias: made on the first opening, replaced whole by a rebuild.

`palimpsest` is the alias that all read and write; the index behind it is named
`palimpsest-v1-000001`: alias, layout, number. One that is being built has the alias
`palimpsest-next`.
"""

from __future__ import annotations

import re
from typing import Any

from cluster.errors import StoreRejected, StoreUnavailable
from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.connection import Connection
from cluster.stores.elasticsearch.errors import BAD_REQUEST, NOT_FOUND, STORE, status_of
from cluster.stores.elasticsearch.rows import LAYOUT, index_settings, mappings

REBUILD = "rebuild the index from the ledger"
WHOLE_INDEX_S = 60.0
"""For making, switching and removing an index, which a busy server takes its time for."""

_NOT_IN_TIME = 408
_NUMBER = re.compile(r"-v\d+-(\d{6,})")


def next_of(alias: str) -> str:
    return f"{alias}-next"


async def ensure_index(connection: Connection, settings: TextIndexSettings) -> None:
    """There is an index behind the alias, of our layout, and its shards are there.

    `StoreRejected` when the index is of another layout or not ours, `StoreUnavailable` when
    its shards are not assigned.
    """
    alias = settings.index
    if not await behind(connection, alias):
        await create(connection, settings, alias=alias)
    await check_layout(connection, alias)
    await _wait_for_shards(connection, alias)


async def check_layout(connection: Connection, alias: str) -> None:
    """`StoreRejected` when there is an index behind the alias and it is not one of ours."""
    if not await behind(connection, alias):
        return
    answer = await connection.call(
        f"look at {alias}", lambda client: client.indices.get_mapping(index=alias)
    )
    for index, held in answer.body.items():
        found = held["mappings"].get("_meta", {}).get("palimpsest_layout")
        if found is None:
            raise StoreRejected(
                STORE, f"{index} was not made by Palimpsest; set text_index.index to another name"
            )
        if found != LAYOUT:
            raise StoreRejected(STORE, f"{index} has layout {found}, not {LAYOUT}; {REBUILD}")


async def create(connection: Connection, settings: TextIndexSettings, *, alias: str) -> None:
    """A new index behind `alias`, which has none. Two that do it at once make one."""
    name = await _new_name(connection, settings.index)
    try:
        await connection.call(
            f"make {name}",
            lambda client: client.indices.create(
                index=name,
                settings=index_settings(shards=settings.shards, replicas=settings.replicas),
                mappings=mappings(),
                aliases={alias: {"is_write_index": True}},
            ),
            timeout_s=WHOLE_INDEX_S,
        )
    except StoreRejected as error:
        if status_of(error) != BAD_REQUEST or "already_exists" not in error.message:
            raise


async def behind(connection: Connection, alias: str) -> list[str]:
    try:
        answer = await connection.call(
            f"look for {alias}", lambda client: client.indices.get_alias(name=alias)
        )
    except StoreRejected as error:
        if status_of(error) != NOT_FOUND:
            raise
        return []
    return sorted(answer.body)


async def remove(connection: Connection, alias: str) -> None:
    """The indexes behind the alias, if there are any."""
    if indexes := await behind(connection, alias):
        await connection.call(
            f"remove {', '.join(indexes)}",
            lambda client: client.indices.delete(index=indexes),
            timeout_s=WHOLE_INDEX_S,
        )


async def _new_name(connection: Connection, alias: str) -> str:
    used = [*await behind(connection, alias), *await behind(connection, next_of(alias))]
    numbers = [int(found.group(1)) for name in used if (found := _NUMBER.search(name))]
    return f"{alias}-v{LAYOUT}-{max(numbers, default=0) + 1:06d}"


async def _wait_for_shards(connection: Connection, alias: str) -> None:
    """Yellow is enough: copies are missing then, but no rows."""
    answer = await connection.call(
        f"ask the health of {alias}",
        lambda client: client.options(ignore_status=_NOT_IN_TIME).cluster.health(
            index=alias,
            wait_for_status="yellow",
            timeout=f"{int(connection.timeout_s * 500)}ms",
        ),
    )
    state: dict[str, Any] = answer.body
    if state["status"] == "red":
        raise StoreUnavailable(
            STORE,
            f"{alias} is red: {state['unassigned_shards']} of its shards are on no node; "
            "ask the server why by `GET _cluster/allocation/explain`",
        )
