"""Give back the bytes of what is gone: purge."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from cli.repair import rebuild_all
from cli.stack import service_specs
from cluster.errors import InvalidRequest, StoreUnavailable
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from cluster.stores.open import milvus_uri, open_ledger, postgres_url, text_index_dir
from cluster.stores.postgres.purge import PurgedDatabase, purge_database
from cluster.stores.protocols import Ledger

Say = Callable[[str], None]

VECTORS_AT_ONCE = 2000
"""Vectors of the ledger that are looked at in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What happened in each store, in words where it is not the database. `embeddings` were in
    the ledger for no chunk."""

    database: PurgedDatabase
    embeddings: int
    vectors: str
    text: str


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("purge")(purge)


def purge(
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Write tables and embedded indexes anew; answers wait meanwhile."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Remove the bytes of what was deleted or forgotten, as far as each engine allows.

    Nothing shows them any more before that; this is about files. `docs/operations.md` tells
    what goes when.
    """
    settings = load_settings()

    def say(line: str) -> None:
        typer.echo(line, err=True)

    if settings.postgres.url is None or settings.milvus.uri is None:
        ensure_up(settings, service_specs(settings), say=say)
    done = asyncio.run(purge_all(settings, full=full, say=say))
    if as_json:
        typer.echo(json.dumps(asdict(done), indent=2))
        return
    how = "written anew" if done.database.full else "vacuumed"
    typer.echo(f"database: {len(done.database.tables)} tables {how}; log: {done.database.log}")
    typer.echo(f"embeddings without a chunk: {done.embeddings:,} dropped")
    typer.echo(f"vectors: {done.vectors}")
    typer.echo(f"full text: {done.text}")


async def purge_all(settings: Settings, *, full: bool, say: Say) -> Purged:
    """`InvalidRequest` while something is still being forgotten: its names are needed."""
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            unfinished = await tx.forget_jobs.unfinished()
        if unfinished:
            raise InvalidRequest(
                f"{len(unfinished)} forget jobs are not finished; "
                "run `palimpsest forget resume` first"
            )
        embeddings = await drop_unneeded(ledger)
    finally:
        await ledger.close()
    vectors, text = await _server_indexes(settings)
    if full and (vectors is None or text is None):
        wanted = {"vectors": vectors is None, "text": text is None}
        done, _ = await rebuild_all(settings, wanted=wanted, fresh=True, say=say)
        if done.left:
            raise StoreUnavailable("indexer", f"{done.left:,} rows wait; run the same again")
        _drop_former_folders(settings)
        vectors, text = vectors or "made anew", text or "made anew"
    # Last: the rebuild writes to the ledger, too.
    database = await purge_database(
        postgres_url(settings),
        settings.postgres,
        full=full,
        own_server=settings.postgres.url is None,
    )
    kept = "segments with removed rows go with the next merges; --full makes the index anew"
    return Purged(
        database=database, embeddings=embeddings, vectors=vectors or kept, text=text or kept
    )


async def drop_unneeded(ledger: Ledger, *, at_once: int = VECTORS_AT_ONCE) -> int:
    """Drop the vectors that were put for revisions which never came, as their process was killed
    in between; how many. An ingest that is between the two encodes its texts once more."""
    dropped = 0
    after: str | None = ""
    while after is not None:
        async with ledger.transaction() as tx:
            more, after = await tx.vectors.drop_unneeded(after=after, limit=at_once)
        dropped += more
    return dropped


async def _server_indexes(settings: Settings) -> tuple[str | None, str | None]:
    """What the servers did; `None` for an embedded index, which has no such command."""
    vectors = text = None
    if settings.milvus.uri is not None:
        vectors = await asyncio.to_thread(_compact, settings)
    if settings.text_index.backend == "elasticsearch":
        from cluster.stores.elasticsearch.purge import expunge

        text = await expunge(settings.text_index)
    return vectors, text


def _compact(settings: Settings) -> str:
    from cluster.stores.milvus.purge import compact

    return compact(milvus_uri(settings), token=settings.milvus.token)


def _drop_former_folders(settings: Settings) -> None:
    """The rebuild moves the embedded text index aside before it makes a new one."""
    path = text_index_dir(settings)
    for former in path.parent.glob(f"{path.name}.damaged-*"):
        shutil.rmtree(former)
