from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import ModelError
from cluster.model import Vector
from cluster.models.centring import OVERALL, SIDES, Centres, Side, centred, read_centres
from cluster.models.weights import DEFAULT_MODEL, DIM


def _same(*values: float) -> dict[Side, Vector]:
    return {side: np.array(values, dtype=np.float32) for side in SIDES}


CENTRES = Centres({"zh": _same(0.6, 0.0), OVERALL: _same(0.0, 0.5)}, "digest")


def test_the_mean_of_the_language_goes_off() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    moved = centred(vectors, languages=["zh", "zh"], side="document", centres=CENTRES)
    assert moved.tolist() == [[1, 0], [0, 1]]


def test_a_language_without_a_mean_gets_the_overall_one() -> None:
    vectors = np.array([[1, 0]], dtype=np.float32)
    moved = centred(vectors, languages=["fr"], side="query", centres=CENTRES)
    assert moved[0] == pytest.approx(np.array([1, -0.5]) / np.hypot(1, 0.5))


def test_sides_have_their_own_means() -> None:
    means = {OVERALL: {**_same(0.0, 0.5), "query": np.array([0.5, 0.0], dtype=np.float32)}}
    vectors = np.array([[0, 1]], dtype=np.float32)
    asked = centred(vectors, languages=["en"], side="query", centres=Centres(means, ""))
    told = centred(vectors, languages=["en"], side="document", centres=Centres(means, ""))
    assert told.tolist() == [[0, 1]]
    assert asked[0] == pytest.approx(np.array([-0.5, 1]) / np.hypot(1, 0.5))


def test_a_vector_that_is_its_mean_stays() -> None:
    centres = Centres({OVERALL: _same(0.0, 1.0)}, "")
    vectors = np.array([[0, 1]], dtype=np.float32)
    assert centred(vectors, languages=["en"], side="query", centres=centres).tolist() == [[0, 1]]


def test_the_default_model_has_means_for_both_languages() -> None:
    centres = read_centres(DEFAULT_MODEL)
    assert centres is not None
    assert centres.dim == DIM
    assert set(centres.means) == {"zh", "en", OVERALL}
    for side in SIDES:
        both = (centres.means["zh"][side] + centres.means["en"][side]) / 2
        assert centres.means[OVERALL][side] == pytest.approx(both, abs=2e-5)
        apart = np.linalg.norm(centres.means["zh"][side] - centres.means["en"][side])
        assert apart > 0.1


def test_another_model_has_none() -> None:
    assert read_centres("some/other-model") is None


def test_a_spoilt_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "spoilt.json"
    path.write_text(json.dumps({"means": {"zh": {"document": [1.0]}}}))
    with pytest.raises(ModelError, match=r"spoilt\.json"):
        read_centres("spoilt", folder=tmp_path)
