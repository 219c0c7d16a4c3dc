"""When do two rankings say the same?"""

from __future__ import annotations

import pytest

from eval.bench.swap import largest_difference, same_ranking

ONE = [("a", 3.0), ("b", 2.0), ("c", 1.0)]


def test_equal_up_to_the_tolerance() -> None:
    assert same_ranking([], [])
    assert same_ranking(ONE, [("a", 3.00029), ("b", 2.0), ("c", 1.0)])
    assert not same_ranking(ONE, [("a", 3.00031), ("b", 2.0), ("c", 1.0)])


def test_ties_may_swap_places_or_fall_off_the_end() -> None:
    assert same_ranking([("a", 2.0), ("b", 1.99999)], [("b", 2.0), ("a", 2.0)])
    assert same_ranking([("a", 2.0), ("b", 1.0)], [("a", 2.0), ("c", 1.00001)])
    assert not same_ranking([("a", 2.0), ("b", 1.0)], [("a", 2.0), ("c", 1.01)])
    assert not same_ranking([("a", 2.0), ("b", 1.0)], [("b", 2.0), ("a", 1.0)])


def test_a_missing_hit_is_a_difference() -> None:
    assert not same_ranking(ONE, ONE[:2])
    assert not same_ranking(ONE, [])


def test_largest_difference_is_relative_and_of_common_ids() -> None:
    assert largest_difference(ONE, [("a", 3.0), ("b", 2.5), ("z", 9.0)]) == pytest.approx(0.2)
    assert largest_difference([], ONE) == 0.0
