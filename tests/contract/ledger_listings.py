"""What every ledger must tell about documents: listings, neighbours, counts, and its walls."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cluster.errors import InvalidRequest, NotFound
from cluster.filters import Eq
from cluster.ids import sha256_hex
from cluster.model import Scope, Turn
from cluster.stores.protocols import Ledger, Prepared
from contract.ledger import ACME, visible
from contract.samples import FINGERPRINT, NOW, chunk_ids, prepared, put, show


class ListingsContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_scopes_are_walls(self, ledger: Ledger) -> None:
        shared, mine = prepared("shared.md"), prepared("mine.md", owner="ann")
        await show(ledger, shared, mine)
        ann, bob = Scope(tenant="acme", owner="ann"), Scope(tenant="acme", owner="bob")
        other = Scope(tenant="other")
        both = {"shared.md@", "mine.md@"}
        for scope, seen in (
            (ann, both),
            (bob, {"shared.md@"}),
            (ACME, {"shared.md@"}),
            (other, set()),
        ):
            assert await visible(ledger, shared, mine, scope=scope) == seen
            async with ledger.transaction() as tx:
                page, _ = await tx.documents.page(scope, where=None, after=None, limit=9)
                assert {f"{one.path}@" for one in page} == seen
        async with ledger.transaction() as tx:
            for scope in (bob, ACME, other):
                with pytest.raises(NotFound):
                    await tx.documents.text(scope, mine.revision.revision_id)
                with pytest.raises(NotFound):
                    await tx.documents.editions(scope, mine.revision.document_id)
                assert await tx.documents.delete(scope, [mine.revision.document_id]) == 0
                ids = chunk_ids(mine)
                assert await tx.documents.neighbours(scope, ids[0], before=1, after=1) == []
            assert await tx.documents.text(ann, mine.revision.revision_id) == mine.revision.text
            assert await tx.documents.delete(ann, [mine.revision.document_id]) == 1

    async def test_unshown_is_what_one_run_wrote_and_is_pending(self, ledger: Ledger) -> None:
        batch = [prepared(f"{number}.md", f"text {number}") for number in range(4)]
        stranger = prepared("stranger.md", tenant="other")
        later = prepared("later.md")
        later = replace(later, revision=replace(later.revision, run_id="run-2"))
        await show(ledger, batch[0])
        for one in (*reversed(batch[1:]), stranger, later):
            await put(ledger, one)
        origins = [one.revision.origin for one in reversed(batch[1:])]
        async with ledger.transaction() as tx:
            ask = tx.documents.unshown
            assert await ask("acme", run_id="run-1", limit=9) == (3, origins)
            assert await ask("acme", run_id="run-1", limit=2) == (3, origins[:2])
            assert await ask("acme", run_id="run-2", limit=9) == (1, [later.revision.origin])
            assert await ask("acme", run_id="ghost", limit=9) == (0, [])

    async def test_neighbours_of_a_chunk_are_of_its_revision(self, ledger: Ledger) -> None:
        one = prepared(body="abcdefghij", pieces=5)
        other = prepared("other.md", "klmnopqrst", pieces=5)
        await show(ledger, one, other)
        async with ledger.transaction() as tx:
            find = tx.documents.neighbours
            ids = chunk_ids(one)
            around = await find(ACME, ids[2], before=1, after=2)
            assert [passage.chunk.text for passage in around] == ["cd", "gh", "ij"]
            edge = await find(ACME, ids[0], before=3, after=0)
            assert edge == []
            assert [one.chunk.text for one in await find(ACME, ids[4], before=9, after=9)] == [
                "ab",
                "cd",
                "ef",
                "gh",
            ]
            with pytest.raises(InvalidRequest):
                await find(ACME, ids[0], before=-1, after=0)

    async def test_neighbours_of_a_turn_are_of_its_session(self, ledger: Ledger) -> None:
        turns = [
            prepared(
                f"{conversation}/{session}/{number}",
                f"{conversation}{session}{number}",
                turn=Turn(
                    conversation=conversation,
                    session=session,
                    ordinal=number,
                    speaker="Ann",
                    said_at=None,
                ),
                pieces=2 if number == 1 else 1,
            )
            for conversation, session in (("c", "s"), ("c", "t"), ("d", "s"))
            for number in (10, 2, 1, 0)
        ]
        await show(ledger, *turns)
        two = next(one for one in turns if one.revision.path == "c/s/2")
        async with ledger.transaction() as tx:
            found = await tx.documents.neighbours(ACME, two.chunks[0].chunk_id, before=3, after=5)
            near = await tx.documents.neighbours(ACME, two.chunks[0].chunk_id, before=1, after=0)
        assert [one.chunk.text for one in found] == ["cs0", "cs", "1", "cs10"]
        assert [one.chunk.text for one in near] == ["1"]

    async def test_neighbours_are_visible_and_so_is_the_chunk(self, ledger: Ledger) -> None:
        def said(number: int, *, owner: str | None = None) -> Prepared:
            turn = Turn(conversation="c", session="s", ordinal=number, speaker="A", said_at=None)
            return prepared(f"c/s/{number}", f"Line {number}.", turn=turn, pieces=1, owner=owner)

        old, new = prepared(body="old words here"), prepared(body="new words here")
        pending = prepared("pending.md")
        turns = [said(0), said(1, owner="bob"), said(2), said(3), said(4)]
        await show(ledger, old, *turns[:4])
        await show(ledger, new)
        await put(ledger, pending, turns[4])
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [turns[2].revision.document_id])
            find = tx.documents.neighbours
            for one in (old, pending):
                assert await find(ACME, one.chunks[0].chunk_id, before=9, after=9) == []
            found = await find(ACME, turns[0].chunks[0].chunk_id, before=9, after=9)
        assert [one.chunk.text for one in found] == ["Line 3."]

    async def test_recent_goes_by_the_latest_moment(self, ledger: Ledger) -> None:
        def at(day: int) -> datetime:
            return datetime(2025, 1, day, tzinfo=UTC)

        said = Turn(conversation="c", session="s", ordinal=0, speaker="A", said_at=at(5))
        turn = prepared("turn", "a turn", turn=said, metadata={"updated_at": at(9)}, pieces=1)
        updated = prepared("u", "uu", metadata={"published_at": at(8), "updated_at": at(3)})
        published = prepared("p", "pp", metadata={"published_at": at(4)})
        undated, pending = prepared("n", "nn"), prepared("q", "q", metadata={"updated_at": at(7)})
        tie = prepared("tie", "tt", metadata={"published_at": at(4)})
        await show(ledger, turn, updated, published, undated, tie)
        await put(ledger, pending)
        async with ledger.transaction() as tx:
            found = await tx.documents.recent(ACME, where=None, limit=9)
            top = await tx.documents.recent(ACME, where=Eq("kind", "document"), limit=1)
        ties = sorted([published.chunks[0].chunk_id, tie.chunks[0].chunk_id])
        assert found == [
            (turn.chunks[0].chunk_id, at(5)),
            (ties[0], at(4)),
            (ties[1], at(4)),
            (updated.chunks[0].chunk_id, at(3)),
        ]
        assert top == [(ties[0], at(4))]

    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
    async def test_pages_hold_everything_once_in_order(self, ledger: Ledger, limit: int) -> None:
        batch = [
            prepared(path, f"{path} {edition}", edition=edition)
            for path in ("a", "b", "c")
            for edition in ("1", "2")
        ]
        await show(ledger, *batch)
        await put(ledger, prepared("pending.md"))
        seen: list[tuple[str, str]] = []
        after, pages = None, 0
        async with ledger.transaction() as tx:
            while pages == 0 or after:
                page, after = await tx.documents.page(ACME, where=None, after=after, limit=limit)
                seen += [(one.document_id, one.edition) for one in page]
                pages += 1
        expected = [(one.revision.document_id, one.revision.edition) for one in batch]
        assert seen == sorted(expected)
        assert pages == -(-6 // limit)

    async def test_pages_go_by_the_edition_key(self, ledger: Ledger) -> None:
        ten = prepared(edition="v10.0", edition_key="0010")
        nine = prepared(edition="v9.0", edition_key="0009", body="nine, and other text")
        await show(ledger, ten, nine)
        async with ledger.transaction() as tx:
            page, _ = await tx.documents.page(ACME, where=None, after=None, limit=9)
        assert [one.edition for one in page] == ["v9.0", "v10.0"]

    async def test_a_page_shows_what_is_known(self, ledger: Ledger) -> None:
        meta = {"title": "T", "product": "tidb", "authority": 0.5, "quote_policy": "citable"}
        one = prepared(edition="7.5", metadata=meta)
        await show(ledger, one)
        async with ledger.transaction() as tx:
            (found,), cursor = await tx.documents.page(ACME, where=None, after=None, limit=1)
        assert cursor is None
        assert (found.title, found.product, found.edition) == ("T", "tidb", "7.5")
        assert (found.authority, found.quote_policy, found.chunk_count) == (0.5, "citable", 2)
        assert found.text_sha256 == sha256_hex(one.revision.text)
        assert (found.revision_id, found.recorded_at) == (one.revision.revision_id, NOW)

    async def test_known_editions_are_sorted_and_visible(self, ledger: Ledger) -> None:
        tidb = {"product": "tidb"}
        batch = [
            prepared("a", "a1", edition="7.5", metadata=tidb),
            prepared("b", "b1", edition="7.5", metadata=tidb),
            prepared("c", "c1", edition="7.1", metadata=tidb),
            prepared("d", "d1", edition="v2"),
            prepared("e", "e1"),
        ]
        await show(ledger, *batch)
        await put(ledger, prepared("f", "f1", edition="9"))
        async with ledger.transaction() as tx:
            assert await tx.documents.known_editions(ACME) == [
                ("", "v2"),
                ("tidb", "7.1"),
                ("tidb", "7.5"),
            ]

    async def test_counts(self, ledger: Ledger) -> None:
        turn = Turn(conversation="c", session="s", ordinal=0, speaker="A", said_at=None)
        await show(
            ledger,
            prepared(edition="1"),
            prepared(edition="2", body="second text"),
            prepared("t", "a turn", turn=turn, pieces=1),
        )
        await put(ledger, prepared("pending.md"))
        await show(ledger, prepared("foreign.md", tenant="other"))
        async with ledger.transaction() as tx:
            mine, every = await tx.documents.counts("acme"), await tx.documents.counts(None)
        assert mine == {"documents": 1, "editions": 2, "chunks": 5, "turns": 1, "pending": 1}
        assert (every["documents"], every["chunks"]) == (2, 7)

    async def test_empty_lists_are_refused(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            documents = tx.documents
            for call in (
                lambda: documents.digests("acme", []),
                lambda: documents.put([], now=NOW),
                lambda: documents.publish([], now=NOW),
                lambda: documents.requeue([]),
                lambda: documents.visible(ACME, []),
                lambda: documents.delete(ACME, []),
                lambda: documents.retire("acme", under=["f"], keep_origins=[]),
                lambda: documents.retire("acme", under=[], keep_origins=["f"]),
                lambda: tx.vectors.get([], fingerprint=FINGERPRINT),
                lambda: tx.vectors.put({}, fingerprint=FINGERPRINT),
                lambda: tx.outbox.work([]),
                lambda: tx.outbox.done([]),
                lambda: tx.runs.add_problems("run", []),
                lambda: documents.page(ACME, where=None, after=None, limit=0),
                lambda: documents.recent(ACME, where=None, limit=-1),
                lambda: documents.page(ACME, where=None, after="no cursor", limit=1),
                lambda: documents.page(ACME, where=None, after="\ud800é", limit=1),
            ):
                with pytest.raises(InvalidRequest):
                    await call()

    async def test_odd_ids_are_simply_not_there(self, ledger: Ledger) -> None:
        await show(ledger, prepared())
        async with ledger.transaction() as tx:
            for odd in ("", "\0", "\ud800", "' OR 1=1 --", "%s", "x" * 100_000):
                assert await tx.documents.visible(ACME, [odd]) == {}
                assert await tx.documents.delete(ACME, [odd]) == 0
                assert await tx.documents.neighbours(ACME, odd, before=1, after=1) == []
                assert await tx.documents.digests("acme", [odd]) == {}
                with pytest.raises(NotFound):
                    await tx.documents.text(ACME, odd)
                with pytest.raises(NotFound):
                    await tx.documents.editions(ACME, odd)

    async def test_long_names_are_kept(self, ledger: Ledger) -> None:
        name = "很长的名字/" * 2000
        turn = Turn(conversation=name, session=name, ordinal=0, speaker=name, said_at=NOW)
        one = prepared(name, "text", source=name, origin=name, turn=turn, metadata={"author": name})
        await show(ledger, one)
        async with ledger.transaction() as tx:
            assert await tx.documents.digests("acme", [name]) == {name: one.revision.item_digest}
            gone = await tx.documents.retire("acme", under=[name], keep_origins=["x"])
            assert gone == 1
