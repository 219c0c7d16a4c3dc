"""Figures for the eye: one block a set as it is done, one line a set at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from eval.ablation import Worth
from eval.noise import MAX_LOSS, Noisy
from eval.scores import FINAL, RANKED, SetScores

_SHOWN = ("ndcg@10", "recall@10", "hit@10", "mrr@10")


def stages_table(scores: SetScores) -> Table:
    """Every stage of one set, over all its questions."""
    table = Table(box=None, padding=(0, 2))
    for heading in ("stage", *_SHOWN):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage in scores.values:
        table.add_row(stage, *(f"{scores.figure(stage, measure).value:.3f}" for measure in _SHOWN))
    return table


def heading_of(scores: SetScores) -> str:
    """What the table of stages is of."""
    refused = f", {scores.refused:,} times nothing relevant" if scores.refused else ""
    return (
        f"{scores.name}: {len(scores.results.records):,} questions, "
        f"{scores.results.about.documents:,} documents{refused}"
    )


def floors_table(found: Sequence[SetScores]) -> Table:
    """The passages shown, against the floor and the best single channel. `report` is the half
    of the questions that nothing was tuned on; the floor is held against it. `ranked` is the same
    half before any question is answered with "nothing relevant"."""
    table = Table(box=None, padding=(0, 2))
    for heading in (
        "set", "measure", "questions", "all", "tune", "report", "±", "ranked", "floor", "",
        "best channel",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading in ("set", "measure") else "right")
    for scores in found:
        for row in _rows(scores):
            table.add_row(*row)
    return table


def ablation_table(found: Sequence[Worth]) -> Table:
    """In points of nDCG@10: what is lost when a stage is left out, `+` or `-` where that is more
    than chance (paired bootstrap, 95 %), `!` where the stage lowers the set, `?` where what was
    to take its place failed."""
    stages = list(dict.fromkeys(worth.stage for worth in found))
    table = Table(box=None, padding=(0, 2), title="what each stage adds", title_justify="left")
    for heading in ("set", *stages):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    for dataset in dict.fromkeys(worth.dataset for worth in found):
        cells = {worth.stage: _cell(worth) for worth in found if worth.dataset == dataset}
        table.add_row(dataset, *(cells.get(stage, "") for stage in stages))
    return table


def noise_table(found: Sequence[Noisy]) -> Table:
    """In points of recall@10 of what is shown."""
    table = Table(box=None, padding=(0, 2), title="passages of other sets added")
    for heading in ("set", "for each of its own", "recall@10, points", "95 %"):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    for each in found:
        change = each.change
        bad = " [red]![/]" if change.value < -MAX_LOSS else ""
        table.add_row(
            each.dataset,
            f"{each.added:.1f}",
            f"{change.value * 100:+.2f}{bad}",
            f"{change.low * 100:+.2f} to {change.high * 100:+.2f}",
        )
    return table


def _cell(worth: Worth) -> str:
    if worth.failures:
        return "?"
    mark = "[red]![/]" if worth.harms else worth.difference.sign
    return f"{worth.difference.value * 100:+.1f}{mark}"


def _rows(scores: SetScores) -> list[tuple[str, ...]]:
    floors = scores.floors()
    if not floors:
        return [_row(scores, "ndcg@10", floor="", verdict="")]
    return [
        _row(
            scores,
            measure,
            floor=f"{floor:.3f}",
            verdict="[green]met[/]" if enough else "[red]short[/]",
        )
        for measure, floor, _, enough in floors
    ]


def _row(scores: SetScores, measure: str, *, floor: str, verdict: str) -> tuple[str, ...]:
    every = scores.figure(FINAL, measure)
    tune = scores.figure(FINAL, measure, of=lambda record: record.half == "tune")
    report = scores.figure(FINAL, measure, of=lambda record: record.half == "report")
    name, best = scores.best_channel(measure)
    mark = "" if every.value >= best else " [red]![/]"
    return (
        scores.name,
        measure,
        f"{every.questions:,}",
        f"{every.value:.3f}",
        f"{tune.value:.3f}",
        f"{report.value:.3f}",
        f"{report.error:.3f}",
        f"{scores.figure(RANKED, measure, of=lambda record: record.half == 'report').value:.3f}",
        floor,
        verdict,
        f"{name} {best:.3f}{mark}",
    )
