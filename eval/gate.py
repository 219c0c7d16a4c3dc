"""Has retrieval become worse? Each set against figures that were kept, question by question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cluster.errors import InvalidRequest
from cluster.ids import sha256_hex
from eval.scores import FINAL, SetScores
from eval.significance import Difference, paired

MEASURE = "ndcg@10"
MAX_DROP = 0.005
"""A mean may not fall by more than this, be it chance or not."""

BASELINES = Path(__file__).parent / "baselines"
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`values` by the digest of a question's id: no text and no id of a set is kept."""

    dataset: str
    commit: str
    fingerprint: str
    data: str
    values: Mapping[str, float] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`difference` is what is measured now less what was kept, over the questions of both."""

    dataset: str
    difference: Difference
    same_data: bool
    missing: int

    @property
    def fell(self) -> bool:
        return self.difference.worse or self.difference.value < -MAX_DROP

    @property
    def told(self) -> str:
        change = self.difference
        words = (
            f"{self.dataset}: {change.value * 100:+.2f} points "
            f"({change.low * 100:+.2f} to {change.high * 100:+.2f}) "
            f"over {change.questions:,} questions"
        )
        if self.missing:
            words += f", {self.missing:,} of the baseline were not asked"
        return words if self.same_data else f"{words}, on other data than the baseline's"


def baseline_of(scores: SetScores) -> Baseline:
    about = scores.results.about
    return Baseline(
        dataset=scores.name,
        commit=about.commit,
        fingerprint=about.fingerprint,
        data=about.data,
        values={
            _name(question): round(values[MEASURE], _DIGITS)
            for question, values in sorted(scores.values.get(FINAL, {}).items())
        },
    )


def compare(scores: SetScores, baseline: Baseline) -> Verdict:
    """Raises `InvalidRequest` when no question of the baseline was asked."""
    now = baseline_of(scores).values
    both = sorted(now.keys() & baseline.values.keys())
    if not both:
        raise InvalidRequest(
            f"{scores.name}: none of these questions is in the baseline; write it anew"
        )
    return Verdict(
        dataset=scores.name,
        difference=paired([now[each] for each in both], [baseline.values[each] for each in both]),
        same_data=baseline.data == scores.results.about.data,
        missing=len(baseline.values) - len(both),
    )


def write_baseline(baseline: Baseline, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{baseline.dataset}.json"
    told = {
        "dataset": baseline.dataset,
        "measure": MEASURE,
        "commit": baseline.commit,
        "fingerprint": baseline.fingerprint,
        "data": baseline.data,
        "values": dict(sorted(baseline.values.items())),
    }
    path.write_text(f"{json.dumps(told, indent=0, separators=(',', ':'))}\n", encoding="utf-8")
    return path


def read_baseline(dataset: str, folder: Path) -> Baseline | None:
    """`None` where the set has none; `InvalidRequest` when it cannot be read."""
    path = folder / f"{dataset}.json"
    if not path.exists():
        return None
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Baseline(
            dataset=raw["dataset"],
            commit=raw["commit"],
            fingerprint=raw["fingerprint"],
            data=raw["data"],
            values={name: float(value) for name, value in raw["values"].items()},
        )
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InvalidRequest(f"{path} is no baseline: {error!r}") from error


def _name(question_id: str) -> str:
    return sha256_hex(question_id)[:12]
