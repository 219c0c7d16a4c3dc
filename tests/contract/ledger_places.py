"""What every ledger must do when items move, change what they are, or go."""

from __future__ import annotations

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.protocols import Ledger, Prepared
from contract.ledger import ACME, newest, owed, visible
from contract.samples import NOW, chunk_ids, prepared, publish, put, settle, show

CHINESE = {"language": "zh"}
DOCS = "file:///a/docs"


async def retire(
    ledger: Ledger, *under: str, keep: str = "file:///a/kept", tenant: str = "acme"
) -> int:
    async with ledger.transaction() as tx:
        return await tx.documents.retire(tenant, under=under, keep_origins=[keep])


class PlacesContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    @pytest.mark.parametrize("under", [DOCS, f"{DOCS}/"])
    async def test_retire_stays_below_what_was_listed(self, ledger: Ledger, under: str) -> None:
        gone = prepared("gone.md", origin=f"{DOCS}/gone.md")
        others = [
            prepared(name, origin=origin)
            for name, origin in (
                ("beside.md", "file:///a/docs2/beside.md"),
                ("above.md", "file:///a/above.md"),
                ("case.md", "file:///a/DOCS/case.md"),
                ("elsewhere.md", "s3://bucket/file:///a/docs/elsewhere.md"),
            )
        ]
        await show(ledger, gone, *others)
        assert await retire(ledger, under) == 1
        assert await visible(ledger, gone, *others) == {f"{one.revision.path}@" for one in others}

    async def test_retire_takes_an_address_letter_by_letter(self, ledger: Ledger) -> None:
        other = prepared("x.md", origin="file:///abc/x.md")
        await show(ledger, other)
        assert await retire(ledger, "file:///a_c", "file:///%", "file:///a.c", "file:///ab") == 0
        assert await retire(ledger, "file:///") == 1

    async def test_retire_takes_every_source_of_one_tenant(self, ledger: Ledger) -> None:
        batch = [
            prepared(f"{name}.md", origin=f"{DOCS}/{name}.md", source=name) for name in ("a", "b")
        ]
        stranger = prepared("s.md", origin=f"{DOCS}/s.md", tenant="other")
        await show(ledger, *batch, stranger)
        assert await retire(ledger, DOCS, keep=f"{DOCS}/a.md") == 1
        assert await visible(ledger, *batch) == {"a.md@"}
        assert await visible(ledger, stranger, scope=Scope(tenant="other")) == {"s.md@"}
        assert await retire(ledger, DOCS, tenant="other") == 1

    async def test_retire_below_several_addresses_at_once(self, ledger: Ledger) -> None:
        batch = [prepared(f"{name}.md", origin=f"file:///{name}/p.md") for name in "abc"]
        await show(ledger, *batch)
        assert await retire(ledger, "file:///a", "file:///c") == 2
        assert await visible(ledger, *batch) == {"b.md@"}

    async def test_retire_in_a_corpus_takes_its_records(self, ledger: Ledger) -> None:
        corpus = "file:///a/c.jsonl"
        record = prepared("7", origin=f"{corpus}#7")
        kept = prepared("8", origin=f"{corpus}#8")
        twin = prepared("9", origin=f"{corpus}.old#9")
        await show(ledger, record, kept, twin)
        assert await retire(ledger, corpus, keep=f"{corpus}#8") == 1
        assert await visible(ledger, record, kept, twin) == {"8@", "9@"}

    async def test_retire_spares_an_edition_that_moved_elsewhere(self, ledger: Ledger) -> None:
        shown = prepared(origin=f"{DOCS}/guide.md")
        moved = prepared(origin="file:///b/guide.md", body="and changed its text")
        await show(ledger, shown)
        await put(ledger, moved)
        assert await retire(ledger, DOCS) == 0
        assert await visible(ledger, shown) == {"guide.md@"}

    async def test_retire_under_nothing_is_refused(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="addresses"):
                await tx.documents.retire("acme", under=[], keep_origins=["x"])

    @pytest.mark.parametrize(
        "change", [{"metadata": CHINESE}, {"source": "nimbus"}, {"path": "renamed.md"}]
    )
    async def test_an_item_that_became_another_document_leaves_no_former_one(
        self, ledger: Ledger, change: dict[str, object]
    ) -> None:
        old = prepared(origin="o")
        new = prepared(origin="o", body="other words", **change)  # type: ignore[arg-type]  # one
        assert old.revision.document_id != new.revision.document_id
        await show(ledger, old)
        await put(ledger, new)
        assert await visible(ledger, old) == {"guide.md@"}
        await settle(ledger)
        assert await publish(ledger, new) == 1
        assert await visible(ledger, old) == set()
        assert await visible(ledger, new) == {f"{new.revision.path}@"}
        assert await owed(ledger) == dict.fromkeys(chunk_ids(old), "delete")
        async with ledger.transaction() as tx:
            assert (await tx.documents.counts("acme"))["documents"] == 1
            found = await tx.documents.digests("acme", ["o"])
        assert found == {"o": new.revision.item_digest}

    async def test_what_changed_and_changed_back_comes_back(self, ledger: Ledger) -> None:
        old, new = prepared(origin="o"), prepared(origin="o", metadata=CHINESE)
        for one, other in ((old, new), (new, old), (old, new)):
            await show(ledger, one)
            assert await visible(ledger, one) == {"guide.md@"}
            assert await visible(ledger, other) == set()

    async def test_of_two_pending_at_one_place_the_later_put_wins(self, ledger: Ledger) -> None:
        old, new = prepared(origin="o"), prepared(origin="o", metadata=CHINESE)
        await put(ledger, old)
        await put(ledger, new)
        assert await publish(ledger, old, new) == 1
        assert await visible(ledger, new) == {"guide.md@"}
        assert await visible(ledger, old) == set()
        assert {(await owed(ledger))[chunk] for chunk in chunk_ids(old)} == {"delete"}

    async def test_an_earlier_put_of_a_place_published_late_is_not_shown(
        self, ledger: Ledger
    ) -> None:
        early, late = prepared(origin="o"), prepared(origin="o", metadata=CHINESE)
        await put(ledger, early)
        await put(ledger, late)
        assert await publish(ledger, late) == 1
        assert await publish(ledger, early) == 0
        assert await visible(ledger, late) == {"guide.md@"}
        assert await visible(ledger, early) == set()

    async def test_a_document_that_was_kept_wins_over_its_pending_change(
        self, ledger: Ledger
    ) -> None:
        kept, dropped = prepared(origin="o"), prepared(origin="o", metadata=CHINESE)
        await show(ledger, kept)
        await put(ledger, dropped)
        await put(ledger, kept)
        assert await publish(ledger, dropped) == 0
        assert await visible(ledger, kept) == {"guide.md@"}
        assert await visible(ledger, dropped) == set()

    async def test_a_put_that_is_refused_leaves_the_order_of_puts(self, ledger: Ledger) -> None:
        shown = prepared(origin="o")
        pending = prepared(origin="o", body="other words", metadata=CHINESE)
        await show(ledger, shown)
        await put(ledger, pending)
        without_vectors = prepared("new.md", "never encoded")
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="vector"):
                await tx.documents.put([shown, without_vectors], now=NOW)
        async with ledger.transaction() as tx:
            found = await tx.documents.digests("acme", ["o"])
        assert found == {"o": pending.revision.item_digest}
        assert await publish(ledger, pending) == 1

    async def test_what_owes_work_again_since_it_was_probed_is_not_shown(
        self, ledger: Ledger
    ) -> None:
        one, other = prepared("one.md"), prepared("other.md", "other words")
        await put(ledger, one, other)
        await settle(ledger)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
        await put(ledger, one)
        ids = [each.revision.revision_id for each in (one, other)]
        async with ledger.transaction() as tx:
            assert await tx.documents.publish(ids, now=NOW, settled=True) == 1
            assert await tx.documents.publish(ids[:1], now=NOW, settled=True) == 0
        assert await visible(ledger, one, other) == {"other.md@"}
        await settle(ledger)
        async with ledger.transaction() as tx:
            assert await tx.documents.publish(ids, now=NOW, settled=True) == 1

    async def test_editions_from_one_place_stay(self, ledger: Ledger) -> None:
        first = prepared(edition="1.0", origin="o")
        second = prepared(edition="2.0", origin="o", body="the text of 2.0")
        other = prepared(edition="3.0", origin="o", source="nimbus", body="the text of 3.0")
        for one in (first, second, other):
            await show(ledger, one)
        assert await visible(ledger, first, second, other) == {
            "guide.md@1.0",
            "guide.md@2.0",
            "guide.md@3.0",
        }
        assert await newest(ledger, first) == {"2.0": True, "1.0": False}

    async def test_when_the_newest_edition_goes_the_next_one_is_the_newest(
        self, ledger: Ledger
    ) -> None:
        first = prepared(edition="1.0", origin="o1")
        second = prepared(edition="2.0", origin="o2", body="the text of 2.0")
        await show(ledger, first, second)
        await settle(ledger)
        await show(ledger, prepared(edition="2.0", origin="o2", metadata=CHINESE))
        assert await newest(ledger, first) == {"1.0": True}
        work = await owed(ledger)
        assert {work[chunk] for chunk in chunk_ids(first)} == {"upsert"}
        assert {work[chunk] for chunk in chunk_ids(second)} == {"delete"}

    async def test_a_place_is_of_one_tenant_and_one_owner(self, ledger: Ledger) -> None:
        batch: list[tuple[Prepared, Scope]] = [
            (prepared("shared.md", origin="o"), ACME),
            (prepared("ann.md", origin="o", owner="ann"), Scope(tenant="acme", owner="ann")),
            (prepared("bob.md", origin="o", owner="bob"), Scope(tenant="acme", owner="bob")),
            (prepared("other.md", origin="o", tenant="other"), Scope(tenant="other")),
        ]
        for one, _ in batch:
            await show(ledger, one)
        for one, scope in batch:
            assert await visible(ledger, one, scope=scope) == {f"{one.revision.path}@"}
