"""Records -> figures: each measure of each stage, over all questions or a part of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.floors import FLOORS, halved, met
from eval.metrics import MEASURES, per_question
from eval.records import Record, stages_of
from eval.results import Results

FINAL = "final"
RANKED = "ranked"
FUSED_FROM = ("semantic", "keyword")
"""The channels that stand alone as a search; the others only add to them."""

Values = Mapping[str, Mapping[str, float]]
"""Question id -> measure -> value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A mean over `questions`, with its standard error (0 for fewer than two questions)."""

    value: float
    error: float
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScores:
    """`values` by stage. `failures` counts channels and rerankers that gave nothing; anything
    but 0 makes the figures worthless."""

    results: Results
    values: Mapping[str, Values]

    @property
    def name(self) -> str:
        return self.results.about.dataset

    @property
    def failures(self) -> int:
        return sum(len(record.failures) for record in self.results.records)

    @property
    def refused(self) -> int:
        """Questions of which it was said that nothing relevant is there; all of these have an
        answer."""
        return sum(record.relevant_found is False for record in self.results.records)

    def reasons(self) -> list[tuple[str, int]]:
        """Why, and how often, most often first."""
        told = Counter(each for record in self.results.records for each in record.failures)
        return told.most_common()

    def figure(
        self, stage: str, measure: str, *, of: Callable[[Record], bool] = lambda _: True
    ) -> Figure:
        """Of the questions whose record is `of` interest."""
        values = self.values.get(stage, {})
        return mean(
            [
                values[record.question_id][measure] if values else 0.0
                for record in self.results.records
                if of(record)
            ]
        )

    def best_channel(self, measure: str = "ndcg@10") -> tuple[str, float]:
        """The name and mean of the best single channel."""
        means = {
            name: self.figure(name, measure).value for name in FUSED_FROM if name in self.values
        }
        name = max(means, key=lambda each: means[each], default="")
        return name, means.get(name, 0.0)

    def floors(self) -> list[tuple[str, float, Figure, bool]]:
        """Measure, floor, what is held against it (of the reported half, or of all questions
        where others were measured on all), and whether that is enough."""
        found = []
        half = halved(self.name)
        for measure, floor in FLOORS.get(self.name, {}).items():
            told = self.figure(
                FINAL, measure, of=lambda record: not half or record.half == "report"
            )
            enough = met(self.name, measure, value=told.value, error=told.error)
            found.append((measure, floor, told, bool(enough)))
        return found


def score(results: Results) -> SetScores:
    """A question for which a stage listed nothing counts 0 there."""
    qrels = {record.question_id: record.relevant for record in results.records}
    return SetScores(
        results=results,
        values={
            stage: per_question(
                qrels, {each.question_id: each.ranking(stage) for each in results.records}
            )
            for stage in stages_of(results.records)
        },
    )


def mean(values: Sequence[float]) -> Figure:
    count = len(values)
    if not count:
        return Figure(value=0.0, error=0.0, questions=0)
    middle = math.fsum(values) / count
    spread = math.fsum((value - middle) ** 2 for value in values)
    error = math.sqrt(spread / (count - 1) / count) if count > 1 else 0.0
    return Figure(value=middle, error=error, questions=count)


def summary(scores: SetScores) -> dict[str, Any]:
    """For machines: what it is of, and every mean with its error, of each half and of all."""
    about = scores.results.about
    return {
        "dataset": about.dataset,
        "questions": len(scores.results.records),
        "documents": about.documents,
        "failures": scores.failures,
        "refused": scores.refused,
        "command": about.command,
        "commit": about.commit,
        "data": about.data,
        "fingerprint": about.fingerprint,
        "code": about.code,
        "values": {stage: _means(scores, stage) for stage in scores.values},
    }


def _means(scores: SetScores, stage: str) -> dict[str, dict[str, float]]:
    parts: Mapping[str, Callable[[Record], bool]] = {
        "all": lambda _: True,
        "tune": lambda record: record.half == "tune",
        "report": lambda record: record.half == "report",
    }
    return {
        measure: {
            **{name: scores.figure(stage, measure, of=of).value for name, of in parts.items()},
            "error": scores.figure(stage, measure).error,
        }
        for measure in MEASURES
    }
