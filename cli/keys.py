"""Who may call: keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from cli.stack import service_specs
from cluster.clock import SystemClock
from cluster.model import ApiKey
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Transaction
from serve.secret import new_key, secret_digest

Result = TypeVar("Result")
Words = TypeVar("Words", str, str | None)
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    keys = typer.Typer(no_args_is_help=True, help="API keys: create, list, revoke.")
    keys.command("create")(create)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke)
    app.add_typer(keys, name="keys")


def create(  # noqa: PLR0917  # called with names by the command line
    tenant: Annotated[str | None, typer.Option(help="Whose data; default: the setting.")] = None,
    role: Annotated[
        Literal["read", "write", "admin"], typer.Option(help="How far it reaches.")
    ] = "read",
    name: Annotated[str, typer.Option(help="To know it again.")] = "",
    owner: Annotated[
        str | None, typer.Option(help="Sees this person's own items beside the shared ones.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that will use it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key; its secret is shown once."""
    settings = load_settings()
    secret, key = new_key(
        tenant=_worded(settings.tenant if tenant is None else tenant, "--tenant"),
        role=role,
        name=name,
        owner=_worded(owner, "--owner"),
        agent=_worded(agent, "--agent"),
        now=SystemClock().now(),
    )
    _with_ledger(settings, lambda tx: tx.keys.put(key, secret_sha256=secret_digest(secret)))
    if as_json:
        typer.echo(json.dumps({**_told(key), "secret": secret}, indent=2))
        return
    typer.echo(secret)
    typer.echo(
        f"{key.key_id}: {role} for tenant {key.tenant}. Keep the secret, it is not shown again:\n"
        "  export PALIMPSEST_API_KEY=<the line above>",
        err=True,
    )


def list_keys(
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    as_json: AsJson = False,
) -> None:
    """All keys, revoked ones too; no secrets."""
    found = _with_ledger(load_settings(), lambda tx: tx.keys.all_of(tenant))
    if as_json:
        typer.echo(json.dumps([_told(key) for key in found], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    for heading in ("tenant", "role", "name", "owner", "created", "revoked"):
        table.add_column(heading, overflow="fold")
    for key in found:
        revoked = key.revoked_at.date().isoformat() if key.revoked_at else "-"
        created = key.created_at.date().isoformat()
        table.add_row(
            key.key_id, key.tenant, key.role, key.name, key.owner or "-", created, revoked
        )
    Console(highlight=False).print(table)


def revoke(
    key_id: Annotated[str, typer.Argument(help="As `keys list` shows it.")],
) -> None:
    """Stop a key from working, within five seconds."""
    now = SystemClock().now()
    _with_ledger(load_settings(), lambda tx: tx.keys.revoke(key_id, now=now))
    typer.echo(f"{key_id} is revoked")


def _worded(value: Words, option: str) -> Words:
    """A key of nobody would be refused in every search."""
    if value is not None and not value.strip():
        raise typer.BadParameter("is blank; name one, or leave it out", param_hint=option)
    return value


def _with_ledger(settings: Settings, act: Callable[[Transaction], Awaitable[Result]]) -> Result:
    """In one transaction of the ledger; the local stack is started if it holds the ledger."""
    if settings.postgres.url is None:
        ensure_up(settings, service_specs(settings), say=lambda line: typer.echo(line, err=True))

    async def run() -> Result:
        ledger = await open_ledger(settings)
        try:
            async with ledger.transaction() as tx:
                return await act(tx)
        finally:
            await ledger.close()

    return asyncio.run(run())


def _told(key: ApiKey) -> dict[str, Any]:
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in asdict(key).items()
    }
