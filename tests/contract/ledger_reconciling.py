"""What every ledger must tell to comparisons and rebuilds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.drift import KINDS, DriftReport, LedgerRow, StoreDrift
from cluster.stores.protocols import Failure, Ledger
from contract.samples import FINGERPRINT, NOW, chunk_ids, prepared, put, settle, show

LATER = NOW + timedelta(hours=1)
ACME = Scope(tenant="acme")
NEVER_KNOWN = LedgerRow(wanted=None, owed=False, changed_at=None)


def report(missing: int = 0) -> DriftReport:
    none = dict.fromkeys(KINDS, 0)
    return DriftReport(
        started_at=NOW,
        finished_at=LATER,
        wanted=4,
        stores=(
            StoreDrift(
                store="text",
                rows=3,
                drift=none | {"missing": missing},
                in_flight=none,
                examples={"missing": ("chk_a", "语")},
                error=None,
            ),
        ),
    )


class ReconcilingContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_wanted_rows_come_in_pages_by_id(self, ledger: Ledger) -> None:
        shown, pending = prepared("a.md"), prepared("b.md", "Other words. And more.")
        await show(ledger, shown)
        await put(ledger, pending)
        wanted = sorted(chunk_ids(shown, pending))
        async with ledger.transaction() as tx:
            assert await tx.reconciling.count() == len(wanted) == 4
            first = await tx.reconciling.page(after="", limit=3)
            rest = await tx.reconciling.page(after=first[-1][0], limit=3)
            assert await tx.reconciling.page(after=wanted[-1], limit=3) == []
        assert [chunk for chunk, _ in first + rest] == wanted
        states = dict(first + rest)
        async with ledger.transaction() as tx:
            told = await tx.reconciling.states(wanted)
        assert {chunk: row.wanted for chunk, row in told.items()} == states

    async def test_what_was_superseded_or_deleted_is_not_wanted(self, ledger: Ledger) -> None:
        old, new, gone = prepared(body="old words"), prepared(body="new words"), prepared("c.md")
        await show(ledger, old, gone)
        await show(ledger, new, now=LATER)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [gone.revision.document_id])
        async with ledger.transaction() as tx:
            wanted = [chunk for chunk, _ in await tx.reconciling.page(after="", limit=99)]
            states = await tx.reconciling.states([*chunk_ids(old, new, gone), "chk_foreign"])
        assert wanted == sorted(chunk_ids(new))
        assert {states[chunk].wanted for chunk in chunk_ids(old, gone)} == {None}
        assert {states[chunk].changed_at for chunk in chunk_ids(old, new)} == {LATER}
        assert states["chk_foreign"] == NEVER_KNOWN

    async def test_owed_until_the_work_is_done(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        ids = chunk_ids(one)
        async with ledger.transaction() as tx:
            mark = await tx.reconciling.newest_version()
            assert await tx.reconciling.owed_until(mark) == 2
            assert {row.owed for row in (await tx.reconciling.states(ids)).values()} == {True}
        await settle(ledger)
        async with ledger.transaction() as tx:
            assert await tx.reconciling.owed_until(mark) == 0
            assert {row.owed for row in (await tx.reconciling.states(ids)).values()} == {False}
            await tx.documents.requeue(ids)
            assert await tx.reconciling.owed_until(mark) == 0
            assert await tx.reconciling.owed_until(await tx.reconciling.newest_version()) == 2

    async def test_what_is_owed_to_one_generation_counts_for_it(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        await settle(ledger)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one)[:1], target=FINGERPRINT)
            anywhere = await tx.reconciling.states(chunk_ids(one))
            there = await tx.reconciling.states(chunk_ids(one), target=FINGERPRINT)
        assert [anywhere[chunk].owed for chunk in chunk_ids(one)] == [False, False]
        assert [there[chunk].owed for chunk in chunk_ids(one)] == [True, False]

    async def test_what_was_set_aside_is_not_on_its_way(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        async with ledger.transaction() as tx:
            entries = await tx.outbox.take(limit=9)
            refused = Failure(entry=entries[0], reason="bad row", not_before=None)
            await tx.outbox.failed([refused], now=NOW)
        async with ledger.transaction() as tx:
            states = await tx.reconciling.states(chunk_ids(one))
            mark = await tx.reconciling.newest_version()
            assert await tx.reconciling.owed_until(mark) == 1
            assert [states[entry.chunk_id].owed for entry in entries] == [False, True]
            await tx.documents.requeue([entries[0].chunk_id])
        async with ledger.transaction() as tx:
            assert (await tx.reconciling.states(chunk_ids(one)))[entries[0].chunk_id].owed

    async def test_no_version_is_above_the_newest(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        async with ledger.transaction() as tx:
            for _ in range(3):
                await tx.documents.requeue(chunk_ids(one))
                newest = await tx.reconciling.newest_version()
                rows = await tx.reconciling.page(after="", limit=9)
                assert max(version for _, version in rows) <= newest
                assert await tx.reconciling.newest_version() < 2**52

    async def test_a_foreign_version_is_outgrown(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        async with ledger.transaction() as tx:
            await tx.reconciling.outgrow(5_000_000)
            await tx.reconciling.outgrow(2)
            await tx.reconciling.outgrow(2**63 - 1)
            await tx.documents.requeue(chunk_ids(one))
            rows = await tx.reconciling.page(after="", limit=9)
        assert all(5_000_000 < version < 2**52 for _, version in rows)

    async def test_rows_without_a_vector_are_named(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            assert await tx.reconciling.without_vector(after="", limit=5) == []
        one = prepared()
        await show(ledger, one)
        async with ledger.transaction() as tx:
            assert await tx.reconciling.without_vector(after="", limit=5) == []
            other = await tx.reconciling.without_vector(after="", limit=5, fingerprint="another")
            behind = await tx.reconciling.without_vector(
                after=other[0], limit=5, fingerprint="another"
            )
        assert other == sorted(chunk_ids(one))
        assert behind == other[1:]

    async def test_the_latest_report_is_kept(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            assert await tx.reconciling.latest() is None
            await tx.reconciling.record(report(missing=2))
            await tx.reconciling.record(report(missing=1))
        async with ledger.transaction() as tx:
            assert await tx.reconciling.latest() == report(missing=1)

    async def test_empty_lists_are_refused(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest):
                await tx.reconciling.states([])
            with pytest.raises(InvalidRequest):
                await tx.reconciling.page(after="", limit=0)

    async def test_an_open_rebuild_goes_on(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            assert await tx.rebuilds.unfinished() is None
            begun = await tx.rebuilds.begin(refills=["text"], total=9, now=NOW)
            await tx.rebuilds.advance(begun.rebuild_id, owed_to="chk_m", owed=5)
        async with ledger.transaction() as tx:
            again = await tx.rebuilds.begin(refills=[], total=10, now=LATER)
            assert (again.rebuild_id, again.started_at) == (begun.rebuild_id, NOW)
            assert (again.owed_to, again.owed, again.total) == ("chk_m", 5, 10)
            assert again.refills == ("text",)
            more = await tx.rebuilds.begin(refills=["vectors"], total=10, now=LATER)
            assert (more.owed_to, more.owed, more.refills) == ("", 0, ("text", "vectors"))
            await tx.rebuilds.advance(begun.rebuild_id, owed_to="chk_m", owed=5)
            emptied = await tx.rebuilds.begin(refills=["text"], total=10, now=LATER)
            assert (emptied.owed_to, emptied.owed, emptied.refills) == ("", 0, more.refills)
            await tx.rebuilds.finish(begun.rebuild_id, now=LATER)
            assert await tx.rebuilds.unfinished() is None
            fresh = await tx.rebuilds.begin(refills=[], total=1, now=LATER)
        assert fresh.rebuild_id != begun.rebuild_id
        assert (fresh.owed_to, fresh.owed, fresh.refills) == ("", 0, ())
