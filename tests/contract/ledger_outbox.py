"""What every ledger must do about owed index work: turns, targets, failures, slots, leases."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.protocols import Failure, Ledger, OutboxEntry, Prepared
from cluster.stores.slots import EVERY_SLOT
from contract.samples import FINGERPRINT, NOW, chunk_ids, prepared, put, vectors_of

LATER = NOW + timedelta(hours=1)
ACME = Scope(tenant="acme")


async def taken(ledger: Ledger, **asked: object) -> list[OutboxEntry]:
    async with ledger.transaction() as tx:
        return await tx.outbox.take(**{"limit": 100, **asked})  # type: ignore[arg-type]


async def fail(ledger: Ledger, *entries: OutboxEntry, rest: timedelta | None) -> None:
    failures = [
        Failure(entry=entry, reason="too \0 long", not_before=None if rest is None else NOW + rest)
        for entry in entries
    ]
    async with ledger.transaction() as tx:
        await tx.outbox.failed(failures, now=NOW)


class OutboxContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_tenants_take_turns(self, ledger: Ledger) -> None:
        many = [prepared(f"{number}.md", f"text {number}", pieces=5) for number in range(6)]
        few = prepared("few.md", "few words", tenant="globex")
        await put(ledger, *many)
        await put(ledger, few)
        first = await taken(ledger, limit=4)
        assert {entry.chunk_id for entry in first} > set(chunk_ids(few))
        assert [entry.chunk_id for entry in first][::2] == [
            entry.chunk_id for entry in await taken(ledger) if entry.chunk_id not in chunk_ids(few)
        ][:2]

    async def test_with_very_many_tenants_each_gets_something(self, ledger: Ledger) -> None:
        batch = [
            prepared("a.md", f"text {number}", pieces=4, tenant=f"tenant {number}")
            for number in range(12)
        ]
        await put(ledger, *batch)
        first = await taken(ledger, limit=12)
        owners = {chunk: one.revision.tenant for one in batch for chunk in chunk_ids(one)}
        assert len({owners[entry.chunk_id] for entry in first}) == 12
        seen: set[str] = set()
        while entries := await taken(ledger, limit=12):
            async with ledger.transaction() as tx:
                await tx.outbox.done(entries)
            seen |= {entry.chunk_id for entry in entries}
        assert seen == set(chunk_ids(*batch))

    async def test_an_entry_of_one_generation_is_beside_the_other(self, ledger: Ledger) -> None:
        one = prepared()
        await put(ledger, one)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one), target="newer")
            await tx.outbox.owe(chunk_ids(one)[:1], target="newest")
            versions = [work.row and work.row.version for work in await tx.outbox.work(ids(one))]
        assert len(await taken(ledger)) == 5
        assert {entry.target for entry in await taken(ledger, targets=[])} == {""}
        known = await taken(ledger, targets=["newest", "other"])
        assert sorted(entry.target for entry in known) == ["", "", "newest"]
        async with ledger.transaction() as tx:
            await tx.outbox.done([entry for entry in known if not entry.target])
            assert list(await tx.documents.publishable(limit=9)) == [one.revision.revision_id]
            assert (await tx.outbox.lag())[0] == 3
            again = [work.row and work.row.version for work in await tx.outbox.work(ids(one))]
            assert again == versions
            assert await tx.outbox.drop_target("newer") == 2
            assert await tx.outbox.drop_target("newer") == 0
        (left,) = await taken(ledger)
        assert (left.target, left.operation) == ("newest", "upsert")
        async with ledger.transaction() as tx:
            await tx.outbox.done([left])
        assert await taken(ledger) == []

    async def test_owing_one_generation_anew_spares_it_from_done(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one), target="newer")
        (entry,) = await taken(ledger)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one), target="newer")
            await tx.outbox.done([entry])
        (left,) = await taken(ledger)
        assert (left.entry_id, left.version > entry.version) == (entry.entry_id, True)

    async def test_a_target_has_a_name_and_ids_are_needed(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            for asked in (([], "newer"), (["chk"], "")):
                with pytest.raises(InvalidRequest):
                    await tx.outbox.owe(asked[0], target=asked[1])
            with pytest.raises(InvalidRequest):
                await tx.outbox.drop_target("")
            with pytest.raises(InvalidRequest):
                await tx.outbox.failed([], now=NOW)
            with pytest.raises(InvalidRequest):
                await tx.outbox.retry([])

    async def test_work_has_the_vectors_that_are_asked_for(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        await put(ledger, one)
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint="newer")
            (both,) = await tx.outbox.work(ids(one))
            (newer,) = await tx.outbox.work(ids(one), fingerprints=["newer", "other"])
            (none,) = await tx.outbox.work(ids(one), fingerprints=[])
        assert set(both.vectors) == {FINGERPRINT, "newer"}
        assert set(newer.vectors) == {"newer"}
        assert none.vectors == {}
        assert none.row is not None

    async def test_a_failed_entry_rests(self, ledger: Ledger) -> None:
        one = prepared()
        await put(ledger, one)
        first, second = await taken(ledger)
        await fail(ledger, first, rest=timedelta(minutes=1))
        assert await taken(ledger, now=NOW) == [second]
        again = await taken(ledger, now=NOW + timedelta(minutes=1))
        assert [entry.attempts for entry in again] == [1, 0]
        await fail(ledger, again[0], rest=timedelta(minutes=2))
        (tried, _) = await taken(ledger)
        assert tried.attempts == 2
        async with ledger.transaction() as tx:
            assert (await tx.outbox.lag())[0] == 2
            assert await tx.documents.publishable(limit=9) == {}

    async def test_what_is_set_aside_is_told_and_retried(self, ledger: Ledger) -> None:
        one, two = prepared("one.md", tenant="acme"), prepared("two.md", tenant="globex")
        await put(ledger, one)
        await put(ledger, two)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one)[:1], target="newer")
        entries = await taken(ledger)
        wrong = [entry for entry in entries if entry.chunk_id in (ids(one)[0], ids(two)[0])]
        await fail(ledger, *wrong, rest=None)
        left = await taken(ledger, now=LATER)
        assert {entry.chunk_id for entry in left} == {ids(one)[1], ids(two)[1]}
        async with ledger.transaction() as tx:
            assert (await tx.outbox.lag())[0] == 2
            assert [await tx.outbox.aside(of) for of in (None, "acme", "globex")] == [3, 2, 1]
            told = await tx.outbox.set_aside(limit=9)
            (of_globex,) = await tx.outbox.set_aside(limit=9, tenant="globex")
            assert len(await tx.outbox.set_aside(limit=2)) == 2
        assert {(each.chunk_id, each.target) for each in told} == {
            (ids(one)[0], ""),
            (ids(one)[0], "newer"),
            (ids(two)[0], ""),
        }
        assert of_globex.document_id == two.revision.document_id
        assert of_globex.revision_id == two.revision.revision_id
        assert (of_globex.path, of_globex.revision_state) == ("two.md", "pending")
        assert (of_globex.attempts, of_globex.since) == (1, NOW)
        assert of_globex.reason == "too \\x00 long"
        async with ledger.transaction() as tx:
            assert await tx.outbox.retry(["chk_other"]) == 0
            assert await tx.outbox.retry(tenant="globex") == 1
            assert await tx.outbox.retry(ids(one)) == 2
            assert await tx.outbox.retry() == 0
            assert await tx.outbox.aside() == 0
        assert {entry.attempts for entry in await taken(ledger, now=NOW)} == {0}
        assert len(await taken(ledger)) == 5

    async def test_owed_anew_is_forgiven(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        await put(ledger, one)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one), target="newer")
        before = await taken(ledger)
        await fail(ledger, *before, rest=None)
        async with ledger.transaction() as tx:
            await tx.documents.requeue(ids(one))
            await tx.outbox.owe(ids(one), target="newer")
            assert await tx.outbox.aside() == 0
            assert await tx.outbox.set_aside(limit=9) == []
        after = await taken(ledger, now=NOW)
        assert [(entry.entry_id, entry.attempts) for entry in after] == [
            (entry.entry_id, 0) for entry in before
        ]
        # What was taken before tells nothing about what is owed now.
        await fail(ledger, *before, rest=None)
        assert await taken(ledger, now=NOW) == after
        await fail(ledger, *after, rest=timedelta(minutes=1))
        assert {entry.attempts for entry in await taken(ledger)} == {1}

    async def test_what_is_owed_to_single_generations_takes_its_turn(self, ledger: Ledger) -> None:
        many = [prepared(f"{number}.md", f"text {number}") for number in range(4)]
        await put(ledger, *many)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(many[0]), target="newer")
            await tx.outbox.owe(chunk_ids(many[1]), target="newest")
        for limit in (2, 4, 8):
            targets = [entry.target for entry in await taken(ledger, limit=limit)]
            assert targets.count("") == limit // 2

    async def test_set_aside_the_longest_first_and_taken_by_nobody(self, ledger: Ledger) -> None:
        one = prepared(pieces=3)
        await put(ledger, one)
        first, second, third = await taken(ledger)
        for entry, at in ((third, NOW), (first, LATER)):
            async with ledger.transaction() as tx:
                failure = Failure(entry=entry, reason="no", not_before=None)
                await tx.outbox.failed([failure], now=at)
        async with ledger.transaction() as tx:
            told = await tx.outbox.set_aside(limit=9)
        assert [(each.chunk_id, each.since) for each in told] == [
            (third.chunk_id, NOW),
            (first.chunk_id, LATER),
        ]
        for now in (None, LATER + LATER.resolution):
            assert await taken(ledger, now=now) == [second]

    async def test_a_chunk_that_is_gone_is_told_too(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            await tx.documents.requeue(["chk_ghost"])
        await fail(ledger, *await taken(ledger), rest=None)
        async with ledger.transaction() as tx:
            (told,) = await tx.outbox.set_aside(limit=9)
        assert (told.chunk_id, told.tenant, told.path) == ("chk_ghost", "", None)

    async def test_slots_divide_the_work(self, ledger: Ledger) -> None:
        batch = [
            prepared(f"{number}.md", f"text number {number:04}", pieces=4) for number in range(20)
        ]
        await put(ledger, *batch)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(*batch[:9]), target="newer")
        parts = [await taken(ledger, limit=999, slots=[slot]) for slot in EVERY_SLOT]
        whole = await taken(ledger, limit=999)
        assert len(whole) == 80 + 36
        assert sum(map(len, parts)) == len(whole)
        assert {entry.entry_id for part in parts for entry in part} == {
            entry.entry_id for entry in whole
        }
        slot_of = {entry.chunk_id: slot for slot, part in enumerate(parts) for entry in part}
        assert all(
            slot_of[entry.chunk_id] == slot for slot, part in enumerate(parts) for entry in part
        )
        assert sum(bool(part) for part in parts) > 8
        both = await taken(ledger, limit=999, slots=[1, 2])
        assert len(both) == len(parts[1]) + len(parts[2])

    async def test_slots_divide_what_is_publishable(self, ledger: Ledger) -> None:
        batch = [prepared(f"{number}.md", f"text {number}", pieces=1) for number in range(40)]
        await put(ledger, *batch)
        async with ledger.transaction() as tx:
            await tx.outbox.done(await tx.outbox.take(limit=999))
            parts = [
                set(await tx.documents.publishable(limit=99, slots=[slot])) for slot in EVERY_SLOT
            ]
            whole = set(await tx.documents.publishable(limit=99))
        assert len(whole) == 40
        assert set().union(*parts) == whole
        assert sum(map(len, parts)) == 40

    async def test_a_lease_of_several_names_is_had_whole(self, ledger: Ledger) -> None:
        async with asyncio.timeout(20):
            async with ledger.lease("a", "b"):
                async with ledger.lease_any([["b", "c"], ["c", "d"], ["e"]]) as (at, lease):
                    assert at == 1
                    await lease.check()
                    async with ledger.lease_any([["c"], ["e"]]) as (other, _):
                        assert other == 1
                waiting = asyncio.create_task(held(ledger, "c", "b"))
                await asyncio.sleep(0.7)
                assert not waiting.done()
                # While it waits for one of them it holds none.
                async with ledger.lease("c"):
                    pass
            await waiting
            async with ledger.lease("a", "b", "c", "d", "e"):
                pass

    async def test_what_is_done_is_counted(self, ledger: Ledger) -> None:
        async def total() -> int:
            async with ledger.transaction() as tx:
                return await tx.outbox.done_total()

        before = await total()
        one = prepared(pieces=3)
        await put(ledger, one)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one)[:1], target="newer")
            await tx.outbox.done(await tx.outbox.take(limit=9))
        async with asyncio.timeout(10):
            while await total() < before + 4:  # noqa: ASYNC110 - counted a little later
                await asyncio.sleep(0.1)
        assert await total() == before + 4


async def held(ledger: Ledger, *names: str) -> None:
    async with ledger.lease(*names):
        return


def ids(one: Prepared) -> list[str]:
    return chunk_ids(one)
