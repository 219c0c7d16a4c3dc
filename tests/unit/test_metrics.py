"""Our measures against a second library, and against values written as formulas."""

from __future__ import annotations

import math
import random

import pytest
from sklearn.metrics import ndcg_score

from eval.metrics import MEASURES, evaluate, ndcg_per_query, per_question


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


def test_ndcg_agrees_with_a_second_library() -> None:
    rng = random.Random(7)
    docs = [f"d{n}" for n in range(200)]
    qrels = {f"q{n}": {d: rng.randint(1, 3) for d in rng.sample(docs, 12)} for n in range(40)}
    run = {query: rng.sample(docs, 60) for query in qrels}
    oracle = [
        ndcg_score(
            [[graded.get(doc, 0) for doc in docs]],
            [[1 / (1 + run[query].index(doc)) if doc in run[query] else 0.0 for doc in docs]],
            k=10,
            ignore_ties=True,
        )
        for query, graded in qrels.items()
    ]
    assert evaluate(qrels, run)["ndcg@10"] == pytest.approx(sum(oracle) / len(oracle), abs=1e-9)
    assert list(ndcg_per_query(qrels, run).values()) == pytest.approx(oracle, abs=1e-9)


def test_recall_and_reciprocal_rank_by_their_definitions() -> None:
    rng = random.Random(8)
    docs = [f"d{n}" for n in range(80)]
    qrels = {f"q{n}": dict.fromkeys(rng.sample(docs, 5), 1) for n in range(30)}
    run = {query: rng.sample(docs, 40) for query in qrels}
    recalls = [len(set(run[q][:10]) & set(good)) / len(good) for q, good in qrels.items()]
    ranks = [[run[q].index(d) + 1 for d in good if d in run[q][:10]] for q, good in qrels.items()]
    reciprocal = [1 / min(found) if found else 0.0 for found in ranks]
    values = evaluate(qrels, run)
    assert values["recall@10"] == pytest.approx(sum(recalls) / 30)
    assert values["mrr@10"] == pytest.approx(sum(reciprocal) / 30)


def test_each_question_by_the_definitions() -> None:
    rng = random.Random(9)
    docs = [f"d{n}" for n in range(60)]
    qrels = {f"q{n}": dict.fromkeys(rng.sample(docs, 4), 1) for n in range(30)}
    run = {query: rng.sample(docs, 30) for query in list(qrels)[:-1]}
    values = per_question(qrels, run)
    assert set(values) == set(qrels)
    for query, good in qrels.items():
        shown = run.get(query, [])
        assert values[query]["hit@10"] == float(bool(set(shown[:10]) & set(good)))
        assert values[query]["precision@5"] == pytest.approx(len(set(shown[:5]) & set(good)) / 5)
        assert values[query]["recall@50"] == pytest.approx(len(set(shown) & set(good)) / 4)
    means = evaluate(qrels, run)
    for name in MEASURES:
        assert means[name] == pytest.approx(sum(each[name] for each in values.values()) / 30)
