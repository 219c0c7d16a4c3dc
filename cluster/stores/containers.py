"""Is the place where an index lives there and sound? If not, an empty one takes its place.

A rebuild begins here; rows are written by the indexer alone. What is damaged is moved aside
where that is possible (the folder of the embedded text index), and dropped elsewhere: it is
a view of the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from cluster.errors import StoreRejected, StoreUnavailable
from cluster.model import Generation
from cluster.settings import Settings
from cluster.stores.open import (
    milvus_uri,
    open_collections,
    open_text_index,
    open_vector_index,
    text_index_dir,
)
from cluster.stores.protocols import TextIndex, VectorIndex

LOOKS = 3
"""A folder that a writer is working in may look odd once."""

PAUSE_S = 1.0

Answer = TypeVar("Answer")


async def look_at_text_index(settings: Settings) -> str | None:
    """Why the text index must begin empty, in a few words; `None` when it is sound.
    `StoreUnavailable` when its server is away."""
    if settings.text_index.backend == "elasticsearch":
        there = await _has_index(settings)
        refusal = await _refusal(open_text_index(settings, read_only=False))
        return refusal if there else "it was not there"
    if not (text_index_dir(settings) / "meta.json").is_file():
        return "it was not there"
    return await _damage(settings)


async def empty_text_index(settings: Settings) -> str:
    """Let an empty text index take the place of what is there; says what happened to that."""
    if settings.text_index.backend == "elasticsearch":
        from cluster.stores.elasticsearch.replacement import Replacement

        replacement = await Replacement.begin(settings.text_index)
        await replacement.swap()
        return "replaced by an empty one"
    path = text_index_dir(settings)
    if not path.exists():
        return "its writer makes a new one"
    return f"moved to {move_aside(path).name}"


async def look_at_vector_index(settings: Settings, generation: Generation) -> str | None:
    """As `look_at_text_index`, for the vector index of one generation. Where there was none,
    there is an empty one afterwards."""
    there = await _has_collection(settings, generation)
    refusal = await _refusal(open_vector_index(settings, generation))
    return refusal if there else "it was not there"


async def empty_vector_index(settings: Settings, generation: Generation) -> str:
    """As `empty_text_index`."""
    await open_collections(settings).drop([generation])
    index = await open_vector_index(settings, generation)
    await index.close()
    return "dropped and made again"


def move_aside(path: Path) -> Path:
    """Rename a folder to `<name>.damaged-<n>`; where it went. Its writer makes a new one."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return path.rename(aside)


async def _damage(settings: Settings) -> str | None:
    """What every look at the embedded text index stumbles over."""
    why = ""
    for look in range(LOOKS):
        if look:
            await asyncio.sleep(PAUSE_S)
        try:
            await _read_all(settings)
        except StoreRejected as error:
            why = error.message
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, ValueError):
                raise
            why = error.message
        else:
            return None
    return f"it is damaged ({why.split(';')[0][:200]})"


async def _read_all(settings: Settings) -> None:
    index = await open_text_index(settings, read_only=True)
    try:
        async for _ in index.scan():
            pass
    finally:
        await index.close()


async def _refusal(opening: Awaitable[TextIndex | VectorIndex]) -> str | None:
    try:
        index = await opening
    except StoreRejected as error:
        return error.message.split(";")[0]
    await index.close()
    return None


async def _has_index(settings: Settings) -> bool:
    from cluster.stores.elasticsearch.aliases import behind
    from cluster.stores.elasticsearch.connection import Connection

    connection = await Connection.open(settings.text_index)
    try:
        return bool(await behind(connection, settings.text_index.index))
    finally:
        await connection.close()


async def _has_collection(settings: Settings, generation: Generation) -> bool:
    from cluster.stores.milvus.prepare import held_name

    name = await _on_milvus(
        settings, "look for the collection", lambda client: held_name(client, generation)
    )
    return name is not None


async def _on_milvus(settings: Settings, what: str, call: Callable[[Any], Answer]) -> Answer:
    from cluster.stores.milvus.connection import Connection

    connection = await Connection.open(
        milvus_uri(settings), token=settings.milvus.token, timeout_s=settings.milvus.timeout_s
    )
    try:
        return await connection.call(what, lambda client, _: call(client))
    finally:
        await connection.close()
