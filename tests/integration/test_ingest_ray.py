"""The stages on a real Ray and a real ledger give what the loop gives, whoever is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from driving import Rows, counts_of, driving, pages_in, rows, wait_for_ray
from ingesting import TENANT, ray_settings, write_pages

from contract.postgres import fresh_database
from ingest.open import open_surroundings
from ingest.progress import Silent
from ingest.run import Request, ingest

pytestmark = [pytest.mark.ray, pytest.mark.stores, pytest.mark.slow]

PAGES = 160


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder, PAGES, words=150)
    return folder


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_AUTH_MODE", "disabled")
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        import ray

        ray.init(
            num_cpus=8,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            namespace="palimpsest",
        )
        try:
            yield ray.get_runtime_context().gcs_address
        finally:
            ray.shutdown()


@pytest.fixture(scope="module")
def expected(
    postgres_url: str, ledger_template: str, pages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Rows:
    """What an undisturbed loop writes."""
    with fresh_database(postgres_url, ledger_template) as url:
        home = tmp_path_factory.mktemp("home")
        settings = ray_settings(postgres_url=url, address="none", home=home)
        with open_surroundings(settings, always_loop=True, wait_until_visible=False) as on:
            summary = ingest(Request(targets=(str(pages),), tenant=TENANT), on, Silent())
        assert summary.counts["published"] == PAGES
        return rows(url)


def test_a_killed_driver_and_a_second_run_give_what_the_loop_gives(
    ray_address: str,
    database_of: str,
    pages: Path,
    expected: Rows,
    tmp_path: Path,
) -> None:
    with driving(database_of, ray_address, tmp_path, pages) as killed:
        wait_for_ray(database_of, killed)
        killed.kill()
        killed.wait()
    assert pages_in(database_of) < PAGES
    with driving(database_of, ray_address, tmp_path, pages) as second:
        counts = counts_of(second)
    assert rows(database_of) == expected
    assert counts["loaded"] == PAGES
    assert counts["unchanged"] > 0
    assert counts["unchanged"] + counts["parsed"] == PAGES


def test_a_killed_worker_costs_nothing(
    ray_address: str,
    database_of: str,
    pages: Path,
    expected: Rows,
    tmp_path: Path,
) -> None:
    with driving(database_of, ray_address, tmp_path, pages) as run:
        wait_for_ray(database_of, run)
        assert kill_workers("EmbedBlocks") > 0
        counts = counts_of(run)
    assert rows(database_of) == expected
    assert counts["loaded"] == counts["parsed"] == PAGES


@pytest.fixture
def database_of(postgres_url: str, ledger_template: str) -> Iterator[str]:
    with fresh_database(postgres_url, ledger_template) as url:
        yield url


def kill_workers(stage: str) -> int:
    """Ray names its worker processes after what they do; only those of this Ray are ours."""
    killed = 0
    for process in psutil.Process().children(recursive=True):
        try:
            if stage in " ".join(process.cmdline()):
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return killed
