from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cluster.errors import ModelError
from cluster.model import TokenVectors
from cluster.models.token_vectors import head_of, pack, recipe_of, stack, unpack

RECIPE = "0a1b2c3d"
SIZES = st.tuples(st.integers(0, 9), st.integers(1, 70))


@st.composite
def token_vectors(
    draw: st.DrawFn, sizes: st.SearchStrategy[tuple[int, int]] = SIZES
) -> TokenVectors:
    count, dim = draw(sizes)
    drawn = draw(arrays(np.int16, (count, dim), elements=st.integers(-300, 300)))
    values = drawn.astype(np.float32)
    values[~values.any(axis=1), 0] = 1
    unit: TokenVectors = values / np.linalg.norm(values, axis=1, keepdims=True)
    return unit


def normal(count: int, dim: int, seed: int = 0) -> TokenVectors:
    values = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    unit: TokenVectors = values / np.linalg.norm(values, axis=1, keepdims=True)
    return unit


@given(token_vectors())
def test_rows_come_back_with_unit_length_and_their_signs(tokens: TokenVectors) -> None:
    rows = unpack(pack(tokens, recipe=RECIPE))
    assert rows.shape == tokens.shape
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-5)
    assert ((rows > 0) == (tokens > 0)).all()


@given(token_vectors())
def test_a_large_coordinate_comes_back_larger(tokens: TokenVectors) -> None:
    rows = unpack(pack(tokens))
    bound = 0.9816 / tokens.shape[1] ** 0.5
    for given_row, row in zip(tokens, rows, strict=True):
        large = np.abs(given_row) > bound
        if large.any() and not large.all():
            assert np.abs(row[large]).min() > 3 * np.abs(row[~large]).max()


def test_cosines_of_normal_vectors_hardly_move() -> None:
    tokens, questions = normal(300, 384), normal(20, 384, seed=1)
    near = questions[:, None, :] * 0.7 + normal(20, 384, seed=2)[:, None, :] * 0.3
    tokens[:20] = near[:, 0] / np.linalg.norm(near[:, 0], axis=1, keepdims=True)
    rows = unpack(pack(tokens))
    assert (rows * tokens).sum(axis=1) == pytest.approx(np.full(300, 0.94), abs=0.025)
    moved = questions @ rows.T - 0.94 * (questions @ tokens.T)
    assert np.abs(moved).max() < 0.08
    assert (np.argmax(questions @ rows.T, axis=1) == np.arange(20)).all()


def test_what_it_takes_at_rest() -> None:
    assert len(pack(normal(150, 384))) == 7 + 150 * 96
    assert len(pack(normal(0, 384))) == 7
    assert len(pack(normal(2, 9))) == 7 + 2 * 3


def test_the_head_tells_the_recipe() -> None:
    data = pack(normal(3, 8), recipe=RECIPE)
    assert data.startswith(head_of(RECIPE))
    assert not data.startswith(head_of(""))
    assert recipe_of(data) == RECIPE
    assert recipe_of(pack(normal(3, 8))) == ""


@given(st.lists(st.none() | token_vectors(st.tuples(st.integers(0, 5), st.just(12))), max_size=6))
def test_a_stack_is_all_of_them_below_each_other(several: list[TokenVectors | None]) -> None:
    packed = [None if one is None else pack(one, recipe=RECIPE) for one in several]
    found = stack(packed, dim=12, recipe=RECIPE)
    assert found.lengths.tolist() == [0 if one is None else len(one) for one in several]
    wanted = [unpack(one) for one in packed if one is not None]
    assert found.rows.shape == (found.lengths.sum(), 12)
    assert np.array_equal(found.rows, np.concatenate([*wanted, np.empty((0, 12))]))


def test_what_cannot_be_compared_counts_as_not_there() -> None:
    mine = pack(normal(2, 8), recipe=RECIPE)
    layout = bytes([1]) + mine[1:]
    other = [pack(normal(2, 8)), pack(normal(2, 12), recipe=RECIPE), layout, b"", b"\x02", None]
    assert stack([*other, mine], dim=8, recipe=RECIPE).lengths.tolist() == [0, 0, 0, 0, 0, 0, 2]
    assert stack([], dim=8).rows.shape == (0, 8)


@pytest.mark.parametrize("data", [b"", b"\x02\x00", b"\x01" + pack(normal(2, 8))[1:]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="known layout"):
        unpack(data)


def test_a_cut_value_is_refused() -> None:
    with pytest.raises(ModelError, match="10 bytes are no rows of 8"):
        unpack(pack(normal(2, 8))[:10])
