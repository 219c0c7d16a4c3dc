"""Is one of two answers to the same questions better, or is it chance?

Paired bootstrap (Sakai, SIGIR 2006): the questions are drawn again with replacement, and the
mean difference is looked at each time. Pure: the same differences give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 10_000
_SEED = 20_260_101
_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean of `new - old` and the bounds that hold 95 % of the drawn means."""

    value: float
    low: float
    high: float
    questions: int

    @property
    def worse(self) -> bool:
        return self.high < 0

    @property
    def better(self) -> bool:
        return self.low > 0

    @property
    def sign(self) -> str:
        """`+` or `-` where it is more than chance."""
        return "+" if self.better else "-" if self.worse else ""


def paired(new: Sequence[float], old: Sequence[float]) -> Difference:
    """`new` and `old` are of the same questions in the same order; none: no difference."""
    differences = np.asarray(new, dtype=np.float64) - np.asarray(old, dtype=np.float64)
    if not len(differences):
        return Difference(value=0.0, low=0.0, high=0.0, questions=0)
    rng = np.random.default_rng(_SEED)
    means = np.concatenate(
        [
            differences[rng.integers(0, len(differences), (_CHUNK, len(differences)))].mean(axis=1)
            for _ in range(DRAWS // _CHUNK)
        ]
    )
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(
        value=float(differences.mean()),
        low=float(low),
        high=float(high),
        questions=len(differences),
    )
