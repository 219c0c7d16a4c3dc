"""Passages of other sets among those of a set: how much of what is relevant is still found?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster.ids import sha256_hex
from eval.datasets import read_lines
from eval.scores import FINAL, SetScores
from eval.sets import EvalSet
from eval.significance import Difference, paired

MEASURE = "recall@10"
MAX_LOSS = 0.02
SOURCES = ("xquad_en_zh", "cmrc2018", "stard_gold", "drcd", "ramdocs", "scifact", "rgb_zh")
"""Sets of plain passages; what of them is ingested already is not encoded again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noisy:
    """`change` is of recall@10 of what is shown, with noise less without. `added`: passages of
    other sets for each of the set's own."""

    dataset: str
    added: float
    change: Difference


def with_noise(of: EvalSet, *, factor: int, data: Path) -> EvalSet | None:
    """The set with `factor` times as many passages of other sets, or as many as there are; the
    same ones each time. `None` where other passages could not be asked at all: questions inside
    a conversation."""
    if of.corpus.name not in SOURCES:
        return None
    own = of.corpus.lines or tuple(line for _, line in read_lines(of.corpus.file))
    others = sorted(_others(of.corpus.name, data), key=lambda line: sha256_hex(line["doc_id"]))
    lines = (*own, *others[: factor * len(own)])
    corpus = replace(
        of.corpus, name=f"{of.corpus.name}-noise{factor}", documents=len(lines), lines=lines
    )
    return replace(of, name=f"{of.name}-noise{factor}", corpus=corpus)


def compare(clean: SetScores, noisy: SetScores, *, of: EvalSet, with_them: EvalSet) -> Noisy:
    """Both scores are of the same questions."""
    asked = [record.question_id for record in clean.results.records]
    own = of.corpus.documents
    return Noisy(
        dataset=of.name,
        added=(with_them.corpus.documents - own) / own,
        change=paired(_column(noisy, asked), _column(clean, asked)),
    )


def _column(scores: SetScores, asked: Sequence[str]) -> list[float]:
    return [scores.values[FINAL][each][MEASURE] for each in asked]


def _others(name: str, data: Path) -> Iterator[Mapping[str, Any]]:
    for source in SOURCES:
        if source != name and (data / source).is_dir():
            for _, line in read_lines(data / source / "corpus.jsonl"):
                yield {**line, "doc_id": f"noise/{source}/{line['doc_id']}"}
