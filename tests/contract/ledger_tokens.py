"""What every ledger must do with packed token vectors: they live and go with the vector."""

from __future__ import annotations

import pytest

from cluster.errors import InvalidRequest
from cluster.model import Generation, Scope
from cluster.models.token_vectors import head_of, pack
from cluster.stores.protocols import Ledger, Prepared
from contract.samples import FINGERPRINT, NOW, chunk_ids, prepared, publish, put, show, vectors_of

ACME = Scope(tenant="acme")
OTHER = "another-encoder"
PACKED = b"\x01\x00\x00\x00\x00" + bytes(range(256)) * 20
"""Longer than a page of the server takes in one piece."""


async def give(
    ledger: Ledger, *batch: Prepared, packed: bytes = PACKED, fingerprint: str = FINGERPRINT
) -> None:
    async with ledger.transaction() as tx:
        held = vectors_of(batch)
        await tx.vectors.put(held, fingerprint=fingerprint, tokens=dict.fromkeys(held, packed))


async def told(
    ledger: Ledger, *batch: Prepared, scope: Scope = ACME, fingerprint: str = FINGERPRINT
) -> dict[str, bytes]:
    async with ledger.transaction() as tx:
        return await tx.vectors.tokens_of(scope, chunk_ids(*batch), fingerprint=fingerprint)


class TokenVectorsContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_each_chunk_has_those_of_its_text(self, ledger: Ledger) -> None:
        one, two, bare = (
            prepared(f"{number}.md", f"{number} is in text {number}") for number in range(3)
        )
        await show(ledger, one, two, bare)
        await give(ledger, one)
        await give(ledger, two, packed=b"others")
        assert await told(ledger, one, two, bare) == {
            **dict.fromkeys(chunk_ids(one), PACKED),
            **dict.fromkeys(chunk_ids(two), b"others"),
        }
        assert await told(ledger, one, fingerprint=OTHER) == {}
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="empty list"):
                await tx.vectors.tokens_of(ACME, [], fingerprint=FINGERPRINT)
            nobody = await tx.vectors.tokens_of(ACME, ["x", "\0"], fingerprint=FINGERPRINT)
            assert nobody == {}

    async def test_only_what_the_scope_sees_now(self, ledger: Ledger) -> None:
        shared, mine = prepared("a.md", "shared"), prepared("b.md", "of Ann", owner="ann")
        theirs = prepared("c.md", "shared", tenant="other")
        before, after = prepared("d.md", "before"), prepared("d.md", "after it")
        pending = prepared("e.md", "pending")
        everything = (shared, mine, theirs, before, after, pending)
        await show(ledger, shared, mine, theirs, before)
        await show(ledger, after)
        await put(ledger, pending)
        await give(ledger, *everything)
        for scope, seen in (
            (ACME, (shared, after)),
            (Scope(tenant="acme", owner="ann"), (shared, mine, after)),
            (Scope(tenant="acme", owner="bob"), (shared, after)),
            (Scope(tenant="other"), (theirs,)),
        ):
            assert (await told(ledger, *everything, scope=scope)).keys() == set(chunk_ids(*seen))
        await publish(ledger, pending)
        assert (await told(ledger, pending)).keys() == set(chunk_ids(pending))

    async def test_the_last_ones_put_count_and_the_first_vector(self, ledger: Ledger) -> None:
        one = prepared("a.md", "a text")
        await show(ledger, one)
        kept = vectors_of([one])
        await give(ledger, one, packed=b"old recipe")
        async with ledger.transaction() as tx:
            turned = {key: -vector for key, vector in kept.items()}
            await tx.vectors.put(turned, fingerprint=FINGERPRINT, tokens={next(iter(kept)): PACKED})
            await tx.vectors.put(turned, fingerprint=FINGERPRINT)
            found = await tx.vectors.get(list(kept), fingerprint=FINGERPRINT)
        assert all((found[key] == kept[key]).all() for key in kept)
        assert sorted((await told(ledger, one)).values()) == [PACKED, b"old recipe"]

    async def test_they_need_a_vector(self, ledger: Ledger) -> None:
        """In the same call: of a text that has one already as well."""
        one, other = prepared("a.md", "a text"), prepared("b.md", "other words")
        await show(ledger, other)
        async with ledger.transaction() as tx:
            for key in ("nothing", min(vectors_of([other]))):
                with pytest.raises(InvalidRequest, match=f"token vectors of {key}, but no vector"):
                    await tx.vectors.put(
                        vectors_of([one]), fingerprint=FINGERPRINT, tokens={key: PACKED}
                    )

    async def test_they_go_with_the_last_chunk_of_their_text(self, ledger: Ledger) -> None:
        one, twin = prepared("a.md", "one text"), prepared("b.md", "one text", source="copies")
        await show(ledger, one, twin)
        await give(ledger, one)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
        assert await told(ledger, one, twin) == dict.fromkeys(chunk_ids(twin), PACKED)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [twin.revision.document_id])
        await show(ledger, prepared("a.md", "one text"))
        assert await told(ledger, one) == {}

    async def test_texts_without_current_ones_come_in_pages(self, ledger: Ledger) -> None:
        current, head = pack(vectors_of([prepared()]).popitem()[1][None]), head_of("")
        batch = [prepared(f"{number}.md", f"{number} is in text {number}") for number in range(4)]
        pending, gone = prepared("p.md", "pending"), prepared("g.md", "gone")
        twin = prepared("twin.md", "0 is in text 0", source="copies")
        await show(ledger, *batch, twin, gone)
        await put(ledger, pending)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [gone.revision.document_id])
        await give(ledger, batch[1], packed=current)
        await give(ledger, batch[2], packed=b"\x01another recipe")
        await give(ledger, batch[3], packed=current[:3])
        wanted = sorted(vectors_of([batch[0], batch[2], batch[3], pending]))
        async with ledger.transaction() as tx:
            generations, found, after = tx.generations, list[str](), ""
            while page := await generations.tokenless(FINGERPRINT, head=head, after=after, limit=3):
                assert len(page) <= 3
                found += [one.vector_key for one in page]
                after = found[-1]
            assert found == wanted
            (last,) = await generations.tokenless(FINGERPRINT, head=head, after=wanted[-2], limit=9)
            assert last.indexed_text in {
                chunk.indexed_text for one in (*batch, pending) for chunk in one.chunks
            }
            assert await generations.tokenless(OTHER, head=head, limit=9) == []

    async def test_another_generation_has_its_own(self, ledger: Ledger) -> None:
        one = prepared("a.md", "a text")
        old = Generation(fingerprint=FINGERPRINT, dim=8, recipe={})
        async with ledger.transaction() as tx:
            await tx.generations.activate(old)
        await show(ledger, one)
        async with ledger.transaction() as tx:
            await tx.generations.begin(Generation(fingerprint=OTHER, dim=8, recipe={}), now=NOW)
        await give(ledger, one, packed=b"old")
        await give(ledger, one, packed=b"new", fingerprint=OTHER)
        assert set((await told(ledger, one)).values()) == {b"old"}
        assert set((await told(ledger, one, fingerprint=OTHER)).values()) == {b"new"}
        async with ledger.transaction() as tx:
            await tx.generations.retire(OTHER, now=NOW)
            await tx.generations.erase_vectors(OTHER, after="", limit=9)
        assert await told(ledger, one, fingerprint=OTHER) == {}
        assert set((await told(ledger, one)).values()) == {b"old"}
