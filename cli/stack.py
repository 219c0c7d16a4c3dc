"""The local stack: up, down, status."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table

from cluster.settings import Settings, load_settings
from cluster.stack import control
from cluster.stack.services import module_service, store_services
from cluster.stack.spec import Port, Probe, ServiceSpec

KIB = 1024


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("status")(status)


def service_specs(settings: Settings) -> list[ServiceSpec]:
    """All parts of the local stack: the stores, the indexer, the worker, the application."""
    specs = [*store_services(settings), _worker(settings), _serve(settings)]
    return [spec for spec in specs if _there(spec)]


def up() -> None:
    """Start the local stack; returns when it answers."""
    settings = load_settings()
    typer.echo(f"palimpsest in {settings.data_dir}")
    found = control.up(settings, service_specs(settings), say=typer.echo)
    typer.echo(f"answers at {found.serve}  ·  stop with `palimpsest down`")


def down() -> None:
    """Stop the local stack; leaves no process."""
    control.down(load_settings(), say=typer.echo)


def status(
    as_json: bool = typer.Option(False, "--json", help="For machines."),
) -> None:
    """What runs, since when, with how much memory, and where it answers."""
    found = control.status(load_settings())
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        _print(found)


def _worker(settings: Settings) -> ServiceSpec:
    return module_service(
        settings, name="worker", module="ingest.worker", probe=Probe(kind="alive")
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


def _there(spec: ServiceSpec) -> bool:
    return importlib.util.find_spec(spec.command[2]) is not None


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
