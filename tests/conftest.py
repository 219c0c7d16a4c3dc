"""Rules for every test: no Ray unless the test says so; data sets are found in one place."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["servers.fixtures", "contract.postgres"]

SKIPPED = pytest.StashKey[list[str]]()
"""Tests of real stores that did not run."""

DATA = Path(os.environ.get("PALIMPSEST_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
"""How long an example takes tells what else runs on the machine, not whether it is right."""

_SESSIONS: list[pytest.Session] = []


@atexit.register
def leave_at_once() -> None:
    """With the tests' own status, once everything else that was registered has run. Taking the
    interpreter down while threads of native libraries (Ray, gRPC, Arrow) still run can crash,
    after the last test and its summary."""
    if _SESSIONS:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(_SESSIONS[-1].exitstatus))


def pytest_sessionstart(session: pytest.Session) -> None:
    _SESSIONS.append(session)


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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Skipping is for desks: in CI a test of a real store that did not run is a failure."""
    skipped = session.stash.get(SKIPPED, [])
    if skipped and os.environ.get("CI"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.section("tests of real stores were skipped", red=True)
            reporter.write("\n".join(skipped) + "\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.get_closest_marker("stores"):
        item.session.stash.setdefault(SKIPPED, []).append(item.nodeid)
    return report
