"""What every ledger must find by names, sessions and neighbours, sentence by sentence."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from cluster.errors import InvalidRequest
from cluster.filters import Eq
from cluster.model import Scope, Turn
from cluster.stores.protocols import Beside, Ledger, Named, Prepared
from contract.samples import NOW, chunk_ids, prepared, put, show

ACME, OTHER = Scope(tenant="acme"), Scope(tenant="other")


def headed(path: str, *headings: str, **more: Any) -> Prepared:
    """One chunk under each heading."""
    body = "\n".join(f"Words under {at}, {path}." for at in range(len(headings)))
    made = prepared(path, body, pieces=len(headings), **more)
    chunks = tuple(
        replace(chunk, heading_path=("Book", heading) if heading else ())
        for chunk, heading in zip(made.chunks, headings, strict=True)
    )
    return replace(made, chunks=chunks)


def turn(
    session: str,
    ordinal: int,
    *,
    said_at: datetime | None = NOW,
    conversation: str = "c",
    owner: str | None = None,
) -> Prepared:
    said = Turn(
        conversation=conversation, session=session, ordinal=ordinal, speaker="Ann", said_at=said_at
    )
    body = f"Line {ordinal} of {session} in {conversation}."
    return prepared(f"{conversation}/{session}/{ordinal}", body, turn=said, pieces=1, owner=owner)


class LookupsContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_headings_that_are_or_begin_with_the_name(self, ledger: Ledger) -> None:
        page = headed(
            "vars.md",
            "max_size",
            "Max_Size New in v4.0",
            "max_size（新增）",
            "max_size_limit",
            "About max_size",
            "",
            "最大值 说明",
        )
        await show(ledger, page)
        ids = chunk_ids(page)
        async with ledger.transaction() as tx:
            found = await tx.lookups.headed(ACME, ["MAX_SIZE", "最大值"], where=None, limit=9)
        assert found[0] == Named(id=ids[0], name="max_size", whole=True)
        assert found[1:] == sorted(
            (
                Named(id=ids[1], name="max_size", whole=False),
                Named(id=ids[2], name="max_size", whole=False),
                Named(id=ids[6], name="最大值", whole=False),
            ),
            key=lambda one: one.id,
        )

    async def test_headings_come_by_edition_and_authority(self, ledger: Ledger) -> None:
        pages = [
            headed("a.md", "alpha", edition="1"),
            headed("a.md", "alpha", edition="2", metadata={"authority": 0.1}),
            headed("b.md", "alpha", metadata={"authority": 0.9}),
        ]
        await show(ledger, *pages)
        async with ledger.transaction() as tx:
            found = await tx.lookups.headed(ACME, ["alpha"], where=None, limit=9)
            two = await tx.lookups.headed(ACME, ["alpha"], where=None, limit=2)
        wanted = chunk_ids(pages[2], pages[1], pages[0])
        assert [one.id for one in found] == wanted
        assert [one.id for one in two] == wanted[:2]

    async def test_only_what_is_visible_inside_scope_and_filter(self, ledger: Ledger) -> None:
        mine = headed("a.md", "alpha", owner="ann")
        theirs = headed("a.md", "alpha", tenant="other")
        hidden, gone = headed("h.md", "alpha"), headed("g.md", "alpha")
        wanted = headed("w.md", "alpha", source="wiki")
        await show(ledger, mine, theirs, gone, wanted)
        await put(ledger, hidden)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [gone.revision.document_id])
        ann = Scope(tenant="acme", owner="ann")
        async with ledger.transaction() as tx:
            shared = await tx.lookups.headed(ACME, ["alpha"], where=None, limit=9)
            own = await tx.lookups.headed(ann, ["alpha"], where=None, limit=9)
            other = await tx.lookups.headed(OTHER, ["alpha"], where=None, limit=9)
            none = await tx.lookups.headed(ann, ["alpha"], where=Eq("source", "x"), limit=9)
        assert [one.id for one in shared] == chunk_ids(wanted)
        assert {one.id for one in own} == set(chunk_ids(wanted, mine))
        assert [one.id for one in other] == chunk_ids(theirs)
        assert none == []

    async def test_titles_and_tags_name_documents(self, ledger: Ledger) -> None:
        titles = {"a": "Blue Harbour", "b": "blue harbour (second part)", "c": "The Blue Harbour"}
        pages = {
            name: prepared(f"{name}.md", f"Page {name}.", metadata={"title": title})
            for name, title in titles.items()
        }
        tagged = prepared("t.md", "Tagged.", metadata={"title": "x", "tags": ("Blue Harbour", "y")})
        theirs = prepared("a.md", "Page a.", tenant="other", metadata={"title": "Blue Harbour"})
        await show(ledger, *pages.values(), tagged, theirs)
        document = {name: page.revision.document_id for name, page in pages.items()}
        async with ledger.transaction() as tx:
            found = await tx.lookups.titled(ACME, ["Blue Harbour"], where=None, limit=9)
            folded = await tx.lookups.titled(ACME, ["blue harbour"], where=None, limit=9)
            one = await tx.lookups.titled(ACME, ["Blue Harbour"], where=None, limit=1)
        whole = sorted([document["a"], tagged.revision.document_id])
        assert [(each.id, each.whole) for each in found] == [
            *((each, True) for each in whole),
            (document["b"], False),
        ]
        assert [each.id for each in folded] == [document["a"], document["b"]]
        assert [each.id for each in one] == whole[:1]

    async def test_names_compare_without_case_in_ascii_alone(self, ledger: Ledger) -> None:
        page = headed("a.md", "Äther", "ALPHA")
        titled = prepared("t.md", "Words.", metadata={"title": "Äther BETA"})
        await show(ledger, page, titled)
        async with ledger.transaction() as tx:
            headings, titles = tx.lookups.headed, tx.lookups.titled
            found = await headings(ACME, ["äther", "alpha", "Alpha", "Book"], where=None, limit=9)
            none = await titles(ACME, ["äther beta"], where=None, limit=9)
            whole = await titles(ACME, ["Äther beta", "Äther"], where=None, limit=9)
        # The last heading counts, not the one above it, and each chunk once.
        assert [one.id for one in found] == chunk_ids(page)[1:]
        assert none == []
        assert [(one.id, one.whole) for one in whole] == [(titled.revision.document_id, True)]

    async def test_a_document_of_two_editions_is_named_once(self, ledger: Ledger) -> None:
        titles = {"title": "Harbour", "tags": ("Harbour",)}
        pages = [
            prepared("a.md", f"Text of {edition}.", edition=edition, metadata=titles)
            for edition in ("1", "2")
        ]
        await show(ledger, *pages)
        async with ledger.transaction() as tx:
            found = await tx.lookups.titled(ACME, ["Harbour"], where=None, limit=9)
        assert [one.id for one in found] == [pages[0].revision.document_id]

    async def test_every_look_up_stays_inside_scope_and_filter(self, ledger: Ledger) -> None:
        shown, mine, gone, hidden = (
            prepared(f"{name}.md", f"{name} page.", owner=owner, metadata={"title": "Harbour"})
            for name, owner in (("a", None), ("b", "ann"), ("c", None), ("d", None))
        )
        said = [turn("s", 0), turn("s", 1, owner="ann"), turn("s", 2), turn("s", 3)]
        await show(ledger, shown, mine, gone, *said[:3])
        await put(ledger, hidden, said[3])
        ann, none = Scope(tenant="acme", owner="ann"), Eq("source", "wiki")
        lines, owned = chunk_ids(*said), Eq("owner", "ann")
        async with ledger.transaction() as tx:
            deleted = [gone.revision.document_id, said[2].revision.document_id]
            await tx.documents.delete(ACME, deleted)
            look = tx.lookups

            async def beside(scope: Scope, where: Any) -> list[str]:
                found = await look.around(scope, lines[:1], where=where, before=9, after=9)
                return [one.chunk_id for one in found]

            for scope, where, pages, turns in (
                (ACME, None, [shown], lines[:1]),
                (ann, None, [shown, mine], [lines[1], lines[0]]),
                (ann, owned, [mine], [lines[1]]),
                (OTHER, None, [], []),
                (ann, none, [], []),
            ):
                found = await look.titled(scope, ["Harbour"], where=where, limit=9)
                assert {one.id for one in found} == {each.revision.document_id for each in pages}
                assert await look.turns(scope, "s", where=where, limit=9) == turns
                # The filter is not asked of the one that is asked about.
                assert await beside(scope, where) == [one for one in turns if one != lines[0]]

    async def test_turns_of_several_chunks(self, ledger: Ledger) -> None:
        first = turn("s", 0)
        said = Turn(conversation="c", session="s", ordinal=1, speaker="Ann", said_at=NOW)
        long = prepared("c/s/1", "A line that was cut in four.", turn=said, pieces=4)
        await show(ledger, first, long)
        async with ledger.transaction() as tx:
            found = await tx.lookups.turns(ACME, "s", where=None, limit=9)
            beside = await tx.lookups.around(ACME, chunk_ids(first), where=None, before=1, after=1)
        assert found == [chunk_ids(long)[0], *chunk_ids(first)]
        (seed,) = chunk_ids(first)
        assert beside == [
            Beside(seed=seed, chunk_id=chunk, distance=1) for chunk in sorted(chunk_ids(long))
        ]

    async def test_turns_of_a_session_latest_first(self, ledger: Ledger) -> None:
        said = [
            turn("s", 0, said_at=NOW - timedelta(days=1)),
            turn("s", 1, said_at=NOW),
            turn("s", 2, said_at=NOW),
            turn("s", 3, said_at=None),
        ]
        await show(ledger, *said, turn("other", 0), turn("s", 9, owner="ann"))
        async with ledger.transaction() as tx:
            every = await tx.lookups.turns(ACME, "s", where=None, limit=9)
            two = await tx.lookups.turns(ACME, "s", where=Eq("speaker", "Ann"), limit=2)
            none = await tx.lookups.turns(OTHER, "s", where=None, limit=9)
        assert every == chunk_ids(said[2], said[1], said[0], said[3])
        assert two == chunk_ids(said[2], said[1])
        assert none == []

    async def test_what_stands_beside_a_chunk_and_a_turn(self, ledger: Ledger) -> None:
        page = prepared("a.md", "one two three four five six", pieces=5)
        said = [turn("s", at) for at in range(4)]
        await show(ledger, page, *said, turn("s", 1, conversation="d"), turn("t", 2))
        ids, lines = chunk_ids(page), chunk_ids(*said)
        async with ledger.transaction() as tx:
            found = await tx.lookups.around(
                ACME, [ids[2], lines[1], "chk_none"], where=None, before=1, after=2
            )
            other = await tx.lookups.around(OTHER, [ids[2]], where=None, before=1, after=1)
            filtered = await tx.lookups.around(
                ACME, [ids[2], lines[1]], where=Eq("kind", "turn"), before=1, after=0
            )
        wanted = [
            Beside(seed=ids[2], chunk_id=ids[1], distance=-1),
            Beside(seed=ids[2], chunk_id=ids[3], distance=1),
            Beside(seed=ids[2], chunk_id=ids[4], distance=2),
            Beside(seed=lines[1], chunk_id=lines[0], distance=-1),
            Beside(seed=lines[1], chunk_id=lines[2], distance=1),
            Beside(seed=lines[1], chunk_id=lines[3], distance=2),
        ]
        assert found == sorted(wanted, key=lambda one: (one.seed, one.distance))
        assert other == []
        assert filtered == [Beside(seed=lines[1], chunk_id=lines[0], distance=-1)]

    async def test_empty_and_wrong_arguments_are_refused(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest):
                await tx.lookups.headed(ACME, [], where=None, limit=1)
            with pytest.raises(InvalidRequest):
                await tx.lookups.titled(ACME, ["a"], where=None, limit=0)
            with pytest.raises(InvalidRequest):
                await tx.lookups.around(ACME, ["a"], where=None, before=-1, after=0)
