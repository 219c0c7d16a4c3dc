"""An ingest job on Ray as a process of its own, that may be killed or lose a part of its Ray."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from ingest.run import LOOP_ITEMS

DRIVER = Path(__file__).with_name("integration") / "ingest_driver.py"
Rows = list[tuple[Any, ...]]


def rows(url: str) -> Rows:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT c.chunk_id, c.revision_id, c.ordinal, c.start_at, c.end_at, c.context "
            "FROM chunks c ORDER BY c.chunk_id"
        ).fetchall()


def pages_in(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM revisions").fetchone()
        return int(found[0]) if found else 0


@contextmanager
def driving(url: str, address: str, home: Path, pages: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(DRIVER), url, address, str(home), str(pages)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_ray(url: str, process: subprocess.Popen[str]) -> None:
    """Until more pages are written than the driver works off by itself."""
    until = time.monotonic() + 180
    while pages_in(url) <= LOOP_ITEMS:
        assert process.poll() is None, "it ended before enough was written"
        assert time.monotonic() < until, "too little was written in three minutes"
        time.sleep(0.02)


def counts_of(process: subprocess.Popen[str]) -> dict[str, int]:
    out, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    counts: dict[str, int] = json.loads(out.splitlines()[-1])
    return counts
