"""When is nothing relevant? Reads the constants of `rerank.relevance` off questions. Run as
`python -m eval.calibrate_relevance DATA_DIR --out rerank/relevance.multilingual-e5-small.json`
over a stack into which `palimpsest eval` has ingested the sets.

Each question is asked of its own corpus, where it has an answer, and of the corpora that it is
foreign to in `eval.abstain`, where it has none; those of a set in two languages also of the
passages of the other language alone. Mean and spread of each sign come from the answerable ones
alone; the threshold refuses as few of them as it may where the goal for foreign questions is met
with a small reserve. Where the nearest passage is in another language, constants of their own are
made; there the two overlap so much that only questions with an answer are looked at. Only the
tuning half of the questions is read; what is told of the result is told of the other half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cluster.clock import SystemClock
from cluster.model import Scope
from cluster.settings import load_settings
from cluster.text.languages import detect_language
from eval.abstain import LEAST_REFUSED, MOST_REFUSED
from eval.abstain import SETS as FOREIGN
from eval.open import open_service
from eval.sets import Asked, EvalSet, half_of, read_folder, sample
from rerank.relevance import ACROSS_LANGUAGES, WEIGHTS, Calibration, Signals, kind_of
from rerank.reranker import USUAL_RERANK
from serve.plan.planner import Question
from serve.service import Service

SETS = ("cmrc2018", "drcd", "stard_gold", "scifact", "ramdocs", "xquad_en_zh")
BILINGUAL = "xquad_en_zh"
LANGUAGES = ("zh", "en")
QUESTIONS = 80
"""Of each set, language and half."""

RESERVE = 0.01
"""So much more of the foreign questions than the goal asks for."""

PATIENCE_S = 60.0
DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question asked of one corpus: is it its own, and what was seen."""

    corpus: str
    own: bool
    language: str
    half: str
    signals: Signals


def calibrate(
    own: Sequence[Signals], foreign: Sequence[Signals], *, other_language: bool = False
) -> Calibration:
    """From questions that have an answer, and others that have none."""
    weights = ACROSS_LANGUAGES if other_language else WEIGHTS
    values = {name: np.array([getattr(each, name) for each in own]) for name in weights}
    free = Calibration(
        means={name: float(each.mean()) for name, each in values.items()},
        spreads={name: max(float(each.std()), 1e-6) for name, each in values.items()},
        enough=0.0,
        weights=weights,
    )
    of, share = (own, MOST_REFUSED / 2) if other_language else (foreign, LEAST_REFUSED + RESERVE)
    return replace(free, enough=float(np.quantile([free.sum_of(each) for each in of], share)))


def refused(calibration: Calibration, signals: Sequence[Signals]) -> float:
    """The share that the threshold alone refuses; 0 of none."""
    below = [calibration.sum_of(each) < calibration.enough for each in signals]
    return float(np.mean(below)) if below else 0.0


def constants(samples: Sequence[Sample]) -> dict[str, Any]:
    """By language, and by whether the nearest passage is in it: what `rerank.relevance` reads,
    and how it does on the other half."""
    made: dict[str, Any] = {}
    for language, other_language in product(LANGUAGES, (False, True)):
        mine = [
            each
            for each in samples
            if each.language == language and each.signals.other_language is other_language
        ]
        own = _signals(mine, own=True, half="tune")
        foreign = _signals(mine, own=False, half="tune")
        if not own or not (foreign or other_language):
            continue
        found = calibrate(own, foreign, other_language=other_language)
        made[kind_of(language, other_language=other_language)] = {
            "means": _rounded(found.means),
            "spreads": _rounded(found.spreads),
            "enough": round(found.enough, DIGITS),
            "answerable": len(own),
            "report": {
                "answerable_refused": round(
                    refused(found, _signals(mine, own=True, half="report")), DIGITS
                ),
                "foreign_refused": round(
                    refused(found, _signals(mine, own=False, half="report")), DIGITS
                ),
                "foreign": len(_signals(mine, own=False, half="report")),
            },
        }
    return made


async def ask_all(
    service: Service, sets: Sequence[EvalSet], crossing: Sequence[EvalSet], *, limit: int
) -> list[Sample]:
    """`crossing`: sets over the same corpora, asked of passages of the other language only."""
    samples = []
    for asked_of in (*sets, *crossing):
        foreign = [each for each in sets if _foreign(each.name, asked_of.name)]
        for asking in (asked_of, *foreign):
            for question in _questions(asking, limit=limit):
                own = asked_of.name == asking.name
                signals = await _ask(service, question, corpus=asked_of, own=own)
                if signals is not None:
                    samples.append(
                        Sample(
                            corpus=asked_of.name,
                            own=own,
                            language=detect_language(question.text),
                            half=half_of(question.group),
                            signals=signals,
                        )
                    )
    return samples


def _foreign(asking: str, corpus: str) -> bool:
    """Whether questions of one set are foreign to the corpus of the other."""
    return asking != corpus and any(
        asking in group and corpus in group for group in FOREIGN.values()
    )


def _questions(asking: EvalSet, *, limit: int) -> list[Asked]:
    return [
        question
        for language in LANGUAGES
        for half in ("tune", "report")
        for question in sample(
            [
                each
                for each in asking.questions
                if detect_language(each.text) == language and half_of(each.group) == half
            ],
            limit=limit,
        )
    ]


async def _ask(service: Service, asked: Asked, *, corpus: EvalSet, own: bool) -> Signals | None:
    found = await service.search(
        Question(
            text=asked.text,
            scope=Scope(tenant=corpus.corpus.tenant),
            limit=1,
            now=asked.now or SystemClock().now(),
            deadline_s=PATIENCE_S,
            where=asked.where if own else None,
            channels=("semantic", "keyword"),
            rerank=replace(USUAL_RERANK, deadline_s=PATIENCE_S),
        )
    )
    return found.relevance.signals if found.relevance is not None else None


def _signals(samples: Sequence[Sample], *, own: bool, half: str) -> list[Signals]:
    return [each.signals for each in samples if each.own is own and each.half == half]


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in values.items()}


async def _measured(data_dir: Path, *, names: Sequence[str], limit: int) -> dict[str, Any]:
    # One set for each corpus: what a second one asks of the same corpus is no foreign question.
    sets, crossing = [], list[EvalSet]()
    for name in names:
        first, *more = read_folder(data_dir / name)
        sets.append(first)
        crossing += more if name == BILINGUAL else []
    async with open_service(load_settings()) as service:
        samples = await ask_all(service, sets, crossing, limit=limit)
        return {
            "encoder": service.fingerprint,
            "made_by": "eval.calibrate_relevance",
            "sets": [each.name for each in sets],
            "goals": {"answerable_refused": MOST_REFUSED, "foreign_refused": LEAST_REFUSED},
            "languages": constants(samples),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, help="folder that holds the sets")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    arguments = parser.parse_args()
    listed = asyncio.run(
        _measured(arguments.data_dir, names=arguments.sets, limit=arguments.questions)
    )
    arguments.out.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(listed["languages"], indent=1))


if __name__ == "__main__":
    main()
