"""Settings -> open stores; the one place that knows which implementation is behind a seam.

The drivers are imported when a store is opened: a process that needs one does not pay for all.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from cluster.forget.key_files import tombstone_key_file
from cluster.model import Generation
from cluster.settings import Settings
from cluster.stack.services import embedded_milvus_uri, embedded_postgres_url
from cluster.stores.protocols import Collections, Ledger, TextIndex, VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The three that belong together; who opens them closes them."""

    ledger: Ledger
    vector_index: VectorIndex
    text_index: TextIndex

    async def close(self) -> None:
        """Each is closed, also when another one's `close` fails."""
        try:
            await self.vector_index.close()
        finally:
            try:
                await self.text_index.close()
            finally:
                await self.ledger.close()


async def open_stores(
    settings: Settings, generation: Generation, *, read_only_text: bool
) -> Stores:
    """All or none: what was opened is closed again when a later one fails."""
    ledger = await open_ledger(settings)
    try:
        vector_index = await open_vector_index(settings, generation)
        try:
            text_index = await open_text_index(settings, read_only=read_only_text)
        except BaseException:
            await vector_index.close()
            raise
    except BaseException:
        await ledger.close()
        raise
    return Stores(ledger=ledger, vector_index=vector_index, text_index=text_index)


async def open_ledger(settings: Settings) -> Ledger:
    """`StackError` when the embedded server was never started, else as `Ledger` says."""
    from cluster.stores.postgres.ledger import PostgresLedger

    return await PostgresLedger.open(
        postgres_url(settings), settings.postgres, tombstone_key=tombstone_key_file(settings)
    )


async def open_vector_index(settings: Settings, generation: Generation) -> VectorIndex:
    from cluster.stores.milvus.index import MilvusVectorIndex

    return await MilvusVectorIndex.open(
        milvus_uri(settings),
        token=settings.milvus.token,
        generation=generation,
        settings=settings.milvus,
    )


def open_collections(settings: Settings) -> Collections:
    """The vector indexes of all generations; nothing is connected yet."""
    from cluster.stores.milvus.collections import MilvusCollections

    return MilvusCollections(
        uri=milvus_uri(settings), token=settings.milvus.token, settings=settings.milvus
    )


async def open_text_index(settings: Settings, *, read_only: bool) -> TextIndex:
    """Of the embedded index one process writes, and all others open it read-only; a server
    has any number of writers."""
    if settings.text_index.backend == "elasticsearch":
        from cluster.stores.elasticsearch.index import ElasticsearchTextIndex

        return await ElasticsearchTextIndex.open(settings.text_index, read_only=read_only)
    from cluster.stores.tantivy.index import TantivyTextIndex

    return await asyncio.to_thread(
        TantivyTextIndex.open,
        text_index_dir(settings),
        writer_heap_mb=settings.text_index.writer_heap_mb,
        read_only=read_only,
    )


def postgres_url(settings: Settings) -> str:
    return settings.postgres.url or embedded_postgres_url(settings)


def milvus_uri(settings: Settings) -> str:
    return settings.milvus.uri or embedded_milvus_uri(settings)


def text_index_dir(settings: Settings) -> Path:
    return settings.data_dir / "text-index"
