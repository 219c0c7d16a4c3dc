"""How far do two vector indexes agree?"""

from __future__ import annotations

from eval.bench.swap_vectors import overlap


def test_overlap_is_the_share_that_both_found() -> None:
    left = [{"a", "b"}, {"a", "b"}, {"a"}, set()]
    right = [{"a", "b"}, {"a", "c"}, {"z"}, set()]
    assert overlap(left, right) == [1.0, 0.5, 0.0, 0.0]
