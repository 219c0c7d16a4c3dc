"""Bring the ledger's schema to this version's."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer

from cluster.errors import StackError
from cluster.settings import load_settings
from cluster.stack import control
from cluster.stores.open import postgres_url
from cluster.stores.postgres.migrate import migrate, unfinished


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("migrate")(migrate_ledger)


def migrate_ledger(
    finish: Annotated[
        bool,
        typer.Option("--finish", help="Also take away what older versions used: none may run."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Apply schema migrations to the running ledger, and say what is left to finish."""
    settings = load_settings()
    if settings.postgres.url is None and control.status(settings).supervisor == "none":
        raise StackError("nothing runs here; `palimpsest up` starts it, and migrates the ledger")
    url = postgres_url(settings)
    applied = asyncio.run(migrate(url, settings.postgres, finish=finish))
    waiting = asyncio.run(unfinished(url, settings.postgres))
    if as_json:
        typer.echo(json.dumps({"applied": applied, "waiting": waiting}))
        return
    for name in applied:
        typer.echo(f"applied {name}")
    for name in waiting:
        typer.echo(f"waits for `palimpsest migrate --finish`: {name}")
    if not applied:
        typer.echo("nothing to apply")
