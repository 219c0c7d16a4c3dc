"""The real servers as fixtures: one of each for the whole session, by URL or started here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest

from servers.elasticsearch import elasticsearch
from servers.milvus import milvus
from servers.needs import Missing, give_up
from servers.postgres import OLDEST, postgres


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """`PALIMPSEST_TEST_ELASTICSEARCH_URL`, else a node of our own."""
    yield from named_or_started("PALIMPSEST_TEST_ELASTICSEARCH_URL", elasticsearch)


@pytest.fixture(scope="session")
def milvus_uri() -> Iterator[str]:
    """`PALIMPSEST_TEST_MILVUS_URI`, else a server of our own."""
    yield from named_or_started("PALIMPSEST_TEST_MILVUS_URI", milvus)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """`PALIMPSEST_TEST_POSTGRES_URL`, else the embedded version: a server on which databases
    may be made."""
    yield from named_or_started("PALIMPSEST_TEST_POSTGRES_URL", postgres)


@pytest.fixture(scope="session")
def oldest_postgres_url() -> Iterator[str]:
    """`PALIMPSEST_TEST_OLDEST_POSTGRES_URL`, else a server of the oldest supported version."""
    yield from named_or_started(
        "PALIMPSEST_TEST_OLDEST_POSTGRES_URL", lambda: postgres(major=OLDEST)
    )


def named_or_started(
    variable: str, start: Callable[[], AbstractContextManager[str]]
) -> Iterator[str]:
    """The address in the environment, else that of a server that runs until the end."""
    named = os.environ.get(variable)
    if named:
        yield named
        return
    with ExitStack() as running:
        try:
            url = running.enter_context(start())
        except Missing as reason:
            give_up(reason)
        yield url
