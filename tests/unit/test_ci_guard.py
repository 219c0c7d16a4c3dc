"""In CI a test of a real store that was skipped fails the session; at a desk it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

SUITE = """
import pytest

@pytest.mark.{marker}
def test_skipped() -> None:
    pytest.skip("no server")

def test_runs() -> None:
    pass
"""


@pytest.mark.parametrize(
    ("marker", "ci", "status"), [("stores", "true", 1), ("stores", "", 0), ("slow", "true", 0)]
)
def test_a_skipped_store_fails_ci(tmp_path: Path, marker: str, ci: str, status: int) -> None:
    (tmp_path / "conftest.py").write_text(
        (TESTS / "conftest.py").read_text().replace("pytest_plugins = ", "plugins = ")
    )
    (tmp_path / "test_one.py").write_text(SUITE.format(marker=marker))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    stores\n    slow\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
    )
    assert done.returncode == status, done.stdout
    assert ("tests of real stores were skipped" in done.stdout) == bool(status)
