"""The ingest job on a Ray of several nodes: whatever node is lost, the end is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from driving import Rows, counts_of, driving, pages_in, rows, wait_for_ray
from ingesting import TENANT, ray_settings, write_pages

from contract.postgres import fresh_database
from ingest.open import open_surroundings
from ingest.progress import Silent
from ingest.run import Request, ingest

pytestmark = [pytest.mark.ray, pytest.mark.stores, pytest.mark.slow]

PAGES = 300
STORE_BYTES = 100 * 2**20


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder, PAGES, words=150)
    return folder


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that does no work, as it has no CPU to give, and two nodes that do."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_AUTH_MODE", "disabled")
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(2):
                made.add_node(num_cpus=4, object_store_memory=STORE_BYTES)
            yield made
        finally:
            made.shutdown()  # type: ignore[no-untyped-call]  # Ray has no types here


@pytest.fixture
def expected(postgres_url: str, ledger_template: str, pages: Path, tmp_path: Path) -> Rows:
    """What an undisturbed loop writes."""
    with fresh_database(postgres_url, ledger_template) as url:
        settings = ray_settings(postgres_url=url, address="none", home=tmp_path / "loop")
        with open_surroundings(settings, always_loop=True, wait_until_visible=False) as on:
            summary = ingest(Request(targets=(str(pages),), tenant=TENANT), on, Silent())
        assert summary.counts["published"] == PAGES
        return rows(url)


def test_a_lost_node_costs_nothing(
    cluster: Any, database_url: str, pages: Path, expected: Rows, tmp_path: Path
) -> None:
    with driving(database_url, cluster.address, tmp_path, pages) as run:
        wait_for_ray(database_url, run)
        lost = node_with(cluster, "EmbedBlocks")
        cluster.remove_node(lost, allow_graceful=False)
        assert pages_in(database_url) < PAGES, "it was over before the node was lost"
        counts = counts_of(run)
    assert rows(database_url) == expected
    assert counts["loaded"] == counts["parsed"] == PAGES
    assert len(cluster.worker_nodes) == 1


def node_with(cluster: Any, stage: str) -> Any:
    """A node that runs this stage: Ray names its worker processes after what they do."""
    for node in cluster.worker_nodes:
        (raylet,) = node.all_processes["raylet"]
        for process in psutil.Process(raylet.process.pid).children(recursive=True):
            try:
                if stage in " ".join(process.cmdline()):
                    return node
            except psutil.NoSuchProcess:
                continue
    raise AssertionError(f"no node runs {stage}")
