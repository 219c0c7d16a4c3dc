"""Back up the ledger, and restore it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from cli.repair import rebuild_all
from cli.stack import service_specs
from cluster.clock import SystemClock
from cluster.forget.key_files import receipt_key_file, tombstone_key_file
from cluster.settings import Settings, load_settings
from cluster.stack import control
from cluster.stores.open import postgres_url
from lifecycle.backup import Manifest, backup, read_manifest, restore, restore_keys

AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("backup")(backup_command)
    app.command("restore")(restore_command)


def backup_command(
    file: Annotated[Path, typer.Argument(help="A new file.")],
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="Put the keys of forgetting into the file, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the whole ledger, texts and vectors, to one file while work goes on."""
    settings = load_settings()
    _ensure_up(settings)
    there = {name: path for name, path in key_places(settings).items() if path.exists()}
    keys = there if with_keys else {}
    manifest = asyncio.run(
        backup(postgres_url(settings), file, now=SystemClock().now(), keys=keys, say=_say)
    )
    size = file.stat().st_size
    if as_json:
        typer.echo(json.dumps({"file": str(file), "bytes": size, **manifest.to_json()}, indent=2))
        return
    typer.echo(f"{file}: {manifest.rows:,} rows, {size / 2**20:,.2f} MB")
    if there and not with_keys:
        places = ", ".join(map(str, there.values()))
        typer.echo(f"copy the keys of forgetting as well, or add --with-keys: {places}")


def restore_command(
    file: Annotated[Path, typer.Argument(help="What `palimpsest backup` wrote.")],
    rebuild: Annotated[
        bool, typer.Option(help="Make the indexes from the restored ledger at once.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Put a backup into an empty ledger, and make both indexes from it."""
    settings = load_settings()
    manifest = read_manifest(file)
    _ensure_up(settings)
    for written in restore_keys(file, key_places(settings)):
        _say(f"key: {written}")
    asyncio.run(restore(postgres_url(settings), settings.postgres, file, say=_say))
    _restart(settings)
    complete = rebuild and _rebuild(settings)
    if as_json:
        told = {
            "file": str(file),
            "rows": manifest.rows,
            "taken_at": manifest.to_json()["taken_at"],
        }
        typer.echo(json.dumps({**told, "rebuilt": complete}, indent=2))
    else:
        _print_restored(manifest, rebuilt=complete)
    if rebuild and not complete:
        raise typer.Exit(1)


def key_places(settings: Settings) -> dict[str, Path]:
    """The files that a ledger's tombstones and receipts cannot do without, by name."""
    files = (tombstone_key_file(settings), receipt_key_file(settings))
    return dict(zip(("tombstone.key", "receipt.key"), (file.path for file in files), strict=True))


def _rebuild(settings: Settings) -> bool:
    wanted = {"vectors": True, "text": True}
    done, report = asyncio.run(rebuild_all(settings, wanted=wanted, fresh=False, say=_say))
    return done.complete and report.sound


def _print_restored(manifest: Manifest, *, rebuilt: bool) -> None:
    typer.echo(f"restored {manifest.rows:,} rows as they were at {manifest.taken_at.isoformat()}")
    if not rebuilt:
        typer.echo("the indexes do not have them yet: `palimpsest rebuild`")
    typer.echo(
        "what was deleted or forgotten after that moment is back: go through the receipts that "
        "are younger and run those `palimpsest forget` again"
    )


def _ensure_up(settings: Settings) -> None:
    if settings.postgres.url is None:
        control.ensure_up(settings, service_specs(settings), say=_say)


def _restart(settings: Settings) -> None:
    """What runs locally still knows the former ledger's encoder and keys."""
    if settings.postgres.url is None:
        control.down(settings, say=_say)
        control.ensure_up(settings, service_specs(settings), say=_say)
    else:
        _say("restart the indexer, the worker and the application, so that they see this ledger")


def _say(line: str) -> None:
    typer.echo(line, err=True)
