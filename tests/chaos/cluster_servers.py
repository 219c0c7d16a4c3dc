"""The servers of a cluster: PostgreSQL, Milvus and Elasticsearch, as the tests start them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx
from psycopg.conninfo import conninfo_to_dict

from chaos.servers import emptied, without_collections
from cluster.stack.postgres_process import server_version
from servers.elasticsearch import ElasticsearchServer
from servers.milvus import MilvusServer
from servers.postgres import PostgresServer


class ClusterPostgres(PostgresServer):
    name = "postgres"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, major=server_version())
        self._database = "postgres"

    @property
    def environ(self) -> Mapping[str, str]:
        told = conninfo_to_dict(self.url)
        place = f"{told['user']}@{told['host']}:{told['port']}"
        return {"PALIMPSEST_POSTGRES__URL": f"postgresql://{place}/{self._database}"}

    def empty(self) -> None:
        self._database = emptied(self.url)


class ClusterMilvus(MilvusServer):
    name = "milvus"

    @property
    def environ(self) -> Mapping[str, str]:
        return {"PALIMPSEST_MILVUS__URI": self.uri}

    def empty(self) -> None:
        without_collections(self.uri)


class ClusterElasticsearch(ElasticsearchServer):
    name = "elasticsearch"

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "PALIMPSEST_TEXT_INDEX__BACKEND": "elasticsearch",
            "PALIMPSEST_TEXT_INDEX__URL": self.url,
        }

    def empty(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            for one in client.get("/_cat/indices?format=json").raise_for_status().json():
                client.delete(f"/{one['index']}").raise_for_status()
