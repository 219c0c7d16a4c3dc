"""Bring material in: ingest, runs."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli.stack import service_specs
from cluster.model import ItemProblem, Run
from cluster.settings import Settings, load_settings
from cluster.stack import control
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Transaction
from ingest.link import LedgerLink
from ingest.open import open_surroundings
from ingest.progress import Silent, Summary, duration, print_summary, watcher
from ingest.run import Request
from ingest.run import ingest as run_ingest

_INTERRUPTED = 130
_HEADS = ("run", "state", "started", "took", "loaded", "chunks", "problems", "what")


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("ingest")(ingest)
    runs = typer.Typer(help="What was ingested, and what was left out and why.")
    runs.callback(invoke_without_command=True)(list_unless_named)
    runs.command("list")(list_runs)
    runs.command("show")(show_run)
    app.add_typer(runs, name="runs")


def ingest(
    targets: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders, globs, .jsonl/.parquet corpora, file:// s3:// gs:// http(s)://."
        ),
    ],
    *,
    source: Annotated[str, typer.Option(help="Name of the source that all of it is.")] = "",
    source_type: Annotated[str, typer.Option(help="official_doc, paper, blog, issue …")] = "",
    product: Annotated[str, typer.Option(help="Product that all of it is about.")] = "",
    version: Annotated[str, typer.Option(help="Version of the product, an edition.")] = "",
    language: Annotated[str, typer.Option(help="zh, en …; else from data or text.")] = "",
    license_: Annotated[str, typer.Option("--license", help="Licence of all of it.")] = "",
    tenant: Annotated[str, typer.Option(help="Whose it is; else as set.")] = "",
    rules: Annotated[
        Path | None, typer.Option(help="TOML: names of fields, worth of sources.")
    ] = None,
    retire_missing: Annotated[
        bool,
        typer.Option("--retire-missing", help="Delete what is gone from its folders and corpora."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary for machines.")] = False,
) -> None:
    """Ingest files, folders, corpora and addresses; what is unchanged costs nothing."""
    settings = load_settings()
    flags = {
        "source_type": source_type,
        "product": product,
        "product_version": version,
        "language": language,
        "license": license_,
    }
    request = Request(
        targets=tuple(targets),
        tenant=tenant or settings.tenant,
        flags={key: value for key, value in flags.items() if value},
        source=source or None,
        rules_path=_rules_file(rules),
        retire_missing=retire_missing,
        dry_run=dry_run,
    )
    summary = carry_out(request, settings, quiet=as_json)
    if as_json:
        typer.echo(json.dumps(asdict(summary), indent=2, ensure_ascii=False))
    else:
        print_summary(Console(), summary)
    if summary.state != "succeeded":
        raise typer.Exit(1)


def list_unless_named(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_runs(limit=20, tenant="", as_json=False)


def list_runs(
    limit: int = typer.Option(20, min=1, max=1000, help="How many, latest first."),
    tenant: str = typer.Option("", help="Whose; else `tenant` of the settings."),
    as_json: bool = typer.Option(False, "--json", help="For machines."),
) -> None:
    """The latest runs."""
    settings = load_settings()
    whose = tenant or settings.tenant

    async def ask(tx: Transaction) -> list[Run]:
        return await tx.runs.latest(whose, limit=limit)

    with LedgerLink(lambda: open_ledger(settings)) as link:
        runs = link.call(ask)
    if as_json:
        typer.echo(json.dumps([asdict(run) for run in runs], default=str, ensure_ascii=False))
        return
    rows = [_HEADS, *(_row(run) for run in runs)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def show_run(
    run_id: str = typer.Argument(help="As `runs list` tells it."),
    tenant: str = typer.Option("", help="Whose; else `tenant` of the settings."),
    as_json: bool = typer.Option(False, "--json", help="For machines."),
) -> None:
    """One run, with every item that was skipped or failed."""
    settings = load_settings()
    whose = tenant or settings.tenant

    async def ask(tx: Transaction) -> tuple[Run, list[ItemProblem]]:
        return await tx.runs.get(whose, run_id)

    with LedgerLink(lambda: open_ledger(settings)) as link:
        run, problems = link.call(ask)
    if as_json:
        told = {**asdict(run), "problems": [asdict(problem) for problem in problems]}
        typer.echo(json.dumps(told, default=str, indent=2, ensure_ascii=False))
        return
    typer.echo(f"{run.run_id}  {run.state}  {_started(run)}  {_took(run)}")
    for key, value in _shown_arguments(run.arguments).items():
        typer.echo(f"  {key}: {value}")
    for stage, count in run.counts.items():
        typer.echo(f"  {stage.replace('_', ' '):<12} {count:,}")
    if run.error:
        typer.echo(f"  error: {run.error}")
    for each in problems:
        typer.echo(f"  {each.outcome} ({each.kind})  {each.origin}: {each.reason}")


def carry_out(request: Request, settings: Settings, *, quiet: bool) -> Summary:
    """Run it to its end. `quiet` writes nothing to stdout, which is then for one JSON value."""
    # Bound to this very stream: while Ray runs, `sys.stdout` is another one.
    console = Console(file=sys.stderr if quiet else sys.stdout)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    control.ensure_up(settings, service_specs(settings), say=Console(stderr=True).print)
    watching = Silent() if quiet else watcher(console)
    try:
        with open_surroundings(settings) as surroundings, watching:
            return run_ingest(request, surroundings, watching)
    except KeyboardInterrupt:
        typer.echo("stopped; what was done is kept, the same command goes on from here", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def _rules_file(path: Path | None) -> Path | None:
    if path is not None and not path.is_file():
        raise typer.BadParameter(f"{path} is no file", param_hint="--rules")
    return path


def _row(run: Run) -> tuple[str, ...]:
    problems = run.counts.get("skipped", 0) + run.counts.get("failed", 0)
    return (
        run.run_id,
        run.state,
        _started(run),
        _took(run),
        f"{run.counts.get('loaded', 0):,}",
        f"{run.counts.get('chunks', 0):,}",
        f"{problems:,}",
        run.arguments.get("targets", run.arguments.get("name", "")).replace("\n", " "),
    )


def _started(run: Run) -> str:
    return run.started_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _took(run: Run) -> str:
    if run.finished_at is None:
        return "–"
    return duration((run.finished_at - run.started_at).total_seconds())


def _shown_arguments(arguments: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in arguments.items() if key != "process"}
