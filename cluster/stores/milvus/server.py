"""What does this server support? Milvus Lite, 2.3 and later servers differ where it matters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cluster.settings import MilvusSettings

WITH_INVERTED = (2, 4)
"""2.3 refuses INVERTED indexes."""

WITH_SOUND_PARTITIONS = (2, 4)
"""The upsert of 2.3 misplaces rows of a collection with a partition key, so that filters lose
them. (To delete and insert instead hides a row from most searches for as long as it is being
written again and again; an upsert swaps it.)"""

WITH_INDEXED_LISTS = (2, 5)
"""Servers before it refuse an index on a list of texts."""

NEWEST = (99, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`version` is (major, minor)."""

    lite: bool
    version: tuple[int, int]

    @property
    def scalar_index(self) -> str:
        """The type of index on filter fields; empty: whatever the server thinks right."""
        return "INVERTED" if self.lite or self.version >= WITH_INVERTED else ""

    @property
    def partitions_tenants(self) -> bool:
        return self.lite or self.version >= WITH_SOUND_PARTITIONS

    @property
    def tags_as(self) -> Literal["array", "digests"]:
        """Milvus Lite looks into arrays row by row in Python, which costs seconds; a pattern
        over a text of digests is evaluated by column."""
        return "digests" if self.lite else "array"

    @property
    def indexes_tags(self) -> bool:
        """A pattern over digests uses no index."""
        return not self.lite and self.version >= WITH_INDEXED_LISTS

    def vector_index(self, settings: MilvusSettings) -> tuple[str, dict[str, Any]]:
        """Type and build parameters.

        A server gets HNSW and itself turns to an exact scan where a filter leaves little.
        Milvus Lite does not: its HNSW walks past a narrow filter (recall 0.57 where 5 % of
        the rows match, 0.1 where 60 of 20,000 do), and building it takes seconds of both
        cores after every merge of segments. One inverted list that is read whole is exact
        for every filter, takes 2 ms for 20,000 rows, and is built at once. (Lite reads build
        parameters from `params` only, where servers take them beside it.)
        """
        if self.lite:
            return "IVF_FLAT", {"params": {"nlist": 1}}
        return "HNSW", {"M": settings.hnsw_m, "efConstruction": settings.hnsw_ef_construction}

    def search_params(self, settings: MilvusSettings, *, limit: int) -> Mapping[str, int]:
        """An `ef` below the limit is an error on servers."""
        return {"nprobe": 1} if self.lite else {"ef": max(settings.hnsw_ef, limit)}


def detect(version: str) -> Server:
    """From the server's own words, e.g. `v2.3.5`, `2.6.1-dev`, `milvus_lite-3.2.2`. A name
    without a number (a build from a branch) is taken for the newest. `v2.3.5-lite` is the
    whole standalone server in a Python package, not Milvus Lite."""
    found = re.search(r"(\d+)\.(\d+)", version)
    numbers = (int(found[1]), int(found[2])) if found else NEWEST
    return Server(lite=version.lower().startswith("milvus_lite"), version=numbers)
