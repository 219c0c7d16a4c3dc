"""The servers that tests start end with the tests, also when those are killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.stores, pytest.mark.slow]

TESTS = Path(__file__).parents[1]

START = """
import sys, time
sys.path[:0] = {paths!r}
from {module} import {name}
with {name}({arguments}) as address:
    print(address, flush=True)
    time.sleep(600)
"""

SERVERS = [
    pytest.param("servers.postgres", "postgres", "", id="embedded postgres"),
    pytest.param("servers.postgres", "postgres", "major=15", id="oldest postgres"),
    pytest.param("servers.milvus", "milvus", "", id="milvus"),
    pytest.param("servers.elasticsearch", "elasticsearch", "", id="elasticsearch"),
]


@pytest.mark.parametrize(("module", "name", "arguments"), SERVERS)
def test_a_server_ends_with_the_process_that_started_it(
    module: str, name: str, arguments: str
) -> None:
    paths = [str(TESTS), str(TESTS.parent)]
    code = START.format(paths=paths, module=module, name=name, arguments=arguments)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        assert "127.0.0.1" in starter.stdout.readline()
        started = psutil.Process(starter.pid).children(recursive=True)
        assert started
        starter.kill()
    until = time.monotonic() + 30
    while any(process.is_running() for process in started) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [process.pid for process in started if process.is_running()]
