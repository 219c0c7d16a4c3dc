"""Measure quality: eval."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli.ingest import carry_out
from cli.stack import service_specs
from cluster.errors import StackError
from cluster.model import Scope
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from eval.datasets import RetrievalSet, read_set
from eval.open import open_service
from eval.run import Scores, score
from ingest.progress import print_summary
from ingest.run import Request
from rerank.fusion import FusionMethod


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("eval")(evaluate)


def evaluate(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Folders with corpus.jsonl, queries.jsonl and qrels.tsv (BEIR)."),
    ],
    *,
    questions: Annotated[int, typer.Option(min=1, help="At most so many of each set.")] = 300,
    fusion: Annotated[FusionMethod, typer.Option(help="How channels are joined.")] = "score",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """nDCG@10, Recall and MRR of each channel and of all together, on the sets you name.

    Each set is ingested into a tenant of its own, `eval-NAME`; a second time that costs nothing.
    """
    settings = load_settings()
    sets = [read_set(folder) for folder in folders]
    ensure_up(settings, service_specs(settings), say=Console(stderr=True).print)
    for each, folder in zip(sets, folders, strict=True):
        _take_in(folder, settings, tenant=tenant_of(each), quiet=as_json)
    found = asyncio.run(_score_all(sets, settings, questions=questions, fusion=fusion))
    if as_json:
        typer.echo(json.dumps([asdict(scores) for scores in found], indent=2))
    else:
        Console().print(_table(found))
    if any(scores.failures for scores in found):
        typer.echo("channels failed while measuring; these figures are worthless", err=True)
        raise typer.Exit(1)


def tenant_of(dataset: RetrievalSet) -> str:
    return f"eval-{dataset.name}"


def _take_in(folder: Path, settings: Settings, *, tenant: str, quiet: bool) -> None:
    request = Request(targets=(str(folder / "corpus.jsonl"),), tenant=tenant)
    summary = carry_out(request, settings, quiet=quiet)
    if not quiet:
        print_summary(Console(), summary)
    if summary.state != "succeeded":
        raise StackError(
            f"nothing of {folder} came in: run {summary.run_id} {summary.state}; see "
            f"`palimpsest runs show {summary.run_id} --tenant {tenant}`"
        )


async def _score_all(
    sets: Sequence[RetrievalSet], settings: Settings, *, questions: int, fusion: FusionMethod
) -> list[Scores]:
    async with open_service(settings) as service:
        return [
            await score(
                each,
                service,
                scope=Scope(tenant=tenant_of(each)),
                questions=questions,
                fusion=fusion,
            )
            for each in sets
        ]


def _table(found: Sequence[Scores]) -> Table:
    measures = list(next(iter(found[0].values.values())))
    table = Table(box=None, padding=(0, 2))
    for heading in ("set", "documents", "questions", "channel", *measures):
        table.add_column(heading)
    for scores in found:
        for channel, values in scores.values.items():
            table.add_row(
                scores.dataset,
                f"{scores.documents:,}",
                f"{scores.questions:,}",
                channel,
                *(f"{values[measure]:.3f}" for measure in measures),
            )
    return table
