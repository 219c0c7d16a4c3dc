"""Rules for every test: no Ray unless the test says so; data sets are found in one place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["servers.fixtures", "contract.postgres"]

DATA = Path(os.environ.get("PALIMPSEST_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(autouse=True)
def no_ray(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "ray" in request.keywords or "stack" in request.keywords:
        return
    import ray

    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError("mark this test `ray`, or take Ray out of the code under test")

    monkeypatch.setattr(ray, "init", refuse)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The evaluation data sets; CI fails when they are missing."""
    if not DATA.is_dir():
        message = f"no data sets at {DATA}; set PALIMPSEST_TEST_DATA to their folder"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return DATA
