"""What the indexes refused: list it, and try it again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from cli.stack import service_specs
from cluster.errors import InvalidRequest
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from cluster.stores.open import open_ledger
from cluster.stores.protocols import SetAside, Transaction

Result = TypeVar("Result")
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")]


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    outbox = typer.Typer(no_args_is_help=True, help="Rows that an index refuses: list, retry.")
    outbox.command("list")(list_set_aside)
    outbox.command("retry")(retry)
    app.add_typer(outbox, name="outbox")


def list_set_aside(
    *,
    tenant: OfTenant = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 100,
    as_json: AsJson = False,
) -> None:
    """What was set aside after too many refusals, the longest first, and why."""

    async def ask(tx: Transaction) -> tuple[int, int, list[SetAside]]:
        owed, _ = await tx.outbox.lag()
        found = await tx.outbox.set_aside(limit=limit, tenant=tenant)
        return owed, await tx.outbox.aside(tenant), found

    owed, count, found = _with_ledger(load_settings(), ask)
    if as_json:
        told = [{**asdict(one), "since": one.since.isoformat()} for one in found]
        typer.echo(json.dumps({"owed": owed, "set_aside": count, "entries": told}, indent=2))
        return
    if not found:
        typer.echo(f"nothing is set aside; {owed:,} entries are owed")
        return
    Console(highlight=False).print(_table(found))
    typer.echo(
        f"{count:,} set aside, {owed:,} owed. Their documents stay hidden, or as they were "
        "before. When the reason is gone: `palimpsest outbox retry --all`"
    )


def retry(
    chunks: Annotated[
        list[str] | None, typer.Argument(help="Chunk ids, as `outbox list` shows them.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All that is set aside.")] = False,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Try again what was set aside."""
    if bool(chunks) == everything:
        raise InvalidRequest("name chunks as `palimpsest outbox list` shows them, or say --all")
    opened = _with_ledger(
        load_settings(), lambda tx: tx.outbox.retry(chunks or None, tenant=tenant)
    )
    if as_json:
        typer.echo(json.dumps({"retried": opened}))
        return
    if chunks and not opened:
        typer.echo("none of these is set aside; `palimpsest outbox list` shows what is")
    else:
        typer.echo(f"{opened:,} entries are owed again")


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


def _table(found: list[SetAside]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("chunk", no_wrap=True)
    for heading in ("document", "index", "tries", "since", "reason"):
        table.add_column(heading, overflow="fold")
    for one in found:
        document = one.path or one.document_id or "(unknown)"
        state = f" ({one.revision_state})" if one.revision_state else ""
        since = one.since.isoformat(timespec="seconds")
        table.add_row(
            one.chunk_id, document + state, one.target or "all", str(one.attempts), since,
            one.reason,
        )  # fmt: skip
    return table
