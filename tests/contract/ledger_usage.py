"""What every ledger must tell of usage and of a tenant's writes, sentence by sentence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.protocols import Ledger, PassageUsage, Shown, Standing, UsageReport
from contract.samples import NOW, chunk_ids, prepared, publish, put, settle, show

ACME, OTHER = Scope(tenant="acme"), Scope(tenant="other")
ANN, BEN = Scope(tenant="acme", owner="ann"), Scope(tenant="acme", owner="ben")
SEARCH, NEXT = "srch_" + "a" * 26, "srch_" + "b" * 26
LATER = NOW + timedelta(hours=1)


def shown(chunk_id: str, times: int = 1, scope: Scope = ACME) -> Shown:
    return Shown(tenant=scope.tenant, owner=scope.owner, chunk_id=chunk_id, times=times)


async def count(ledger: Ledger, *some: Shown) -> int:
    async with ledger.transaction() as tx:
        return await tx.usage.add_shown(some)


async def report(
    ledger: Ledger, scope: Scope = ACME, search_id: str = SEARCH, now: Any = NOW, **told: Any
) -> frozenset[str]:
    async with ledger.transaction() as tx:
        made = UsageReport(search_id=search_id, **told)
        return await tx.usage.report(scope, made, now=now)


async def told(ledger: Ledger, document_id: str, scope: Scope = ACME) -> list[PassageUsage]:
    async with ledger.transaction() as tx:
        return await tx.usage.of_document(scope, document_id)


async def standing(ledger: Ledger, tenant: str = "acme") -> Standing:
    async with ledger.transaction() as tx:
        return await tx.writes.standing(tenant)


class UsageContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_what_was_shown_and_used_is_counted(self, ledger: Ledger) -> None:
        one = prepared(pieces=3)
        first, second, third = chunk_ids(one)
        await show(ledger, one)
        assert await count(ledger, shown(first, 2), shown(second), shown(first)) == 2
        assert await report(ledger, used=(second,), artifact="ch1.md") == {second}
        assert await told(ledger, one.revision.document_id) == [
            self.usage(one, first, shown=3),
            self.usage(one, second, shown=1, used=1, used_in=("ch1.md",)),
        ]
        async with ledger.transaction() as tx:
            found = await tx.usage.used_in(ACME, [first, second, third], limit=5)
        assert found == {second: ("ch1.md",)}

    async def test_the_same_report_twice_is_one(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        (chunk,) = chunk_ids(one)
        await show(ledger, one)
        for at in (NOW, LATER):
            await report(
                ledger, now=at, used=(chunk, chunk), artifact="a", verdicts={chunk: "wrong"}
            )
        (usage,) = await told(ledger, one.revision.document_id)
        assert (usage.used, usage.verdicts, usage.used_in) == (1, {"wrong": 1}, ("a",))

    async def test_a_later_verdict_replaces_the_former(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        (chunk,) = chunk_ids(one)
        await show(ledger, one)
        await report(ledger, verdicts={chunk: "useful"})
        await report(ledger, verdicts={chunk: "outdated"}, now=LATER)
        await report(ledger, search_id=NEXT, verdicts={chunk: "useful"})
        (usage,) = await told(ledger, one.revision.document_id)
        assert usage.verdicts == {"useful": 1, "outdated": 1}

    async def test_artifacts_come_latest_first_and_bounded(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        (chunk,) = chunk_ids(one)
        await show(ledger, one)
        for at, artifact in enumerate(("b", "c", "a")):
            await report(ledger, used=(chunk,), artifact=artifact, now=NOW + timedelta(hours=at))
        async with ledger.transaction() as tx:
            found = await tx.usage.used_in(ACME, [chunk], limit=2)
        assert found == {chunk: ("a", "c")}
        (usage,) = await told(ledger, one.revision.document_id)
        assert (usage.used, usage.used_in) == (1, ("a", "c", "b"))

    async def test_unused_is_shown_less_used_and_never_negative(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        (chunk,) = chunk_ids(one)
        await show(ledger, one)
        await count(ledger, shown(chunk, 3))
        await report(ledger, used=(chunk,))
        (usage,) = await told(ledger, one.revision.document_id)
        assert usage.unused == 2
        for search in ("c", "d", "e"):
            await report(ledger, search_id="srch_" + search * 20, used=(chunk,))
        (usage,) = await told(ledger, one.revision.document_id)
        assert (usage.shown, usage.used, usage.unused) == (3, 4, 0)

    async def test_tenants_and_owners_have_their_own(self, ledger: Ledger) -> None:
        common, mine = prepared("c.md", pieces=1), prepared("m.md", owner="ann", pieces=1)
        (shared,), (private,) = chunk_ids(common), chunk_ids(mine)
        await show(ledger, common, mine)
        assert await report(ledger, OTHER, used=(shared,), artifact="x") == frozenset()
        assert await report(ledger, BEN, used=(shared, private), artifact="ben's") == {shared}
        assert await report(ledger, ANN, used=(shared, private), artifact="ann's") == {
            shared,
            private,
        }
        assert await count(ledger, shown(shared, 1, OTHER)) == 0
        await count(ledger, shown(shared, 5, ANN), shown(shared, 1))
        document = common.revision.document_id
        seen = {
            scope.owner: [(one.shown, one.used_in) for one in await told(ledger, document, scope)]
            for scope in (ACME, ANN, BEN)
        }
        assert seen == {None: [(1, ())], "ann": [(6, ("ann's",))], "ben": [(1, ("ben's",))]}
        assert await told(ledger, document, OTHER) == []
        assert await told(ledger, mine.revision.document_id, BEN) == []
        async with ledger.transaction() as tx:
            assert await tx.usage.used_in(ACME, [shared, private], limit=3) == {}
            assert await tx.usage.used_in(OTHER, [shared], limit=3) == {}

    async def test_superseded_passages_count_and_pending_or_unknown_do_not(
        self, ledger: Ledger
    ) -> None:
        old, new = prepared("a.md", "As it was.", pieces=1), prepared("a.md", "As it is.", pieces=1)
        hidden = prepared("b.md", pieces=1)
        await show(ledger, old)
        await show(ledger, new)
        await put(ledger, hidden)
        named = (*chunk_ids(old, hidden), "chk_unknown", "nul\0")
        assert await count(ledger, *(shown(one) for one in named)) == 1
        assert await report(ledger, used=named) == set(chunk_ids(old))

    async def test_usage_goes_with_what_is_deleted(self, ledger: Ledger) -> None:
        one, other = prepared("a.md", pieces=2), prepared("b.md", "Another page.", pieces=1)
        await show(ledger, one, other)
        named = chunk_ids(one, other)
        await count(ledger, *(shown(chunk) for chunk in named))
        await report(ledger, used=tuple(named), artifact="x")
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
        assert await told(ledger, one.revision.document_id) == []
        assert await count(ledger, *(shown(chunk) for chunk in named)) == 1
        async with ledger.transaction() as tx:
            left = await tx.usage.used_in(ACME, named, limit=1)
        assert left == {chunk_ids(other)[0]: ("x",)}
        await show(ledger, one)
        assert await told(ledger, one.revision.document_id) == []

    async def test_usage_of_a_document_most_shown_first_and_bounded(self, ledger: Ledger) -> None:
        old = prepared("a.md", "As it was.", pieces=1)
        new = prepared("a.md", "".join(f"{number:04} " for number in range(1002)), pieces=1002)
        (former,), (most, *rest) = chunk_ids(old), chunk_ids(new)
        await show(ledger, old)
        await count(ledger, shown(former, 2))
        await show(ledger, new)
        await count(ledger, shown(most, 3), *(shown(chunk) for chunk in rest))
        usages = await told(ledger, old.revision.document_id)
        assert [one.shown for one in usages] == [3, 2, *[1] * 998]
        assert [one.chunk_id for one in usages] == [most, former, *sorted(rest)[:998]]
        async with ledger.transaction() as tx:
            first = await tx.usage.of_document(ACME, old.revision.document_id, limit=2)
            with pytest.raises(InvalidRequest):
                await tx.usage.of_document(ACME, old.revision.document_id, limit=0)
        assert first == usages[:2]

    async def test_of_a_passage_the_latest_artifacts_are_listed(self, ledger: Ledger) -> None:
        one = prepared(pieces=2)
        chunk, other = chunk_ids(one)
        await show(ledger, one)
        for number in range(25):
            at = NOW + timedelta(hours=number // 2)
            await report(ledger, used=(chunk,), artifact=f"part-{number:02}", now=at)
        await report(ledger, used=(other,), artifact="rest", now=NOW)
        latest = [f"part-{number:02}" for pair in range(24, -1, -2) for number in (pair, pair + 1)]
        latest.remove("part-25")
        first, second = await told(ledger, one.revision.document_id)
        assert {first.chunk_id: first.used_in, second.chunk_id: second.used_in} == {
            chunk: tuple(latest[:20]),
            other: ("rest",),
        }
        async with ledger.transaction() as tx:
            found = await tx.usage.used_in(ACME, [chunk, other, chunk], limit=3)
        assert found == {chunk: tuple(latest[:3]), other: ("rest",)}

    async def test_what_tells_of_an_owner_is_known(self, ledger: Ledger) -> None:
        one, theirs = prepared(pieces=1), prepared(tenant="other", pieces=1)
        (chunk,), (other,) = chunk_ids(one), chunk_ids(theirs)
        await show(ledger, one, theirs)
        await count(ledger, shown(chunk, scope=ANN), shown(chunk))
        await report(ledger, BEN, used=(chunk,))
        await report(ledger, Scope(tenant="other", owner="eve"), used=(other,))
        async with ledger.transaction() as tx:
            told_of = [
                owner
                for owner in ("ann", "ben", "eve", "", "nul\0")
                if await tx.usage.tells_of("acme", owner)
            ]
        assert told_of == ["ann", "ben"]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"search_id": "srch_short"},
            {"search_id": "a question of mine in full"},
            {"used": ()},
            {"used": ("c",), "artifact": "x" * 501},
            {"used": ("c",), "artifact": "nul\0"},
            {"verdicts": {"c": "boring"}},
            {"used": tuple(f"c{n}" for n in range(1001))},
        ],
    )
    async def test_wrong_reports_are_refused(self, ledger: Ledger, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidRequest):
            await report(ledger, **{"used": () if "verdicts" in wrong else ("c",), **wrong})

    async def test_every_change_of_what_is_visible_counts_as_a_write(self, ledger: Ledger) -> None:
        one, theirs = prepared("a.md"), prepared("a.md", tenant="other")
        before = await standing(ledger)
        assert (before.writes, before.settled, before.has_usage) == (0, True, False)
        await put(ledger, one, theirs)
        assert not (await standing(ledger)).settled
        await publish(ledger, one, theirs)
        writes = [(await standing(ledger)).writes]
        await settle(ledger)
        assert (await standing(ledger)).settled
        await show(ledger, prepared("a.md", "The page says something new."))
        writes.append((await standing(ledger)).writes)
        await report(ledger, used=tuple(chunk_ids(one)), artifact="x")
        writes.append((await standing(ledger)).writes)
        assert (await standing(ledger)).has_usage
        async with ledger.transaction() as tx:
            await tx.documents.requeue(chunk_ids(prepared("a.md", "The page says something new.")))
        writes.append((await standing(ledger)).writes)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
        writes.append((await standing(ledger)).writes)
        assert writes == sorted(set(writes))
        assert writes[0] > 0

    async def test_a_write_of_one_tenant_is_none_of_another(self, ledger: Ledger) -> None:
        await show(ledger, prepared("a.md", tenant="other"))
        before = await standing(ledger, "other")
        await show(ledger, prepared("a.md"))
        await settle(ledger)
        ours = (await standing(ledger)).writes
        async with ledger.transaction() as tx:
            await tx.writes.note(["acme"])
        assert (await standing(ledger)).writes > ours
        after = await standing(ledger, "other")
        assert after.writes == before.writes > 0
        async with ledger.transaction() as tx:
            counts = await tx.writes.counts(["acme", "other", "nobody"])
        ours = (await standing(ledger)).writes
        assert counts == {"acme": ours, "other": after.writes, "nobody": 0}

    async def test_reading_and_counting_are_no_writes(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        await show(ledger, one)
        before = (await standing(ledger)).writes
        await count(ledger, *(shown(chunk) for chunk in chunk_ids(one)))
        await told(ledger, one.revision.document_id)
        await report(ledger, used=("chk_unknown",))
        assert (await standing(ledger)).writes == before

    async def test_a_report_that_changes_nothing_is_no_write(self, ledger: Ledger) -> None:
        one = prepared(pieces=1)
        (chunk,) = chunk_ids(one)
        await show(ledger, one)
        said: dict[str, Any] = {"used": (chunk,), "artifact": "a", "verdicts": {chunk: "wrong"}}
        writes = [(await standing(ledger)).writes]
        for told_now in (said, said, {**said, "verdicts": {chunk: "useful"}}):
            assert await report(ledger, now=LATER, **told_now) == {chunk}
            writes.append((await standing(ledger)).writes)
        first, second, again, other = writes
        assert first < second == again < other

    def usage(
        self,
        one: Any,
        chunk_id: str,
        *,
        shown: int = 0,
        used: int = 0,
        used_in: tuple[str, ...] = (),
    ) -> PassageUsage:
        return PassageUsage(
            chunk_id=chunk_id,
            document_id=one.revision.document_id,
            shown=shown,
            used=used,
            verdicts={},
            used_in=used_in,
        )
