"""Figures for the eye: one block a set as it is done, one line a set at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from eval.scores import FINAL, SetScores

_SHOWN = ("ndcg@10", "recall@10", "hit@10", "mrr@10")


def stages_table(scores: SetScores) -> Table:
    """Every stage of one set, over all its questions."""
    about = scores.results.about
    table = Table(
        box=None,
        padding=(0, 2),
        title=f"{scores.name}: {len(scores.results.records):,} questions, "
        f"{about.documents:,} documents",
        title_justify="left",
    )
    for heading in ("stage", *_SHOWN):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage in scores.values:
        table.add_row(stage, *(f"{scores.figure(stage, measure).value:.3f}" for measure in _SHOWN))
    return table


def floors_table(found: Sequence[SetScores]) -> Table:
    """The passages shown, against the floor and the best single channel. `report` is the half
    of the questions that nothing was tuned on; the floor is held against it."""
    table = Table(box=None, padding=(0, 2))
    for heading in (
        "set", "measure", "questions", "all", "tune", "report", "±", "floor", "", "best channel",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading in ("set", "measure") else "right")
    for scores in found:
        for row in _rows(scores):
            table.add_row(*row)
    return table


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
        floor,
        verdict,
        f"{name} {best:.3f}{mark}",
    )
