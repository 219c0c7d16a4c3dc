"""When the indexes and the ledger disagree: compare, repair, rebuild."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli.stack import service_specs
from cluster.clock import SystemClock
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from cluster.stores.containers import (
    empty_text_index,
    empty_vector_index,
    look_at_text_index,
    look_at_vector_index,
)
from cluster.stores.drift import KINDS, DriftReport, StoreDrift
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Ledger
from lifecycle.rebuild import Progress, Rebuilt, begin_rebuild, rebuild
from lifecycle.reconcile import GRACE, reconcile
from lifecycle.sides import TEXT, live_generations, open_sides, side_name

DRIFT = 1
"""Exit status when something differs."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")

AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("reconcile")(reconcile_command)
    app.command("rebuild")(rebuild_command)


def reconcile_command(
    repair: Annotated[
        bool, typer.Option("--repair", help="Owe the indexer what drifted, and compare again.")
    ] = False,
    grace: Annotated[
        str, typer.Option(help="Differences younger than this are on their way: 30s, 10m, 2h.")
    ] = "10m",
    as_json: AsJson = False,
) -> None:
    """Compare both indexes with the ledger, by id and version. Exit status 1: they differ."""
    settings = load_settings()
    report = asyncio.run(
        compare(settings, repair=repair, grace=read_age(grace), say=_say_to(settings))
    )
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        _print_report(report, repair=repair)
    if not report.sound:
        raise typer.Exit(DRIFT)


