"""The indexer in the foreground, for clusters: containers, systemd units."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import typer

from cluster.errors import InvalidSettings
from cluster.settings import load_settings
from cluster.stack.indexer_process import serve


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("indexer")(indexer)


def indexer(
    beat: Annotated[
        Path | None, typer.Option(help="A file to touch while it lives, for liveness probes.")
    ] = None,
) -> None:
    """Drain the outbox into the indexes until stopped; any number of processes may run."""
    settings = load_settings()
    if settings.text_index.backend == "tantivy":
        raise InvalidSettings(
            "the embedded text index belongs to the local stack, whose indexer `palimpsest up` "
            "starts; for an indexer of its own set text_index.backend to elasticsearch"
        )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(serve(settings, beat))
