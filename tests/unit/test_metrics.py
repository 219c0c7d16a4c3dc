"""Our measures against a second library, and against values written as formulas."""

from __future__ import annotations

import math
import random

import pytest
from ranx import Qrels, Run
from ranx import evaluate as ranx_evaluate

from eval.metrics import evaluate


def test_values_follow_the_formulas() -> None:
    qrels = {"q": {"a": 2, "b": 1}}
    values = evaluate(qrels, {"q": ["x", "b", "a"]})
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert values["ndcg@10"] == pytest.approx((1 / math.log2(3) + 2 / math.log2(4)) / ideal)
    assert values["mrr@10"] == pytest.approx(1 / 2)
    assert values["recall@10"] == 1.0


def test_a_question_without_answer_counts_zero() -> None:
    values = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]})
    assert values["ndcg@10"] == 0.5
    assert values["recall@50"] == 0.5


@pytest.mark.filterwarnings("ignore")
def test_agrees_with_a_second_library() -> None:
    rng = random.Random(7)
    docs = [f"d{n}" for n in range(200)]
    qrels = {f"q{n}": {d: rng.randint(1, 3) for d in rng.sample(docs, 12)} for n in range(40)}
    run = {query: rng.sample(docs, 60) for query in qrels}
    scored = {q: {d: 1 / rank for rank, d in enumerate(ds, 1)} for q, ds in run.items()}
    oracle = ranx_evaluate(
        Qrels(qrels), Run(scored), ["ndcg@10", "recall@10", "recall@50", "mrr@10"]
    )
    ours = evaluate(qrels, run)
    for name, value in ours.items():
        assert value == pytest.approx(float(oracle[name]), abs=1e-9), name
