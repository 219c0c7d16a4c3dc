"""What every ledger must tell of passages that are alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Scope
from cluster.stores.protocols import Ledger, Prepared
from contract.samples import NOW, chunk_ids, prepared, publish, put, show

ACME = Scope(tenant="acme")
HUGE = 2**63 - 1


def banded(path: str, *bands: int, **more: str) -> Prepared:
    """A document of one chunk with this sketch."""
    one = prepared(path, f"The text of {path}.", pieces=1, **more)  # type: ignore[arg-type]  # all are texts
    (chunk,) = one.chunks
    return replace(one, bands={chunk.chunk_id: bands} if bands else {})


def only(one: Prepared) -> str:
    (chunk_id,) = chunk_ids(one)
    return chunk_id


async def alike(
    ledger: Ledger, *asked: Prepared, scope: Scope = ACME, limit: int = 10
) -> dict[str, list[str]]:
    async with ledger.transaction() as tx:
        return await tx.documents.alike(scope, chunk_ids(*asked), limit=limit)


class CopiesContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_chunks_with_a_band_in_common_are_alike(self, ledger: Ledger) -> None:
        one, two = banded("one.md", 1, 2, HUGE), banded("two.md", 7, HUGE)
        three, bare = banded("three.md", 2, 9), banded("bare.md")
        await show(ledger, one, two, three, bare)
        assert await alike(ledger, one, two, three, bare) == {
            only(one): sorted([only(two), only(three)]),
            only(two): [only(one)],
            only(three): [only(one)],
        }

    async def test_at_most_so_many_in_the_order_of_ids(self, ledger: Ledger) -> None:
        many = [banded(f"{at}.md", 5) for at in range(6)]
        await show(ledger, *many)
        first, *others = many
        wanted = sorted(only(each) for each in others)
        assert await alike(ledger, first, limit=3) == {only(first): wanted[:3]}
        with pytest.raises(InvalidRequest):
            await alike(ledger, first, limit=0)

    async def test_only_what_the_scope_may_see(self, ledger: Ledger) -> None:
        ours, theirs = banded("a.md", 5), banded("b.md", 5, tenant="globex")
        anns, bos = banded("c.md", 5, owner="ann"), banded("d.md", 5, owner="bo")
        draft = banded("e.md", 5)
        await show(ledger, ours, theirs, anns, bos)
        await put(ledger, draft)
        assert await alike(ledger, ours, theirs, bos, draft) == {}
        ann = Scope(tenant="acme", owner="ann")
        assert await alike(ledger, ours, scope=ann) == {only(ours): [only(anns)]}

    async def test_gone_with_the_chunk(self, ledger: Ledger) -> None:
        one, two = banded("one.md", 5), banded("two.md", 5)
        await show(ledger, one, two)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [two.revision.document_id])
        assert await alike(ledger, one, two) == {}

    async def test_a_superseded_text_is_no_copy_of_the_new_one(self, ledger: Ledger) -> None:
        old, new = banded("one.md", 5), prepared("one.md", "Another text.", pieces=1)
        new = replace(new, bands={only(new): (5,)})
        await show(ledger, old)
        await show(ledger, new)
        assert await alike(ledger, old, new) == {}

    async def test_put_again_keeps_the_sketch(self, ledger: Ledger) -> None:
        one, two = banded("one.md", 5), banded("two.md", 5)
        await show(ledger, one, two)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [two.revision.document_id])
        await show(ledger, two)
        await put(ledger, one, now=NOW)
        await publish(ledger, one)
        assert await alike(ledger, one) == {only(one): [only(two)]}

    async def test_nothing_asked_or_unknown(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            assert await tx.documents.alike(ACME, ["chk_unknown", "\0"], limit=3) == {}
