"""What a test server lacks, and what follows from it: skipped at a desk, failed in CI."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest


class Missing(Exception):
    """Something outside Python is not there; the message names it and the way to get it."""


def give_up(reason: Missing) -> NoReturn:
    """A test that needs the server cannot run."""
    if os.environ.get("CI") or os.environ.get("PALIMPSEST_TEST_REQUIRE_SERVERS"):
        pytest.fail(str(reason), pytrace=False)
    pytest.skip(str(reason))


def free_port() -> int:
    """Of loopback; nothing keeps it until it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
