"""What is asked of which Milvus, how are its errors told, and what reaches it in one message?"""

from __future__ import annotations

import grpc  # type: ignore[import-untyped]  # has no types
import pytest
from pymilvus import DataType  # type: ignore[import-untyped]  # has no types
from pymilvus.exceptions import (  # type: ignore[import-untyped]  # has no types
    ConnectError,
    MilvusException,
)

from cluster.errors import StoreError, StoreRejected, StoreUnavailable
from cluster.filters import FIELDS
from cluster.model import Generation
from cluster.settings import MilvusSettings
from cluster.stores.milvus.errors import is_not_loaded, translated
from cluster.stores.milvus.filters import NO_FLAG, NO_MOMENT, NO_NUMBER
from cluster.stores.milvus.schema import collection_name, collection_schema, entity
from cluster.stores.milvus.server import Server, detect
from contract.vector_index import DIM, row

LITE = detect("milvus_lite-3.2.2")


class TestServer:
    @pytest.mark.parametrize(
        ("words", "server"),
        [
            ("milvus_lite-3.2.2", Server(lite=True, version=(3, 2))),
            ("v2.3.5", Server(lite=False, version=(2, 3))),
            ("v2.3.5-lite", Server(lite=False, version=(2, 3))),
            ("2.6.1-dev", Server(lite=False, version=(2, 6))),
            ("v2.10.0", Server(lite=False, version=(2, 10))),
            ("master-a1", Server(lite=False, version=(99, 0))),
        ],
    )
    def test_is_known_by_its_own_words(self, words: str, server: Server) -> None:
        assert detect(words) == server

    def test_only_old_servers_need_their_ways_around(self) -> None:
        old, new = detect("v2.3.5"), detect("v2.10.0")
        assert (old.scalar_index, new.scalar_index, LITE.scalar_index) == (
            "",
            "INVERTED",
            "INVERTED",
        )
        kept = [server.partitions_tenants for server in (old, new, LITE)]
        assert kept == [False, True, True]
        assert [server.indexes_tags for server in (old, new, LITE)] == [False, True, False]

    def test_a_server_gets_hnsw_as_the_settings_say(self) -> None:
        settings = MilvusSettings(hnsw_m=24, hnsw_ef_construction=99, hnsw_ef=64)
        server = detect("v2.6.0")
        assert server.vector_index(settings) == ("HNSW", {"M": 24, "efConstruction": 99})
        assert server.search_params(settings, limit=10) == {"ef": 64}
        assert server.search_params(settings, limit=200) == {"ef": 200}

    def test_milvus_lite_scans_exactly(self) -> None:
        kind, params = LITE.vector_index(MilvusSettings())
        assert (kind, params) == ("IVF_FLAT", {"params": {"nlist": 1}})
        assert LITE.search_params(MilvusSettings(), limit=50) == {"nprobe": 1}


class TestSchema:
    @pytest.mark.parametrize("server", [LITE, detect("v2.3.5"), detect("v2.6.0")])
    def test_every_filter_field_is_a_typed_column(self, server: Server) -> None:
        schema = collection_schema(DIM, server=server)
        types = {field.name: field.dtype for field in schema.fields}
        assert types.keys() == {"chunk_id", "version", "vector", *FIELDS}
        assert not schema.enable_dynamic_field
        assert types["updated_at"] == DataType.INT64
        assert types["tags"] == (DataType.VARCHAR if server.lite else DataType.ARRAY)
        parted = [field.name for field in schema.fields if field.is_partition_key]
        assert parted == (["tenant"] if server.partitions_tenants else [])

    def test_what_is_missing_is_a_sentinel(self) -> None:
        held = entity(row("c", "t"), tags_as="array")
        assert held.keys() == {"chunk_id", "version", "vector", *FIELDS}
        assert (held["authority"], held["said_at"]) == (NO_NUMBER, NO_MOMENT)
        assert (held["newest_edition"], held["owner"], held["tags"]) == (NO_FLAG, "", [])

    def test_a_collection_is_named_by_the_fingerprint_alone(self) -> None:
        def named(fingerprint: str, dim: int = DIM) -> str:
            return collection_name(Generation(fingerprint=fingerprint, dim=dim, recipe={}))

        assert named("e5:int8") == named("e5:int8", 384) != named("e5:fp32")
        assert named("any text / 中文").isascii()
        assert named("x").startswith("chunks_")
        assert len(named("x")) == len("chunks_") + 12


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            (MilvusException(code=1100, message="bad filter"), StoreRejected),
            (MilvusException(code=8, message="rate"), StoreUnavailable),
            (MilvusException(code=5, message="moving", retriable=True), StoreUnavailable),
            (MilvusException(code=1, message="[search] Retry timeout: 10s"), StoreUnavailable),
            (MilvusException(code=grpc.StatusCode.UNAVAILABLE, message="x"), StoreUnavailable),
            (ConnectError(message="refused"), StoreUnavailable),
            (TimeoutError(), StoreUnavailable),
            (ConnectionResetError(), StoreUnavailable),
        ],
    )
    def test_each_has_a_name_and_keeps_its_cause(
        self, error: Exception, kind: type[StoreError]
    ) -> None:
        with pytest.raises(kind, match="milvus: search x") as told, translated("search x"):
            raise error
        assert type(told.value) is kind
        assert told.value.__cause__ is error

    def test_errors_of_our_own_making_pass(self) -> None:
        with pytest.raises(ZeroDivisionError), translated("search x"):
            _ = 1 / 0

    def test_a_collection_that_waits_to_be_loaded_is_told_apart(self) -> None:
        for code, expected in ((101, True), (100, False)):
            with pytest.raises(StoreRejected) as told, translated("search x"):
                raise MilvusException(code=code, message="not loaded")
            assert is_not_loaded(told.value) is expected
