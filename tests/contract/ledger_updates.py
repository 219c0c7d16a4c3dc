"""What every ledger must tell about a document that is updated while an answer is made."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.protocols import Ledger
from contract.samples import NOW, chunk_ids, prepared, put, show

ACME = Scope(tenant="acme")
ANN = Scope(tenant="acme", owner="ann")
OTHER = Scope(tenant="globex")
LATER = NOW + timedelta(hours=1)


class UpdatesContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_texts_outlive_being_superseded_but_not_a_delete(self, ledger: Ledger) -> None:
        old, new = prepared(body="old words here"), prepared(body="new words here")
        other, pending = prepared("other.md"), prepared("pending.md")
        own = prepared("own.md", "of ann alone", owner="ann")
        for one in (old, new, other, own):
            await show(ledger, one)
        await put(ledger, pending)
        batch = (old, new, other, pending, own)
        asked = [*(one.revision.revision_id for one in batch), "rev_unknown"]
        async with ledger.transaction() as tx:
            found = await tx.documents.texts(ACME, asked)
            assert found == {one.revision.revision_id: one.revision.text for one in batch[:3]}
            assert own.revision.revision_id in await tx.documents.texts(ANN, asked)
            assert await tx.documents.texts(OTHER, asked) == {}
            await tx.documents.delete(ACME, [old.revision.document_id])
            assert list(await tx.documents.texts(ACME, asked)) == [other.revision.revision_id]
            with pytest.raises(InvalidRequest):
                await tx.documents.texts(ACME, [])

    async def test_what_was_replaced_since(self, ledger: Ledger) -> None:
        first = [prepared(path, "first words") for path in ("a.md", "b.md")]
        edition = prepared("a.md", "first words", edition="2")
        for one in (*first, edition):
            await show(ledger, one)
        second = prepared("a.md", "second words")
        await show(ledger, second, now=LATER)
        asked = chunk_ids(*first, edition)
        async with ledger.transaction() as tx:
            for since in (NOW, LATER):
                found = await tx.documents.replaced(ACME, asked, since=since)
                assert found == {second.revision.revision_id}
            later = LATER + timedelta(seconds=1)
            assert await tx.documents.replaced(ACME, asked, since=later) == set()
            assert await tx.documents.replaced(OTHER, asked, since=NOW) == set()
            untouched = chunk_ids(first[1], edition, second)
            assert await tx.documents.replaced(ACME, untouched, since=NOW) == set()
            assert await tx.documents.replaced(ACME, ["chk_unknown"], since=NOW) == set()
            with pytest.raises(InvalidRequest):
                await tx.documents.replaced(ACME, [], since=NOW)
            await tx.documents.delete(ACME, [second.revision.document_id])
            assert await tx.documents.replaced(ACME, asked, since=NOW) == set()

    async def test_the_old_one_is_shown_until_the_new_one_is_published(
        self, ledger: Ledger
    ) -> None:
        old, new = prepared(body="old words here"), prepared(body="new words here")
        await show(ledger, old)
        await put(ledger, new)
        both = chunk_ids(old, new)
        async with ledger.transaction() as tx:
            assert set(await tx.documents.visible(ACME, both)) == set(chunk_ids(old))
            assert await tx.documents.publish([new.revision.revision_id], now=LATER) == 1
            assert set(await tx.documents.visible(ACME, both)) == set(chunk_ids(new))
