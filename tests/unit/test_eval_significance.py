from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.significance import paired

SHARES = st.floats(0, 1, allow_nan=False)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=30))
def test_the_mean_lies_within_its_bounds_and_turns_with_the_sides(
    pairs: list[tuple[float, float]],
) -> None:
    new, old = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found, turned = paired(new, old), paired(old, new)
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert turned.value == pytest.approx(-found.value)
    assert turned.low == pytest.approx(-found.high, abs=0.02)
    assert not (found.better and found.worse)


def test_the_bounds_are_those_of_a_normal_mean() -> None:
    rng = random.Random(3)  # repeatable
    new = [rng.gauss(0.2, 1.0) for _ in range(400)]
    found = paired(new, [0.0] * 400)
    mean = sum(new) / 400
    error = math.sqrt(sum((value - mean) ** 2 for value in new) / 399 / 400)
    assert found.low == pytest.approx(mean - 1.96 * error, abs=0.01)
    assert found.high == pytest.approx(mean + 1.96 * error, abs=0.01)


def test_what_is_the_same_for_all_is_more_than_chance() -> None:
    assert paired([0.6] * 10, [0.5] * 10).sign == "+"
    assert paired([0.5] * 10, [0.6] * 10).sign == "-"
    assert paired([0.5, 0.7] * 10, [0.7, 0.5] * 10).sign == ""
    assert paired([], []).sign == ""
