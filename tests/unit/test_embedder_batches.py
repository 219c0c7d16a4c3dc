from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.errors import ModelError
from cluster.models.embedder import batches, padded, unit

lengths = st.lists(st.integers(1, 600), max_size=60)


@given(lengths, st.integers(64, 5000))
def test_every_text_is_in_one_batch(lengths: list[int], batch_tokens: int) -> None:
    found = [at for batch in batches(lengths, batch_tokens=batch_tokens) for at in batch]
    assert sorted(found) == list(range(len(lengths)))


@given(lengths, st.integers(64, 5000))
def test_batches_are_bounded_and_sorted(lengths: list[int], batch_tokens: int) -> None:
    former = 1 << 30
    for batch in batches(lengths, batch_tokens=batch_tokens):
        longest = lengths[batch[0]]
        assert [lengths[at] for at in batch] == sorted((lengths[at] for at in batch), reverse=True)
        assert longest <= former
        assert len(batch) == 1 or longest * len(batch) <= batch_tokens
        former = lengths[batch[-1]]


def test_a_batch_takes_as_many_as_fit() -> None:
    assert list(batches([10, 30, 20, 30], batch_tokens=60)) == [[1, 3], [2, 0]]
    assert list(batches([500], batch_tokens=64)) == [[0]]


def test_padding_stands_at_the_end_and_is_masked() -> None:
    ids, mask = padded([[5, 6, 7], [8]], pad_id=1)
    assert ids.tolist() == [[5, 6, 7], [8, 1, 1]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_unit_scales_rows() -> None:
    scaled = unit(np.array([[3, 4], [0, 0.5]], dtype=np.float32), names=[0, 1])
    assert scaled.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 1]]


@pytest.mark.parametrize("broken", [np.nan, np.inf, 0.0])
def test_a_broken_vector_is_named_by_its_text(broken: float) -> None:
    vectors = np.array([[1, 0], [broken, 0]], dtype=np.float32)
    with pytest.raises(ModelError, match="text 17"):
        unit(vectors, names=[4, 17])
