from __future__ import annotations

import numpy as np
import pytest

from cluster.model import TokenVectors
from cluster.models.token_vectors import pack, unpack
from eval.bench.token_codes import codings, unit
from eval.bench.token_sets import bm25_scores

DIM = 256


def normal(count: int, seed: int) -> TokenVectors:
    return unit(np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32))


CODINGS = {coding.name: coding for coding in codings(normal(600, 1))}
ROWS = normal(70, 2)
CONTENT = np.arange(70) % 3 > 0


def test_rows_that_are_left() -> None:
    left = {name: len(one.restored(ROWS, CONTENT)) for name, one in CODINGS.items()}
    assert left["fp16"] == left["int8"] == left["2 bits"] == 70
    assert left["int8, pooled by 2"] == left["256 axes, signs, pooled by 2"] == 35
    assert left["int8, pooled by 3"] == 24
    assert left["int8, at most 64 rows"] == 35
    assert left["int8, at most 32 rows"] == 24
    assert left["2 bits, content words only"] == CONTENT.sum() == 46
    short = CODINGS["int8, 2 if over 32"].restored(ROWS[:32], CONTENT[:32])
    assert len(short) == 32


@pytest.mark.parametrize(
    ("name", "row_bytes", "cosine"),
    [
        ("fp16", 512, 0.9999),
        ("int8", 256, 0.9999),
        ("4 bits", 128, 0.98),
        ("3 bits", 96, 0.97),
        ("2 bits", 64, 0.91),
        ("2 bits, turned", 64, 0.91),
        ("1 bits", 32, 0.75),
    ],
)
def test_what_is_read_back_is_near(name: str, row_bytes: int, cosine: float) -> None:
    rows = CODINGS[name].restored(ROWS, CONTENT)
    assert CODINGS[name].row_bytes == row_bytes
    assert (rows * ROWS).sum(axis=1).min() > cosine
    assert (rows * ROWS).sum(axis=1).max() < 1.0001


def test_the_product_keeps_them_as_it_was_measured() -> None:
    coding = CODINGS["2 bits, content words only"]
    packed = pack(ROWS[CONTENT])
    assert unpack(packed) == pytest.approx(coding.restored(ROWS, CONTENT), abs=1e-4)
    assert len(packed) - len(pack(ROWS[:0])) == coding.row_bytes * CONTENT.sum()


def test_bm25_of_a_small_corpus() -> None:
    scores = bm25_scores(["red harbour", "blue harbour harbour", "boat"], ["red", "harbour"])
    idf_red, idf_harbour = np.log(1 + 2.5 / 1.5), np.log(1 + 1.5 / 2.5)
    weights = 1.2 * (0.25 + 0.75 * np.array([2, 3, 1]) / 2)
    assert scores[0] == pytest.approx([idf_red * 2.2 / (1 + weights[0]), 0, 0])
    assert scores[1] == pytest.approx(
        [idf_harbour * 2.2 / (1 + weights[0]), idf_harbour * 4.4 / (2 + weights[1]), 0]
    )
