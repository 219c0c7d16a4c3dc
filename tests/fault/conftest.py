"""The stores behind proxies: those of one machine, and the servers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract.milvus_lite import milvus_lite
from contract.postgres import fresh_database
from fault.houses import Addresses, Surroundings, as_url, surroundings


@pytest.fixture(scope="module")
def embedded(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Surroundings]:
    folder = tmp_path_factory.mktemp("fault")
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as milvus:
        direct = Addresses(postgres=as_url(module_database_url), milvus=milvus.uri)
        with surroundings(direct, folder) as made:
            yield made


@pytest.fixture(scope="module")
def servers(
    postgres_url: str,
    ledger_template: str,
    milvus_uri: str,
    elasticsearch_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Surroundings]:
    """With a ledger of its own: the one beside it owes these indexes nothing."""
    with fresh_database(postgres_url, ledger_template) as database:
        direct = Addresses(
            postgres=as_url(database), milvus=milvus_uri, elasticsearch=elasticsearch_url
        )
        with surroundings(direct, tmp_path_factory.mktemp("fault")) as made:
            yield made