def rebuild_command(
    vectors: Annotated[bool, typer.Option("--vectors", help="Look at this index only.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Look at this index only.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Empty the index first, also when it looks sound.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make both indexes anew from the ledger alone. May be interrupted, and goes on then.

    An index that is missing, damaged or of another layout begins empty; a sound one stays in
    use and its rows are replaced. Each row is written to both indexes, whichever was named.
    """
    settings = load_settings()
    wanted = {"vectors": vectors or not text, "text": text or not vectors}
    say = _say_to(settings)
    done, report = asyncio.run(rebuild_all(settings, wanted=wanted, fresh=fresh, say=say))
    if as_json:
        told = {**asdict(done), "complete": done.complete, "reconcile": report.to_json()}
        typer.echo(json.dumps(told, indent=2))
    else:
        _print_rebuilt(done, report)
    if not (done.complete and report.sound):
        raise typer.Exit(DRIFT)


async def compare(
    settings: Settings,
    *,
    repair: bool,
    grace: timedelta = GRACE,
    say: Callable[[str], None],
) -> DriftReport:
    ledger = await open_ledger(settings)
    try:
        async with open_sides(settings, ledger) as sides:
            return await reconcile(
                ledger, sides, SystemClock(), repair=repair, grace=grace, say=say
            )
    finally:
        await ledger.close()


async def rebuild_all(
    settings: Settings, *, wanted: dict[str, bool], fresh: bool, say: Callable[[str], None]
) -> tuple[Rebuilt, DriftReport]:
    """Containers first, then every row, then what the indexes hold beside the ledger's rows."""
    ledger = await open_ledger(settings)
    try:
        await _prepare(settings, ledger, wanted=wanted, fresh=fresh, say=say)
        if settings.postgres.url is None:
            # The indexer may have given up on what was damaged.
            await asyncio.to_thread(ensure_up, settings, service_specs(settings), say=say)
        done = await rebuild(ledger, SystemClock(), watch=_watch(say))
        async with open_sides(settings, ledger) as sides:
            say("comparing the indexes with the ledger")
            report = await reconcile(
                ledger, sides, SystemClock(), repair=True, grace=timedelta(0), say=say
            )
    finally:
        await ledger.close()
    return done, report


async def _prepare(
    settings: Settings,
    ledger: Ledger,
    *,
    wanted: dict[str, bool],
    fresh: bool,
    say: Callable[[str], None],
) -> None:
    """Empty what has to be; the ledger knows before it happens, so that answers say so."""
    clock = SystemClock()
    async with ledger.transaction() as tx:
        open_one = await tx.rebuilds.unfinished()
    emptied = set(open_one.refills) if open_one else set()
    if wanted["vectors"]:
        for held in await live_generations(ledger):
            name = side_name(held)
            why = await look_at_vector_index(settings, held.generation)
            if why or (fresh and name not in emptied):
                await begin_rebuild(ledger, refills=[name], now=clock.now())
                done = await empty_vector_index(settings, held.generation)
                say(f"{name}: {why or 'asked to begin empty'}; {done}")
    if wanted["text"]:
        why = await look_at_text_index(settings)
        if why or (fresh and TEXT not in emptied):
            await begin_rebuild(ledger, refills=[TEXT], now=clock.now())
            say(f"{TEXT}: {why or 'asked to begin empty'}; {await empty_text_index(settings)}")


def read_age(text: str) -> timedelta:
    """`90`, `90s`, `10m`, `2h`, `1d`."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no time; write 30s, 10m, 2h or 0", param_hint="--grace"
        )
    return timedelta(seconds=float(found[1]) * _UNITS[found[2] or "s"])


def _say_to(settings: Settings) -> Callable[[str], None]:
    """Progress goes to the error stream; the local stack is started if it holds the stores."""

    def say(line: str) -> None:
        typer.echo(line, err=True)

    if settings.postgres.url is None or settings.milvus.uri is None:
        ensure_up(settings, service_specs(settings), say=say)
    return say


def _watch(say: Callable[[str], None]) -> Callable[[Progress], None]:
    """A line for each percent at most."""
    told = -1

    def watch(progress: Progress) -> None:
        nonlocal told
        percent = 100 * progress.written // max(1, progress.total)
        if percent == told:
            return
        told = percent
        eta = f", {round(progress.eta.total_seconds())} s to go" if progress.eta else ""
        say(
            f"{progress.written:,} of {progress.total:,} rows ({percent} %), "
            f"{progress.rows_per_s:,.0f} a second{eta}"
        )

    return watch


def _print_report(report: DriftReport, *, repair: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("store", "rows", *KINDS, "in flight"):
        table.add_column(heading, justify="left" if heading == "store" else "right")
    for store in report.stores:
        drift = (f"{store.drift[kind]:,}" for kind in KINDS)
        table.add_row(store.store, f"{store.rows:,}", *drift, f"{sum(store.in_flight.values()):,}")
    Console(highlight=False).print(table)
    for line in _remarks(report, repair=repair):
        typer.echo(line)


def _remarks(report: DriftReport, *, repair: bool) -> list[str]:
    lines = [line for store in report.stores for line in _told(store)]
    if report.repaired:
        lines.append(f"repaired: {report.repaired:,} rows were owed to the indexer again")
    if report.unrepaired:
        lines.append(
            f"{report.unrepaired:,} of them are still owed: is the indexer running? "
            "see `palimpsest status` and `palimpsest outbox list`"
        )
    under_way = sum(sum(store.in_flight.values()) for store in report.stores)
    if report.sound and under_way:
        lines.append(f"no drift; {under_way:,} differences are younger than the grace or owed")
    elif report.sound:
        lines.append(f"the ledger's {report.wanted:,} rows and the indexes agree")
    elif not repair and any(any(store.drift.values()) for store in report.stores):
        lines.append("mend it with `palimpsest reconcile --repair`")
    return lines


def _told(store: StoreDrift) -> list[str]:
    lines = [f"{store.store}: {kind}: {', '.join(ids)}" for kind, ids in store.examples.items()]
    if store.error:
        lines.append(f"{store.store} cannot be read: {store.error}")
        lines.append("  if it does not come back by itself: `palimpsest rebuild`")
    return lines


def _print_rebuilt(done: Rebuilt, report: DriftReport) -> None:
    rate = done.rows / max(done.took_s, 1e-6)
    typer.echo(f"{done.rows:,} rows in {done.took_s:.1f} s, {rate:,.0f} a second")
    if done.left:
        typer.echo(
            f"{done.left:,} of them are still owed and nothing moves: is the indexer running? "
            "see `palimpsest status`; `palimpsest rebuild` goes on"
        )
    if done.bare:
        typer.echo(
            f"{done.bare:,} rows have no vector in the ledger and are found by words only, e.g. "
            f"{', '.join(done.bare_examples)}\n"
            "  delete those documents and ingest them again to have them encoded"
        )
    _print_report(report, repair=True)
