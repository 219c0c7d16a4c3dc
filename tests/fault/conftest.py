"""The stores behind proxies: those of one machine, and the servers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract.milvus_lite import milvus_lite
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
    module_database_url: str,
    milvus_uri: str,
    elasticsearch_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Surroundings]:
    direct = Addresses(
        postgres=as_url(module_database_url), milvus=milvus_uri, elasticsearch=elasticsearch_url
    )
    with surroundings(direct, tmp_path_factory.mktemp("fault")) as made:
        yield made
