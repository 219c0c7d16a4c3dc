"""The local stack: up, down, status."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table

from cluster.errors import StackError, StoreError
from cluster.settings import Settings, load_settings
from cluster.stack import control
from cluster.stack.contents import Contents, look_into
from cluster.stack.services import module_service, store_services
from cluster.stack.spec import Port, Probe, ServiceSpec
from cluster.stores.open import postgres_url
from cluster.stores.postgres.migrate import migrate

KIB = 1024


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("status")(status)


def service_specs(settings: Settings) -> list[ServiceSpec]:
    """All parts of the local stack: the stores, the indexer, the worker, the application."""
    return [*store_services(settings), _worker(settings), _lifecycle(settings), _serve(settings)]


def up() -> None:
    """Start the local stack; returns when it answers."""
    settings = load_settings()
    typer.echo(f"palimpsest in {settings.data_dir}")
    nothing_ran = control.status(settings).supervisor == "none"
    try:
        found = control.up(settings, service_specs(settings), say=typer.echo)
    except KeyboardInterrupt:
        typer.echo("it goes on starting in the background; `palimpsest down` ends that")
        raise typer.Exit(130) from None
    if nothing_ran and settings.postgres.url is None:
        # Every process on this ledger was started just now: none of an older version is left.
        asyncio.run(migrate(postgres_url(settings), settings.postgres, finish=True))
    typer.echo(f"answers at {found.serve}  ·  stop with `palimpsest down`")


def down() -> None:
    """Stop the local stack; leaves no process."""
    control.down(load_settings(), say=typer.echo)


def status(
    as_json: bool = typer.Option(False, "--json", help="For machines."),
) -> None:
    """What runs, since when, with how much memory, and where it answers."""
    settings = load_settings()
    found = control.status(settings)
    held, why_not = _contents(settings, found)
    if as_json:
        ledger = asdict(held) if held else None
        typer.echo(json.dumps({**asdict(found), "ledger": ledger}, indent=2))
        return
    _print(found)
    if held:
        _print_contents(held)
    elif why_not:
        typer.echo(f"the ledger does not answer: {why_not}")


def _contents(settings: Settings, found: control.StackStatus) -> tuple[Contents | None, str]:
    """Asked only when the stack runs at all."""
    if found.supervisor == "none":
        return None, ""
    try:
        return asyncio.run(look_into(settings)), ""
    except (StoreError, StackError) as error:
        return None, str(error)


def _print_contents(held: Contents) -> None:
    counts = ", ".join(f"{count:,} {name}" for name, count in held.counts.items())
    typer.echo(f"ledger: {counts}")
    owed = f"{held.owed:,} entries behind, by {held.lag_s:.1f} s" if held.owed else "up to date"
    typer.echo(f"indexes: {owed}; encoder {held.encoder or 'not chosen yet'}")
    if held.named:
        typer.echo(
            f"the settings name the encoder {held.named}, which is not used; `palimpsest reembed` "
            "changes to it"
        )
    if held.set_aside:
        typer.echo(
            f"indexes: {held.set_aside:,} rows are refused and set aside; `palimpsest outbox list`"
        )
    if held.sound is False:
        typer.echo(
            f"indexes: not in step with the ledger at {held.compared_at}, {held.drift:,} rows "
            "differed; `palimpsest reconcile` tells more"
        )
    if held.rebuilding:
        typer.echo("indexes: a rebuild is not finished; `palimpsest rebuild` goes on")


def _worker(settings: Settings) -> ServiceSpec:
    return module_service(
        settings, name="worker", module="ingest.worker", probe=Probe(kind="alive")
    )


def _lifecycle(settings: Settings) -> ServiceSpec:
    return module_service(
        settings, name="lifecycle", module="lifecycle.worker", probe=Probe(kind="alive")
    )


def _serve(settings: Settings) -> ServiceSpec:
    url = f"http://{settings.serve.host}:{settings.serve.port}"
    return module_service(
        settings,
        name="serve",
        module="serve.app",
        probe=Probe(kind="http", target=f"{url}/healthz", ready_within_s=300.0),
        ports=(Port(number=settings.serve.port, setting="serve.port", host=settings.serve.host),),
        endpoint=url,
    )


def _print(found: control.StackStatus) -> None:
    console = Console(highlight=False)
    if found.supervisor == "none":
        console.print("the local stack is down; start it with `palimpsest up`")
    if found.supervisor == "dead":
        console.print("the supervisor is gone; `palimpsest up` takes over, `down` cleans up")
    if found.parts:
        console.print(_table(found))
    console.print(
        f"{found.home}: {_size(found.disk_used_bytes)} used, {_size(found.disk_free_bytes)} free"
    )
    for part in found.parts:
        if part.error and part.state != "ready":
            console.print(f"{part.name}: {part.error}\n  log: {part.log}", markup=False)


def _table(found: control.StackStatus) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("part", "state", "pid", "up", "restarts", "memory", "answers at"):
        table.add_column(heading)
    for part in found.parts:
        table.add_row(
            part.name,
            part.state,
            str(part.pid or "-"),
            _duration(part.uptime_s),
            str(part.restarts),
            _size(part.memory_bytes),
            part.endpoint,
        )
    return table


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < KIB:
            return f"{count:.0f} {unit}"
        count /= KIB
    return f"{count:.1f} GB"
