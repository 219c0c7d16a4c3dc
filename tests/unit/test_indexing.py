"""Shards, rests and late writes: what decides about index work, without any store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.main import build
from cluster.errors import InvalidRequest, InvalidSettings
from cluster.indexer import FIRST_TRY_REST, MAX_TRY_REST, try_rest
from cluster.indexing.late_writes import LateWrites
from cluster.settings import IndexerSettings, Settings
from cluster.stack.indexer_process import serve
from cluster.stores.slots import EVERY_SLOT, SLOTS, shard_slots, slot_leases, slot_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@given(st.integers(1, SLOTS))
def test_shards_divide_the_slots(count: int) -> None:
    shards = [shard_slots(shard, of=count) for shard in range(count)]
    assert sorted(slot for slots in shards for slot in slots) == list(EVERY_SLOT)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@given(st.integers(1, SLOTS), st.integers(1, SLOTS), st.data())
def test_shards_of_other_counts_exclude_each_other(one: int, two: int, data: st.DataObject) -> None:
    """Processes that were started with different counts never drain one slot at once."""
    slots = shard_slots(data.draw(st.integers(0, one - 1)), of=one)
    others = shard_slots(data.draw(st.integers(0, two - 1)), of=two)
    shared = set(slot_leases(slots)) & set(slot_leases(others))
    assert bool(shared) == bool(set(slots) & set(others))


def test_one_shard_excludes_the_lease_of_before_there_were_any() -> None:
    assert "indexer" in slot_leases(shard_slots(0, of=1))


@pytest.mark.parametrize(("shard", "of"), [(-1, 2), (2, 2), (0, SLOTS + 1), (0, 0)])
def test_a_shard_that_cannot_be(shard: int, of: int) -> None:
    with pytest.raises(InvalidRequest):
        shard_slots(shard, of=of)


@given(st.text())
def test_every_key_has_a_slot(key: str) -> None:
    assert slot_of(key) in EVERY_SLOT
    assert slot_of(key) == slot_of(key)


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_rests_grow_until_it_is_set_aside(attempts: int, most: int) -> None:
    rest = try_rest(attempts, max_attempts=most)
    assert (rest is None) == (attempts >= most)
    if rest is not None:
        assert FIRST_TRY_REST <= rest <= MAX_TRY_REST
        assert rest == min(MAX_TRY_REST, FIRST_TRY_REST * 2 ** min(attempts - 1, 30))


def test_a_late_write_is_owed_when_it_is_due_and_only_once() -> None:
    late = LateWrites()
    late.may_arrive(["b", "a"], until=NOW + timedelta(seconds=60))
    late.may_arrive(["b"], until=NOW)
    late.may_arrive(["c"], until=NOW)
    assert late.due(NOW) == ["c"]
    late.owed(["c"])
    assert late.due(NOW) == []
    assert late.due(NOW + timedelta(seconds=60)) == ["a", "b"]


def test_the_embedded_text_index_has_one_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    sharded = Settings(indexer=IndexerSettings(shards=2))
    with pytest.raises(InvalidSettings, match="one writer"):
        asyncio.run(serve(sharded, None))
    monkeypatch.setenv("PALIMPSEST_TEXT_INDEX__BACKEND", "tantivy")
    answer = CliRunner().invoke(build(), ["indexer"])
    assert isinstance(answer.exception, InvalidSettings)
    assert "palimpsest up" in str(answer.exception)
