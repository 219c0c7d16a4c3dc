"""How good is a ranking? Standard measures, computed by `pytrec_eval` through `ir_measures`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

import ir_measures
from ir_measures import RR, P, Qrel, R, ScoredDoc, Success, nDCG

Qrels = Mapping[str, Mapping[str, int]]
"""query id -> document id -> grade (0: not relevant)."""

Run = Mapping[str, Sequence[str]]
"""query id -> document ids, best first, no repeats."""

MEASURES = {
    "ndcg@10": nDCG @ 10,
    "recall@10": R @ 10,
    "recall@50": R @ 50,
    "hit@10": Success @ 10,
    "mrr@10": RR @ 10,
    "precision@5": P @ 5,
}


def evaluate(qrels: Qrels, run: Run) -> dict[str, float]:
    """Mean of each measure over the questions of `qrels`; a question that `run` lacks counts 0.

    nDCG has linear gains (Järvelin and Kekäläinen, TOIS 2002, as trec_eval computes it).
    """
    judged = [Qrel(q, d, grade) for q, docs in qrels.items() for d, grade in docs.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=DeprecationWarning)
        found = ir_measures.calc_aggregate(list(MEASURES.values()), judged, list(_scored(run)))
    return {name: float(found[measure]) for name, measure in MEASURES.items()}


def per_question(qrels: Qrels, run: Run) -> dict[str, dict[str, float]]:
    """Question id -> measure -> value, for every question of `qrels`."""
    names = {measure: name for name, measure in MEASURES.items()}
    values = {query: dict.fromkeys(MEASURES, 0.0) for query in qrels}
    judged = [Qrel(q, d, grade) for q, docs in qrels.items() for d, grade in docs.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=DeprecationWarning)
        for found in ir_measures.iter_calc(list(names), judged, list(_scored(run))):
            values[found.query_id][names[found.measure]] = float(found.value)
    return values


def ndcg_per_query(qrels: Qrels, run: Run) -> dict[str, float]:
    """nDCG@10 of each question, for paired comparisons."""
    judged = [Qrel(q, d, grade) for q, docs in qrels.items() for d, grade in docs.items()]
    values = ir_measures.iter_calc([nDCG @ 10], judged, list(_scored(run)))
    return {metric.query_id: float(metric.value) for metric in values}


def _scored(run: Run) -> Iterable[ScoredDoc]:
    for query, documents in run.items():
        for rank, document in enumerate(documents, start=1):
            yield ScoredDoc(query, document, 1.0 / rank)
