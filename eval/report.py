"""Figures as one page that a person wants to read: charts in it, no script, nothing loaded."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from eval import charts
from eval.ablation import Worth
from eval.charts import Bar, Dots
from eval.floors import FLOORS
from eval.noise import MAX_LOSS, Noisy
from eval.scores import FINAL, RANKED, SetScores, mean

MEASURE = "ndcg@10"
SERIES = ("keyword", "semantic", "fused", RANKED, FINAL)
_TIMED = ("plan", "channels", "ledger", "fuse", "rerank", "select", "cite", "total")
_FULL_TONE = 10.0
"""Points at which a cell has its full colour."""

TEMPLATE = Path(__file__).parent / "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that a report can tell of; `worths` and `noisy` may be empty."""

    sets: Sequence[SetScores]
    worths: Sequence[Worth] = ()
    noisy: Sequence[Noisy] = ()


def render(measured: Measured) -> str:
    """The page. `measured.sets` must not be empty. Charts come as markup whose texts are escaped;
    everything else is escaped here."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    sets = measured.sets
    floors = [row for scores in sets for row in _floor_rows(scores)]
    return template.render(
        verdict=_verdict(floors),
        cards=_cards(sets, floors),
        series=SERIES,
        stages_chart=charts.dot_rows(_dots(sets), series=SERIES, title="stages"),
        floors=floors,
        languages_chart=charts.bars(_languages(sets), title="languages"),
        kinds=[kind for scores in sets for kind in _kinds(scores)],
        stages=list(dict.fromkeys(worth.stage for worth in measured.worths)),
        ablation=_ablation(measured.worths),
        noise=[_noise(each) for each in measured.noisy],
        spreads=[_spread(scores) for scores in sets],
        timed=_TIMED,
        times=[_times(scores) for scores in sets],
        abouts=[scores.results.about for scores in sets],
    )


def _verdict(floors: Sequence[Mapping[str, Any]]) -> str:
    held = [row for row in floors if row["floor"]]
    met = sum(row["met"] for row in held)
    below = sorted({row["dataset"] for row in floors if not row["above"]})
    words = f"{met} of {len(held)} floors are met" if held else "None of these sets has a floor"
    if not below:
        return f"{words}; what is shown is on no set below the best single channel."
    return f"{words}; what is shown is below the best single channel on {', '.join(below)}."


def _cards(sets: Sequence[SetScores], floors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    questions = sum(len(scores.results.records) for scores in sets)
    average = statistics.fmean(scores.figure(FINAL, MEASURE).value for scores in sets)
    gain = statistics.fmean(
        scores.figure(FINAL, MEASURE).value - scores.best_channel(MEASURE)[1] for scores in sets
    )
    met = sum(bool(row["floor"]) and row["met"] for row in floors)
    return [
        {"label": "sets", "value": f"{len(sets)}"},
        {"label": "questions", "value": f"{questions:,}"},
        {"label": "mean nDCG@10 of what is shown", "value": f"{average:.3f}"},
        {"label": "points above the best channel", "value": f"{gain * 100:+.1f}"},
        {"label": "floors met", "value": f"{met}"},
    ]


def _dots(sets: Sequence[SetScores]) -> list[Dots]:
    return [
        Dots(
            label=scores.name,
            values={
                stage: scores.figure(stage, MEASURE).value
                for stage in SERIES
                if stage in scores.values
            },
            floor=FLOORS.get(scores.name, {}).get(MEASURE),
        )
        for scores in sets
    ]


def _floor_rows(scores: SetScores) -> list[dict[str, Any]]:
    floors = {measure: (floor, enough) for measure, floor, _, enough in scores.floors()}
    rows = []
    for measure in list(floors) or [MEASURE]:
        floor, enough = floors.get(measure, (None, True))
        name, best = scores.best_channel(measure)
        report = scores.figure(FINAL, measure, of=lambda record: record.half == "report")
        tune = scores.figure(FINAL, measure, of=lambda record: record.half == "tune")
        rows.append(
            {
                "dataset": scores.name,
                "measure": measure,
                "questions": len(scores.results.records),
                "documents": scores.results.about.documents,
                "tune": f"{tune.value:.3f}",
                "report": f"{report.value:.3f}",
                "error": f"{report.error:.3f}",
                "floor": "" if floor is None else f"{floor:.3f}",
                "met": enough,
                "verdict": "" if floor is None else "met" if enough else "short",
                "best": f"{name} {best:.3f}",
                "above": scores.figure(FINAL, measure).value >= best,
            }
        )
    return rows


def _languages(sets: Sequence[SetScores]) -> list[Bar]:
    values: dict[str, list[float]] = {}
    for scores in sets:
        for record in scores.results.records:
            value = scores.values[FINAL][record.question_id][MEASURE]
            values.setdefault(record.language, []).append(value)
    return [_bar(language, values[language]) for language in sorted(values)]


def _kinds(scores: SetScores) -> list[dict[str, Any]]:
    """Nothing where all questions of the set are of one type."""
    values: dict[str, list[float]] = {}
    for record in scores.results.records:
        value = scores.values[FINAL][record.question_id][MEASURE]
        values.setdefault(record.kind, []).append(value)
    if len(values) < 2:  # noqa: PLR2004  # one type says nothing
        return []
    rows = [
        _bar(kind, values[kind]) for kind in sorted(values, key=lambda each: -len(values[each]))
    ]
    return [{"dataset": scores.name, "chart": charts.bars(rows, title=scores.name)}]


def _bar(label: str, values: Sequence[float]) -> Bar:
    figure = mean(values)
    note = f"({figure.questions:,} questions)"
    shown = f"{label} · {figure.questions:,}"
    return Bar(label=shown, value=figure.value, error=figure.error, note=note)


def _ablation(worths: Sequence[Worth]) -> list[dict[str, Any]]:
    stages = list(dict.fromkeys(worth.stage for worth in worths))
    rows = []
    for dataset in dict.fromkeys(worth.dataset for worth in worths):
        by_stage = {worth.stage: worth for worth in worths if worth.dataset == dataset}
        rows.append({"dataset": dataset, "cells": [_cell(by_stage.get(stage)) for stage in stages]})
    return rows


def _cell(worth: Worth | None) -> dict[str, Any]:
    if worth is None or worth.failures:
        return {"text": "?" if worth else "", "tone": "", "weight": 0, "sure": False}
    points = worth.difference.value * 100
    tone = "up" if points > 0 else "down" if points < 0 else ""
    weight = round(min(abs(points) / _FULL_TONE, 1.0) * 55)
    sure = bool(worth.difference.sign)
    return {"text": f"{points:+.1f}", "tone": tone, "weight": weight, "sure": sure}


def _noise(each: Noisy) -> dict[str, Any]:
    change = each.change
    return {
        "dataset": each.dataset,
        "added": f"{each.added:.1f}",
        "change": f"{change.value * 100:+.2f}",
        "bounds": f"{change.low * 100:+.2f} to {change.high * 100:+.2f}",
        "fine": change.value >= -MAX_LOSS,
    }


def _spread(scores: SetScores) -> dict[str, Any]:
    values = [each[MEASURE] for each in scores.values[FINAL].values()]
    lost = sum(value == 0 for value in values)
    return {
        "dataset": scores.name,
        "chart": charts.histogram(values, title=f"{scores.name}: questions by nDCG@10"),
        "lost": f"{lost:,} of {len(values):,}",
    }


def _times(scores: SetScores) -> dict[str, Any]:
    cells = []
    for stage in _TIMED:
        spent = sorted(
            record.timings_ms[stage]
            for record in scores.results.records
            if stage in record.timings_ms
        )
        cells.append(_spent(spent))
    return {"dataset": scores.name, "cells": cells}


def _spent(spent: Sequence[float]) -> str:
    if not spent:
        return "–"
    high = spent[min(len(spent) - 1, int(0.95 * len(spent)))]
    return f"{statistics.median(spent):.0f} / {high:.0f}"
