"""Measure quality: eval."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.ingest import carry_out
from cli.stack import service_specs
from cluster.clock import SystemClock
from cluster.errors import InvalidRequest, StackError
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from eval.ablation import Worth, ablate
from eval.ablation import as_json as worth_json
from eval.gate import BASELINES, baseline_of, compare, read_baseline, write_baseline
from eval.measure import Advanced, Request, chosen_sets, corpus_file, measure
from eval.noise import Noisy, with_noise
from eval.noise import compare as compare_noise
from eval.open import open_service
from eval.report import Measured, render
from eval.results import Results
from eval.scores import SetScores, score, summary
from eval.sets import EvalSet
from eval.table import (
    ablation_table,
    floors_table,
    heading_of,
    noise_table,
    stages_table,
)
from ingest.progress import print_summary
from ingest.run import Request as IngestRequest
from rerank.fusion import FusionMethod


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("eval")(evaluate)


def evaluate(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of sets: known ones by their name, others in BEIR form "
            "(corpus.jsonl, queries.jsonl, qrels.tsv). None: all known ones under --data."
        ),
    ] = None,
    *,
    data: Annotated[Path, typer.Option(help="Where the known sets lie.")] = Path("../shared/data"),
    questions: Annotated[int, typer.Option(min=1, help="At most so many of each set.")] = 300,
    fusion: Annotated[
        FusionMethod | None, typer.Option(help="How channels are joined; else as planned.")
    ] = None,
    subset: Annotated[
        Literal["", "peer"],
        typer.Option(help="peer: the cut corpora on which other libraries were measured."),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where results are kept; else eval/ in the data directory.")
    ] = None,
    code: Annotated[
        str, typer.Option(help="Name of the code's version in the key of results; else a digest.")
    ] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Ask anew what was asked under the same key.")
    ] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="And what each stage adds, from the kept answers.")
    ] = False,
    noise: Annotated[
        int,
        typer.Option(min=0, help="And with so many times as many passages of other sets."),
    ] = 0,
    gate: Annotated[
        bool, typer.Option("--gate", help="Fail where a set fell below its baseline.")
    ] = False,
    write_baselines: Annotated[
        bool, typer.Option("--write-baseline", help="Keep these figures as the baseline.")
    ] = False,
    baselines: Annotated[Path, typer.Option(help="Where baselines are kept.")] = BASELINES,
    report: Annotated[
        Path | None, typer.Option(help="Write all of it as one HTML page to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """How good is each stage, and what is shown in the end, on the sets you name?

    Each corpus is ingested into a tenant of its own, `eval-NAME`; a second time that costs
    nothing. Answers are kept: stopped and started again, only the rest is asked.
    """
    settings = load_settings()
    request = Request(
        folder=out or settings.data_dir / "eval",
        command=shlex.join(["palimpsest", *sys.argv[1:]]),
        began=SystemClock().now(),
        questions=questions,
        fusion=fusion,
        code=code,
        again=again,
    )
    ensure_up(settings, service_specs(settings), say=Console(stderr=True).print)
    sets = chosen_sets(folders or [], data=data, subset=subset)
    found: list[SetScores] = []
    worths: list[Worth] = []
    noisy: list[Noisy] = []
    for each in sets:
        found.append(_measured(each, settings, request, quiet=as_json))
        if ablation:
            worths += asyncio.run(_weighed(each, found[-1], settings))
        mixed = with_noise(each, factor=noise, data=data) if noise else None
        if mixed is not None:
            among = _measured(mixed, settings, request, quiet=as_json)
            noisy.append(compare_noise(found[-1], among, of=each, with_them=mixed))
    if not found:
        raise InvalidRequest(f"no set is known in {data}; name the folders of those to measure")
    _tell(found, worths, noisy, as_json=as_json)
    if report is not None:
        page = render(Measured(sets=found, worths=worths, noisy=noisy))
        report.write_text(page, encoding="utf-8")
    if any(scores.failures for scores in found):
        _tell_failures(found)
        raise typer.Exit(1)
    if write_baselines:
        for scores in found:
            typer.echo(str(write_baseline(baseline_of(scores), baselines)), err=True)
    if gate and not _passed(found, baselines):
        raise typer.Exit(1)


def _tell(
    found: Sequence[SetScores], worths: Sequence[Worth], noisy: Sequence[Noisy], *, as_json: bool
) -> None:
    if as_json:
        weighed = [worth_json(worth) for worth in worths]
        told = [
            {
                **summary(scores),
                "ablation": [each for each in weighed if each["dataset"] == scores.name],
                "noise": [asdict(each) for each in noisy if each.dataset == scores.name],
            }
            for scores in found
        ]
        typer.echo(json.dumps(told, indent=2))
        return
    console = _wide()
    if len(found) > 1:
        console.print(floors_table(found))
    if worths:
        console.print(ablation_table(worths))
    if noisy:
        console.print(noise_table(noisy))


def _wide(*, stderr: bool = False) -> Console:
    """Tables in a file are not cut at the width of a terminal that is not there."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=200)


def _passed(found: Sequence[SetScores], folder: Path) -> bool:
    """Told on stderr: stdout may be one JSON value."""
    passed = True
    for scores in found:
        baseline = read_baseline(scores.name, folder)
        if baseline is None:
            typer.echo(f"{scores.name}: no baseline", err=True)
            continue
        verdict = compare(scores, baseline)
        typer.echo(f"{'FELL' if verdict.fell else 'holds'}  {verdict.told}", err=True)
        passed = passed and not verdict.fell
    return passed


async def _weighed(of: EvalSet, scores: SetScores, settings: Settings) -> list[Worth]:
    async with open_service(settings) as service:
        return await ablate(of, scores.results, service)


def _tell_failures(found: Sequence[SetScores]) -> None:
    for scores in found:
        for reason, count in scores.reasons():
            typer.echo(f"{scores.name}: {count:,} times {reason}", err=True)
    typer.echo("something failed while measuring; these figures are worthless", err=True)


def _measured(of: EvalSet, settings: Settings, request: Request, *, quiet: bool) -> SetScores:
    corpus = corpus_file(of, request)
    _take_in(corpus, settings, tenant=of.corpus.tenant, quiet=quiet)
    console = _wide(stderr=quiet)
    with _progress(console) as progress:
        task = progress.add_task(of.name, total=None)

        def advanced(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        results = _ask(of, settings, request, corpus=corpus, advanced=advanced)
    scores = score(results)
    if not quiet:
        console.print(heading_of(scores), stages_table(scores), sep="\n")
    return scores


def _ask(
    of: EvalSet, settings: Settings, request: Request, *, corpus: Path, advanced: Advanced
) -> Results:
    return asyncio.run(measure(of, settings, request, corpus=corpus, advanced=advanced))


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _take_in(corpus: Path, settings: Settings, *, tenant: str, quiet: bool) -> None:
    request = IngestRequest(targets=(str(corpus),), tenant=tenant)
    done = carry_out(request, settings, quiet=quiet)
    if not quiet and done.counts.get("published"):
        print_summary(Console(), done)
    if done.state != "succeeded":
        raise StackError(
            f"nothing of {corpus} came in: run {done.run_id} {done.state}; see "
            f"`palimpsest runs show {done.run_id} --tenant {tenant}`"
        )
