"""What each set has to reach at least, through the served pipeline with the default encoder."""

from __future__ import annotations

from collections.abc import Mapping

FLOORS: Mapping[str, Mapping[str, float]] = {
    "scifact": {"ndcg@10": 0.750},
    "stard_gold": {"ndcg@10": 0.550},
    "cmrc2018": {"ndcg@10": 0.988},
    "drcd": {"ndcg@10": 0.960},
    "rgb_zh": {"ndcg@10": 0.680},
    "ramdocs": {"ndcg@10": 0.838},
    "xquad_en_zh": {"ndcg@10": 0.900},
    "xquad_zh-en": {"ndcg@10": 0.885},
    "xquad_en-zh": {"ndcg@10": 0.885},
    "locomo": {"ndcg@10": 0.600, "recall@10": 0.79},
    "lifebench_zh": {"ndcg@10": 0.460, "hit@10": 0.88},
}

SMALL = frozenset({"scifact", "rgb_zh", "ramdocs"})
"""Sets so small that a figure within its own standard error of the floor counts as met."""


def met(dataset: str, measure: str, *, value: float, error: float) -> bool | None:
    """Whether the floor is reached; `None` where there is none. `error` is the standard error."""
    floor = FLOORS.get(dataset, {}).get(measure)
    if floor is None:
        return None
    return value + (error if dataset in SMALL else 0.0) >= floor - 5e-4
