"""What every vector index does, sentence by sentence of `cluster.stores.protocols`."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from cluster.errors import InvalidRequest, StoreRejected
from cluster.filters import (
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    matches,
    scoped,
)
from cluster.model import FieldValue, IndexRow, Scope, Vector
from cluster.stores.protocols import VectorIndex, VectorRow

DIM = 8

HOSTILE = (
    "plain",
    'a "quoted" word',
    "it's",
    "back\\slash",
    "trailing\\",
    "two\nlines\r\n",
    "tab\there",
    "100%",
    "under_score",
    "%",
    "_",
    "|",
    "日本語と中文",
    "🙂👨‍👩‍👧",
    "e\u0301 and \u00e9",
    "\u202eright to left",
    " leading and trailing ",
    "UPPER",
    "upper",
    "0",
    "null",
    "a\x01b\x7f",
    '") or (tenant != "',
    '"] or true or kind in ["',
    "{template}",
    "$meta",
    "\ufffd\U0010ffff",
    "x" * 4096,
    "中" * 1365,
)

JUST_TOO_LONG = "x" * 4097


def vector(seed: int) -> Vector:
    raw = np.random.default_rng(seed).normal(size=DIM)
    return (raw / np.linalg.norm(raw)).astype(np.float32)


def row(
    chunk_id: str,
    tenant: str,
    *,
    seed: int = 0,
    version: int = 1,
    at: Vector | None = None,
    **fields: FieldValue,
) -> VectorRow:
    return row_with(chunk_id, tenant, fields, seed=seed, version=version, at=at)


def row_with(
    chunk_id: str,
    tenant: str,
    fields: Mapping[str, FieldValue],
    *,
    seed: int = 0,
    version: int = 1,
    at: Vector | None = None,
) -> VectorRow:
    held = {"tenant": tenant, **fields}
    index_row = IndexRow(chunk_id=chunk_id, version=version, fields=held)
    return VectorRow(row=index_row, vector=vector(seed) if at is None else at)


def towards(cosine: float) -> Vector:
    """A unit vector with this cosine to the first axis."""
    found = np.zeros(DIM, dtype=np.float32)
    found[0] = cosine
    found[1] = np.sqrt(1 - cosine**2)
    return found


async def ids_where(
    index: VectorIndex, tenant: str, where: Filter | None, *, limit: int = 1000
) -> set[str]:
    found = await index.search(vector(0), scope=Scope(tenant=tenant), where=where, limit=limit)
    return {chunk_id for chunk_id, _ in found}


class VectorIndexContract:
    """Subclasses supply `index`, of `DIM` dimensions, which the tests of a class share; each
    test has a tenant of its own."""

    settles_within_s = 0.0
    """How long after a write a search may still read what was before; 0: not at all."""

    async def upsert(self, index: VectorIndex, rows: Sequence[VectorRow]) -> None:
        await index.upsert(rows)
        await self.settled(index, {row.row.chunk_id: row.row.version for row in rows})

    async def delete(self, index: VectorIndex, chunk_ids: Sequence[str]) -> None:
        await index.delete(chunk_ids)
        await self.settled(index, dict.fromkeys(chunk_ids))

    async def settled(self, index: VectorIndex, wanted: Mapping[str, int | None]) -> None:
        """Returns when searches read these versions; `None` is a row that is gone."""
        until = time.monotonic() + self.settles_within_s
        while self.settles_within_s:
            found = await index.versions(list(wanted))
            if all(found.get(chunk_id) == version for chunk_id, version in wanted.items()):
                return
            assert time.monotonic() < until, "what was written does not become searchable"
            await asyncio.sleep(0.05)

    @pytest.fixture
    def tenant(self) -> str:
        return f"t-{uuid.uuid4().hex}"

    # upsert

    async def test_rows_come_back_nearest_first(self, index: VectorIndex, tenant: str) -> None:
        cosines = (0.1, 0.9, -0.5, 0.5)
        rows = [row(f"{tenant}-{at}", tenant, at=towards(at)) for at in cosines]
        await self.upsert(index, rows)
        found = await index.search(towards(1.0), scope=Scope(tenant=tenant), where=None, limit=10)
        assert [chunk_id for chunk_id, _ in found] == [
            f"{tenant}-{at}" for at in (0.9, 0.5, 0.1, -0.5)
        ]
        assert [score for _, score in found] == pytest.approx([0.9, 0.5, 0.1, -0.5], abs=1e-5)

    async def test_a_repeated_id_replaces_row_vector_and_fields(
        self, index: VectorIndex, tenant: str
    ) -> None:
        await self.upsert(index, [row(f"{tenant}-a", tenant, at=towards(1.0), product="old")])
        await self.upsert(
            index, [row(f"{tenant}-a", tenant, at=towards(0.2), version=2, product="new")]
        )
        assert await index.versions([f"{tenant}-a"]) == {f"{tenant}-a": 2}
        assert await ids_where(index, tenant, Eq("product", "old")) == set()
        [(_, score)] = await index.search(
            towards(1.0), scope=Scope(tenant=tenant), where=Eq("product", "new"), limit=5
        )
        assert score == pytest.approx(0.2, abs=1e-5)

    async def test_a_row_that_is_being_replaced_is_never_absent(
        self, index: VectorIndex, tenant: str
    ) -> None:
        names = {f"{tenant}-{n}" for n in range(20)}
        await self.upsert(index, [row(name, tenant, version=0) for name in names])
        found: list[set[str]] = []

        async def read() -> None:
            while not writing.done():
                found.append(await ids_where(index, tenant, None, limit=50))
                await asyncio.sleep(0)

        async def write() -> None:
            for version in range(1, 30):
                await index.upsert([row(name, tenant, version=version) for name in names])

        writing = asyncio.create_task(write())
        await read()
        await writing
        assert found
        assert all(seen == names for seen in found)

    async def test_a_field_that_is_gone_is_gone(self, index: VectorIndex, tenant: str) -> None:
        await self.upsert(
            index, [row(f"{tenant}-a", tenant, author="Ada", tags=("x",), authority=0.5)]
        )
        await self.upsert(index, [row(f"{tenant}-a", tenant, version=2)])
        gone = AllOf((Missing("author"), Missing("tags"), Missing("authority")))
        assert await ids_where(index, tenant, gone) == {f"{tenant}-a"}

    async def test_the_last_of_a_batch_wins(self, index: VectorIndex, tenant: str) -> None:
        versions = (3, 1, 2)
        await self.upsert(index, [row(f"{tenant}-a", tenant, version=v) for v in versions])
        assert await index.versions([f"{tenant}-a"]) == {f"{tenant}-a": 2}
        assert await ids_where(index, tenant, None) == {f"{tenant}-a"}

    @pytest.mark.parametrize(
        "broken",
        [
            np.zeros(DIM + 1, dtype=np.float32) + 0.3,
            np.full(DIM, np.nan, dtype=np.float32),
            np.full(DIM, np.inf, dtype=np.float32),
            np.zeros(DIM, dtype=np.float32),
            towards(0.5) * np.float32(1.02),
            towards(0.5) * np.float32(0.98),
            towards(0.5).reshape(1, DIM),
        ],
        ids=["dimension", "nan", "infinity", "zero", "too long", "too short", "shape"],
    )
    async def test_a_broken_vector_refuses_the_whole_call_and_names_the_chunk(
        self, index: VectorIndex, tenant: str, broken: Vector
    ) -> None:
        good = [row(f"{tenant}-{n}", tenant, seed=n) for n in range(3)]
        with pytest.raises(StoreRejected, match=f"{tenant}-bad"):
            await self.upsert(index, [*good, row(f"{tenant}-bad", tenant, at=broken)])
        assert await ids_where(index, tenant, None) == set()

    async def test_a_norm_within_a_hundredth_is_taken(
        self, index: VectorIndex, tenant: str
    ) -> None:
        await self.upsert(index, [row(f"{tenant}-a", tenant, at=towards(0.5) * np.float32(1.005))])
        [(_, score)] = await index.search(
            towards(1.0), scope=Scope(tenant=tenant), where=None, limit=1
        )
        assert score == pytest.approx(0.5, abs=1e-5)

    @pytest.mark.parametrize("chunk_id", ["", "x" * 129], ids=["empty", "too long"])
    async def test_an_unusable_id_is_refused(
        self, index: VectorIndex, tenant: str, chunk_id: str
    ) -> None:
        with pytest.raises(StoreRejected, match="chunk id"):
            await self.upsert(index, [row(chunk_id, tenant)])

    async def test_empty_sequences_are_refused(self, index: VectorIndex) -> None:
        with pytest.raises(InvalidRequest):
            await self.upsert(index, [])
        with pytest.raises(InvalidRequest):
            await self.delete(index, [])
        with pytest.raises(InvalidRequest):
            await index.versions([])

    # delete

    @pytest.mark.parametrize("count", [1, 100, 101, 1001, 10_001])
    async def test_delete_and_versions_take_any_number_of_ids(
        self, index: VectorIndex, tenant: str, count: int
    ) -> None:
        here = [f"{tenant}-{n}" for n in range(0, count, max(1, count // 40))]
        await self.upsert(index, [row(name, tenant, seed=n) for n, name in enumerate(here)])
        await self.upsert(index, [row(f"{tenant}-stays", tenant)])
        asked = [f"{tenant}-{n}" for n in range(count)]
        assert await index.versions(asked) == dict.fromkeys(here, 1)
        await self.delete(index, asked)
        assert await index.versions(asked) == {}
        assert await ids_where(index, tenant, None) == {f"{tenant}-stays"}

    async def test_deleting_an_unknown_or_impossible_id_is_no_error(
        self, index: VectorIndex, tenant: str
    ) -> None:
        impossible = ["never", "\0", "\ud800", 'x"] or chunk_id != "', "x" * 5000]
        await self.upsert(index, [row(f"{tenant}-a", tenant)])
        await self.delete(index, impossible)
        assert await index.versions([*impossible, f"{tenant}-a"]) == {f"{tenant}-a": 1}

    async def test_a_deleted_row_can_come_back(self, index: VectorIndex, tenant: str) -> None:
        await self.upsert(index, [row(f"{tenant}-a", tenant)])
        await self.delete(index, [f"{tenant}-a"])
        await self.upsert(index, [row(f"{tenant}-a", tenant, version=3)])
        assert await index.versions([f"{tenant}-a"]) == {f"{tenant}-a": 3}

    # search

    async def test_the_limit_keeps_the_best(self, index: VectorIndex, tenant: str) -> None:
        rows = [row(f"{tenant}-{n:03}", tenant, at=towards(n / 100)) for n in range(100)]
        await self.upsert(index, rows)
        found = await index.search(towards(1.0), scope=Scope(tenant=tenant), where=None, limit=7)
        assert [chunk_id for chunk_id, _ in found] == [
            f"{tenant}-{n:03}" for n in range(99, 92, -1)
        ]

    async def test_ties_come_in_the_order_of_their_ids(
        self, index: VectorIndex, tenant: str
    ) -> None:
        names = [f"{tenant}-{letter}" for letter in "dbca"]
        await self.upsert(index, [row(name, tenant, at=towards(0.7)) for name in names])
        found = await index.search(towards(1.0), scope=Scope(tenant=tenant), where=None, limit=4)
        assert [chunk_id for chunk_id, _ in found] == sorted(names)

    @pytest.mark.parametrize("limit", [0, -1, 16_385])
    async def test_a_limit_out_of_range_is_refused(
        self, index: VectorIndex, tenant: str, limit: int
    ) -> None:
        with pytest.raises(InvalidRequest, match="limit"):
            await index.search(vector(1), scope=Scope(tenant=tenant), where=None, limit=limit)

    async def test_a_broken_query_vector_is_refused(self, index: VectorIndex, tenant: str) -> None:
        with pytest.raises(StoreRejected, match="NaN"):
            await index.search(
                np.full(DIM, np.nan, dtype=np.float32),
                scope=Scope(tenant=tenant),
                where=None,
                limit=1,
            )

    async def test_a_tenant_without_rows_gets_nothing(
        self, index: VectorIndex, tenant: str
    ) -> None:
        assert await ids_where(index, tenant, None) == set()

    async def test_another_tenant_does_not_exist(self, index: VectorIndex, tenant: str) -> None:
        other = f"{tenant}-other"
        await self.upsert(index, [row(f"{tenant}-a", tenant), row(f"{tenant}-b", other)])
        assert await ids_where(index, tenant, None) == {f"{tenant}-a"}
        assert await ids_where(index, tenant, Eq("tenant", other)) == set()
        assert await ids_where(index, tenant, Not(Eq("tenant", tenant))) == set()
        anything = AnyOf((Eq("tenant", other), Not(Missing("tenant"))))
        assert await ids_where(index, tenant, anything) == {f"{tenant}-a"}

    async def test_rows_of_another_owner_do_not_exist(
        self, index: VectorIndex, tenant: str
    ) -> None:
        owners = {"shared": None, "ada": "ada", "bob": "bob"}
        await self.upsert(
            index, [row(f"{tenant}-{name}", tenant, owner=owner) for name, owner in owners.items()]
        )
        for asker, seen in ((None, ["shared"]), ("ada", ["shared", "ada"])):
            found = await index.search(
                vector(0), scope=Scope(tenant=tenant, owner=asker), where=None, limit=9
            )
            assert {name for name, _ in found} == {f"{tenant}-{name}" for name in seen}

    async def test_a_narrow_filter_finds_all_that_match(
        self, index: VectorIndex, tenant: str
    ) -> None:
        rows = [
            row(f"{tenant}-{n}", tenant, seed=n, document_id=f"doc-{n % 100}") for n in range(2000)
        ]
        await self.upsert(index, rows)
        await index.flush()
        wanted = {f"{tenant}-{n}" for n in range(7, 2000, 100)}
        assert await ids_where(index, tenant, Eq("document_id", "doc-7"), limit=20) == wanted

    # filters

    async def test_every_operator_agrees_with_matches_on_hostile_values(
        self, index: VectorIndex, tenant: str
    ) -> None:
        values = (*HOSTILE, JUST_TOO_LONG, "", None)
        rows = [
            row(
                f"{tenant}-{n:02}",
                tenant,
                seed=n,
                source_url=value,
                tags=(value, "second") if value else (),
            )
            for n, value in enumerate(values)
        ]
        await self.upsert(index, rows)
        wheres: list[Filter] = []
        for value in HOSTILE:
            for name in ("source_url", "tags"):
                wheres += [Eq(name, value), Not(Eq(name, value)), In(name, (value, "plain"))]
            wheres += [Range("source_url", gte=value), Range("source_url", lt=value)]
        for where in [*wheres, Missing("source_url"), Missing("tags"), Not(Missing("tags"))]:
            await self.check_against_matches(index, tenant, rows, where)

    async def test_numbers_moments_and_flags_agree_with_matches(
        self, index: VectorIndex, tenant: str
    ) -> None:
        moments = (-1.5, 0.0, 1_700_000_000.123, None)
        numbers = (-1.5, 0.0, 1e-7, 0.3, 2**53, 1e300, None)
        rows = [
            row(
                f"{tenant}-{a}-{b}",
                tenant,
                seed=a * 10 + b,
                authority=number,
                said_at=None if moment is None else int(moment * 1000),
                newest_edition=(True, False, None)[(a + b) % 3],
            )
            for a, moment in enumerate(moments)
            for b, number in enumerate(numbers)
        ]
        await self.upsert(index, rows)
        asked = [datetime.fromtimestamp(at, UTC) for at in moments if at is not None]
        wheres: list[Filter] = [In("authority", tuple(n for n in numbers if n is not None))]
        for number in (*(n for n in numbers if n is not None), -(2**53), 5e-324):
            wheres += [Eq("authority", number), Range("authority", gte=number)]
            wheres += [Range("authority", lt=number), Not(Range("authority", -1.5, number))]
        for moment in asked:
            wheres += [Eq("said_at", moment), Not(Eq("said_at", moment))]
            wheres += [Range("said_at", gte=moment), Range("said_at", lt=moment)]
        wheres += [In("said_at", tuple(asked)), Not(In("said_at", tuple(asked)))]
        for name in ("authority", "said_at", "newest_edition"):
            wheres += [Missing(name), Not(Missing(name))]
        wheres += [Eq("newest_edition", True), Not(Eq("newest_edition", True))]
        wheres += [Eq("newest_edition", False), In("newest_edition", (True, False))]
        for where in wheres:
            await self.check_against_matches(index, tenant, rows, where)

    async def test_ten_thousand_values_are_one_filter(
        self, index: VectorIndex, tenant: str
    ) -> None:
        await self.upsert(
            index, [row(f"{tenant}-{n}", tenant, seed=n, document_id=f"doc-{n}") for n in range(20)]
        )
        values = tuple(f"doc-{n}" for n in range(10, 10_010))
        found = await ids_where(index, tenant, In("document_id", values))
        assert found == {f"{tenant}-{n}" for n in range(10, 20)}

    async def check_against_matches(
        self, index: VectorIndex, tenant: str, rows: list[VectorRow], where: Filter
    ) -> None:
        inside = scoped(Scope(tenant=tenant), where)
        wanted = {r.row.chunk_id for r in rows if matches(inside, r.row.fields)}
        assert await ids_where(index, tenant, where) == wanted, where

    # versions, scan, flush, close

    async def test_versions_sees_rows_with_equal_vectors(
        self, index: VectorIndex, tenant: str
    ) -> None:
        names = [f"{tenant}-{n}" for n in range(50)]
        await self.upsert(
            index, [row(name, tenant, seed=3, version=n) for n, name in enumerate(names)]
        )
        assert await index.versions(names) == {name: n for n, name in enumerate(names)}

    async def test_versions_are_the_same_before_and_after_a_flush(
        self, index: VectorIndex, tenant: str
    ) -> None:
        names = [f"{tenant}-{n}" for n in range(300)]
        await self.upsert(index, [row(name, tenant, seed=n) for n, name in enumerate(names)])
        assert await index.versions(names) == dict.fromkeys(names, 1)
        await index.flush()
        assert await index.versions(names) == dict.fromkeys(names, 1)

    async def test_scan_gives_every_row_once(self, index: VectorIndex, tenant: str) -> None:
        names = {f"{tenant}-{n}": n for n in range(2500)}
        await self.upsert(
            index, [row(name, tenant, seed=n, version=n) for name, n in names.items()]
        )
        await self.delete(index, [f"{tenant}-7"])
        pairs = [pair async for batch in index.scan() for pair in batch]
        mine = [(name, version) for name, version in pairs if name.startswith(tenant)]
        assert len(mine) == len(set(mine)) == 2499
        assert dict(mine) == {name: n for name, n in names.items() if n != 7}

    async def test_a_flush_loses_nothing_and_may_be_repeated(
        self, index: VectorIndex, tenant: str
    ) -> None:
        await self.upsert(index, [row(f"{tenant}-a", tenant)])
        await index.flush()
        await index.flush()
        assert await ids_where(index, tenant, None) == {f"{tenant}-a"}
