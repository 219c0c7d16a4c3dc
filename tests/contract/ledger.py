"""What every ledger must do with documents, sentence by sentence of the protocols."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from cluster.errors import InvalidRequest, NotFound
from cluster.filters import FIELDS
from cluster.model import Metadata, Scope, Turn
from cluster.stores.protocols import Ledger, Prepared
from contract.samples import (
    FINGERPRINT,
    NOW,
    chunk_ids,
    prepared,
    publish,
    put,
    settle,
    show,
    vectors_of,
)

ACME = Scope(tenant="acme")
LATER = NOW + timedelta(hours=1)
BEFORE_TIME = datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))


async def visible(ledger: Ledger, *batch: Prepared, scope: Scope = ACME) -> set[str]:
    """The paths and editions of which all chunks are visible."""
    async with ledger.transaction() as tx:
        found = await tx.documents.visible(scope, chunk_ids(*batch))
    return {
        f"{one.revision.path}@{one.revision.edition}"
        for one in batch
        if all(chunk.chunk_id in found for chunk in one.chunks)
    }


async def owed(ledger: Ledger) -> dict[str, str]:
    async with ledger.transaction() as tx:
        return {one.chunk_id: one.operation for one in await tx.outbox.take(limit=10_000)}


async def versions(ledger: Ledger, *batch: Prepared) -> list[int]:
    async with ledger.transaction() as tx:
        work = await tx.outbox.work(chunk_ids(*batch))
    return [one.row.version if one.row else 0 for one in work]


async def newest(ledger: Ledger, one: Prepared) -> dict[str, bool]:
    async with ledger.transaction() as tx:
        editions = await tx.documents.editions(ACME, one.revision.document_id)
    return {edition.edition: edition.newest_edition for edition in editions}


class DocumentsContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_what_is_put_is_invisible_until_published(self, ledger: Ledger) -> None:
        one = prepared()
        assert await put(ledger, one) == 1
        assert await visible(ledger, one) == set()
        assert await publish(ledger, one) == 1
        assert await visible(ledger, one) == {"guide.md@"}

    async def test_a_passage_comes_back_as_it_was_put(self, ledger: Ledger) -> None:
        meta = {
            "title": "指南 'quoted' \\ 😀",
            "author": "A. Author",
            "language": "zh",
            "source_type": "official_docs",
            "source_url": "https://example.org/a?b=c#d",
            "published_at": datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC),
            "updated_at": datetime(2025, 1, 1, tzinfo=timezone(timedelta(hours=8))),
            "product": "tidb",
            "api_version": "v2",
            "authority": 0.1 + 0.2,
            "license": "CC-BY-4.0",
            "quote_policy": "citable",
            "tags": ("sql", "标签"),
            "provenance": {"title": "front_matter", "product": "rule:docs"},
        }
        one = prepared(edition="7.5", metadata=meta, agent="bot")
        await show(ledger, one, now=LATER)
        async with ledger.transaction() as tx:
            found = await tx.documents.visible(ACME, chunk_ids(one))
        passage = found[one.chunks[1].chunk_id]
        assert passage.chunk == one.chunks[1]
        assert passage.metadata == one.revision.metadata
        assert passage.recorded_at == LATER
        revision = one.revision
        for name in ("document_id", "kind", "source", "path", "edition", "edition_key", "owner"):
            assert getattr(passage, name) == getattr(revision, name)
        assert passage.content_sha256 == revision.content_sha256
        assert (passage.newest_edition, passage.other_editions, passage.turn) == (True, (), None)

    async def test_a_turn_comes_back_with_speaker_and_time(self, ledger: Ledger) -> None:
        turn = Turn(conversation="c", session="s", ordinal=3, speaker="Ann", said_at=NOW)
        one = prepared("c/s/3", "I moved to 上海.", turn=turn, pieces=1)
        await show(ledger, one)
        async with ledger.transaction() as tx:
            (passage,) = (await tx.documents.visible(ACME, chunk_ids(one))).values()
        assert (passage.kind, passage.turn) == ("turn", turn)

    async def test_digests_know_what_is_pending_or_visible(self, ledger: Ledger) -> None:
        pending, shown, gone = prepared("a"), prepared("b"), prepared("c")
        await show(ledger, shown, gone)
        await put(ledger, pending)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [gone.revision.document_id])
            origins = [one.revision.origin for one in (pending, shown, gone)]
            found = await tx.documents.digests("acme", [*origins, "file:///new"])
            foreign = await tx.documents.digests("other", origins)
        assert found == {one.revision.origin: one.revision.item_digest for one in (pending, shown)}
        assert foreign == {}

    async def test_digests_tell_the_latest_put_of_an_origin(self, ledger: Ledger) -> None:
        old, new = prepared(body="old text", origin="o"), prepared(body="new text", origin="o")
        await show(ledger, old)
        await put(ledger, new)
        async with ledger.transaction() as tx:
            assert await tx.documents.digests("acme", ["o"]) == {"o": new.revision.item_digest}
        await put(ledger, old)
        async with ledger.transaction() as tx:
            assert await tx.documents.digests("acme", ["o"]) == {"o": old.revision.item_digest}

    async def test_digests_ignore_superseded_revisions(self, ledger: Ledger) -> None:
        old, new = prepared(body="old text", origin="o1"), prepared(body="new text", origin="o2")
        await show(ledger, old)
        await show(ledger, new)
        async with ledger.transaction() as tx:
            assert await tx.documents.digests("acme", ["o1"]) == {}

    async def test_offsets_point_into_the_text(self, ledger: Ledger) -> None:
        one = prepared(body="词 and words, 😀 too.", pieces=3)
        await show(ledger, one)
        async with ledger.transaction() as tx:
            text = await tx.documents.text(ACME, one.revision.revision_id)
            found = (await tx.documents.visible(ACME, chunk_ids(one))).values()
        assert text == one.revision.text
        chunks = [passage.chunk for passage in found]
        assert [text[each.start : each.end] for each in chunks] == [each.text for each in chunks]

    async def test_put_twice_writes_once(self, ledger: Ledger) -> None:
        one = prepared()
        assert await put(ledger, one, one) == 1
        before = await versions(ledger, one)
        assert await put(ledger, one) == 0
        assert await versions(ledger, one) == before
        await publish(ledger, one)
        await settle(ledger)
        assert await put(ledger, one) == 0
        assert await owed(ledger) == {}
        assert await visible(ledger, one) == {"guide.md@"}

    async def test_put_again_takes_over_the_item_digest(self, ledger: Ledger) -> None:
        one = prepared(origin="o")
        await show(ledger, one)
        again = replace(one, revision=replace(one.revision, item_digest="touched"))
        assert await put(ledger, again) == 0
        async with ledger.transaction() as tx:
            assert await tx.documents.digests("acme", ["o"]) == {"o": "touched"}
        elsewhere = replace(again, revision=replace(again.revision, origin="p"))
        assert await put(ledger, elsewhere) == 0
        async with ledger.transaction() as tx:
            assert await tx.documents.digests("acme", ["o", "p"]) == {"p": "touched"}

    async def test_put_needs_the_vectors_first(self, ledger: Ledger) -> None:
        one = prepared()
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match=r"chk_.*vector"):
                await tx.documents.put([one], now=NOW)
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint="another encoder")
            with pytest.raises(InvalidRequest, match=r"chk_.*vector"):
                await tx.documents.put([one], now=NOW)
            assert await tx.documents.counts(None) == {
                "documents": 0,
                "editions": 0,
                "chunks": 0,
                "turns": 0,
                "pending": 0,
            }

    async def test_put_owes_every_chunk(self, ledger: Ledger) -> None:
        one, two = prepared("a"), prepared("b")
        await put(ledger, one, two)
        assert await owed(ledger) == dict.fromkeys(chunk_ids(one, two), "upsert")
        numbers = await versions(ledger, one, two)
        assert len(set(numbers)) == 4
        assert min(numbers) > 0

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"body": "a\0b"}, "NUL"),
            ({"body": "a\ud800b"}, "surrogate"),
            ({"path": "a\0b"}, "NUL"),
            ({"metadata": {"title": "\udcff"}}, "surrogate"),
            ({"metadata": {"tags": ("ok", "\0")}}, "NUL"),
            ({"metadata": {"provenance": {"title": "\0"}}}, "NUL"),
            ({"metadata": {"authority": float("nan")}}, "authority"),
            ({"metadata": {"published_at": datetime(2024, 1, 1)}}, "time zone"),  # noqa: DTZ001
            ({"metadata": {"updated_at": BEFORE_TIME}}, "out of range"),
            ({"owner": ""}, "owner"),
            ({"edition": "9" * 501}, "500 bytes"),
            ({"body": ""}, "no chunks"),
        ],
    )
    async def test_put_refuses_by_name_what_cannot_be_kept(
        self, ledger: Ledger, change: dict[str, object], match: str
    ) -> None:
        one = prepared(**change)  # type: ignore[arg-type]  # one argument at a time
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([prepared()]), fingerprint=FINGERPRINT)
            with pytest.raises(InvalidRequest, match=match) as raised:
                await tx.documents.put([prepared(), one], now=NOW)
        assert one.revision.document_id in str(raised.value)
        assert await owed(ledger) == {}

    async def test_another_owner_cannot_take_over_a_document(self, ledger: Ledger) -> None:
        await show(ledger, prepared(owner="ann"))
        stolen = prepared(owner="bob", body="Something else entirely.")
        with pytest.raises(InvalidRequest, match="another tenant or owner"):
            await put(ledger, stolen)
        async with ledger.transaction() as tx:
            ann = Scope(tenant="acme", owner="ann")
            await tx.documents.delete(ann, [stolen.revision.document_id])
        await show(ledger, stolen)
        assert await visible(ledger, stolen, scope=Scope(tenant="acme", owner="bob")) == {
            "guide.md@"
        }

    async def test_publishable_waits_for_the_index_work(self, ledger: Ledger) -> None:
        one, two = prepared("a"), prepared("b")
        await put(ledger, one)
        await put(ledger, two)
        async with ledger.transaction() as tx:
            assert await tx.documents.publishable(limit=10) == {}
            entries = await tx.outbox.take(limit=3)
            await tx.outbox.done(entries)
            found = await tx.documents.publishable(limit=10)
        first, second = await versions(ledger, one)
        expected = {one.chunks[0].chunk_id: first, one.chunks[1].chunk_id: second}
        assert found == {one.revision.revision_id: expected}
        await settle(ledger)
        async with ledger.transaction() as tx:
            ids = [one.revision.revision_id, two.revision.revision_id]
            assert list(await tx.documents.publishable(limit=10)) == ids
            assert list(await tx.documents.publishable(limit=1)) == ids[:1]

    async def test_a_new_revision_supersedes_at_once(self, ledger: Ledger) -> None:
        old, new = prepared(body="old text here"), prepared(body="new text there")
        await show(ledger, old)
        await put(ledger, new)
        assert await visible(ledger, old, new) == {"guide.md@"}
        assert await visible(ledger, old) == {"guide.md@"}
        await settle(ledger)
        assert await publish(ledger, new) == 1
        assert await visible(ledger, old) == set()
        assert await visible(ledger, new) == {"guide.md@"}
        assert await owed(ledger) == dict.fromkeys(chunk_ids(old), "delete")
        async with ledger.transaction() as tx:
            assert [one.row for one in await tx.outbox.work(chunk_ids(old))] == [None, None]
            with pytest.raises(NotFound):
                await tx.documents.text(ACME, old.revision.revision_id)

    async def test_a_b_a_comes_back(self, ledger: Ledger) -> None:
        first, second = prepared(body="first text"), prepared(body="second text")
        await show(ledger, first)
        await show(ledger, second)
        await settle(ledger)
        before = await versions(ledger, second)
        assert await put(ledger, first) == 1
        assert await owed(ledger) == dict.fromkeys(chunk_ids(first), "upsert")
        assert min(await versions(ledger, first)) > max(before)
        assert await publish(ledger, first) == 1
        assert await visible(ledger, first) == {"guide.md@"}
        assert await visible(ledger, second) == set()

    async def test_of_two_pending_the_later_put_wins(self, ledger: Ledger) -> None:
        one, two = prepared(body="one text"), prepared(body="two text")
        await put(ledger, two)
        await put(ledger, one)
        assert await publish(ledger, two, one) == 1
        assert await visible(ledger, one) == {"guide.md@"}
        assert await visible(ledger, two) == set()

    async def test_an_earlier_put_published_late_changes_nothing(self, ledger: Ledger) -> None:
        early, late = prepared(body="early text"), prepared(body="late text")
        await put(ledger, early)
        await put(ledger, late)
        assert await publish(ledger, late) == 1
        assert await publish(ledger, early) == 0
        assert await visible(ledger, late) == {"guide.md@"}
        assert await visible(ledger, early) == set()

    async def test_put_again_while_a_change_is_pending_keeps_the_old(self, ledger: Ledger) -> None:
        kept, dropped = prepared(body="kept text"), prepared(body="dropped text")
        await show(ledger, kept)
        await put(ledger, dropped)
        await put(ledger, kept)
        assert await publish(ledger, dropped) == 0
        assert await visible(ledger, kept) == {"guide.md@"}
        assert (await owed(ledger))[dropped.chunks[0].chunk_id] == "delete"

    async def test_publishing_unknown_or_visible_revisions_is_no_work(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        await settle(ledger)
        assert await publish(ledger, one, prepared("other")) == 0
        assert await owed(ledger) == {}

    async def test_editions_live_side_by_side(self, ledger: Ledger) -> None:
        batch = [prepared(edition=key, body=f"text of {key}") for key in ("7.1", "7.5", "6.5", "")]
        await show(ledger, *batch)
        assert len(await visible(ledger, *batch)) == 4
        assert await newest(ledger, batch[0]) == {
            "7.5": True,
            "7.1": False,
            "6.5": False,
            "": False,
        }
        async with ledger.transaction() as tx:
            found = await tx.documents.visible(ACME, chunk_ids(*batch))
            listed = await tx.documents.editions(ACME, batch[0].revision.document_id)
        others = {found[one.chunks[0].chunk_id].other_editions for one in batch[:1]}
        assert others == {("7.5", "6.5")}
        assert found[batch[3].chunks[0].chunk_id].other_editions == ("7.5", "7.1", "6.5")
        assert [one.edition for one in listed] == ["7.5", "7.1", "6.5", ""]

    async def test_the_edition_key_decides_which_is_newest(self, ledger: Ledger) -> None:
        ten = prepared(edition="v10.0", edition_key="0010")
        nine = prepared(edition="v9.0", edition_key="0009", body="nine, and other text")
        await show(ledger, ten, nine)
        assert await newest(ledger, ten) == {"v10.0": True, "v9.0": False}

    async def test_a_flag_that_changes_is_indexed_again(self, ledger: Ledger) -> None:
        old, new = prepared(edition="7.1"), prepared(edition="7.5", body="text of 7.5 now")
        await show(ledger, old)
        await settle(ledger)
        before = await versions(ledger, old)
        await show(ledger, new)
        assert {key: value for key, value in (await owed(ledger)).items() if key in chunk_ids(old)}
        assert min(await versions(ledger, old)) > max(before)
        async with ledger.transaction() as tx:
            rows = [one.row for one in await tx.outbox.work(chunk_ids(old, new))]
            assert [row.fields["newest_edition"] for row in rows if row] == [
                False,
                False,
                True,
                True,
            ]

    async def test_editions_put_together_are_indexed_once(self, ledger: Ledger) -> None:
        batch = [prepared(edition=key, body=f"text of {key}") for key in ("7.5", "7.1", "8.0")]
        await put(ledger, *batch)
        await settle(ledger)
        await publish(ledger, *batch)
        assert await owed(ledger) == {}
        assert await newest(ledger, batch[0]) == {"8.0": True, "7.5": False, "7.1": False}

    async def test_deleting_is_immediate_and_complete(self, ledger: Ledger) -> None:
        old, new = prepared(body="old text, long"), prepared(body="new text, longer")
        other = prepared("other.md", "Unrelated words.")
        pending = prepared("pending.md", "Not yet shown.")
        await show(ledger, old, other)
        await show(ledger, new)
        await put(ledger, pending)
        await settle(ledger)
        ids = [new.revision.document_id, pending.revision.document_id, "doc_unknown"]
        async with ledger.transaction() as tx:
            assert await tx.documents.delete(ACME, ids) == 2
            assert await tx.documents.delete(ACME, ids) == 0
            keys = list(vectors_of([old, new, pending]))
            assert await tx.vectors.get(keys, fingerprint=FINGERPRINT) == {}
            for one in (old, new, pending):
                with pytest.raises(NotFound):
                    await tx.documents.text(ACME, one.revision.revision_id)
        assert await visible(ledger, old, new, pending, other) == {"other.md@"}
        work = await owed(ledger)
        assert {work[chunk] for chunk in chunk_ids(new, pending)} == {"delete"}
        async with ledger.transaction() as tx:
            assert (
                len(await tx.vectors.get(list(vectors_of([other])), fingerprint=FINGERPRINT)) == 2
            )

    async def test_of_what_was_deleted_neither_text_nor_chunk_is_left(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
            (held,) = await tx.forgetting.holdings("acme", [one.revision.document_id])
            (*states,) = (await tx.reconciling.states(chunk_ids(one))).values()
        assert (held.state, held.text, held.vector_keys) == ("deleted", "", ())
        assert {state.changed_at for state in states} == {None}

    async def test_a_vector_that_another_chunk_needs_stays(self, ledger: Ledger) -> None:
        one, twin = prepared("one.md"), prepared("twin.md")
        assert list(vectors_of([one])) == list(vectors_of([twin]))
        await show(ledger, one, twin)
        keys = list(vectors_of([one]))
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
            assert len(await tx.vectors.get(keys, fingerprint=FINGERPRINT)) == 2
            await tx.documents.delete(ACME, [twin.revision.document_id])
            assert await tx.vectors.get(keys, fingerprint=FINGERPRINT) == {}

    async def test_what_was_deleted_can_come_back(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [one.revision.document_id])
        deleted = await owed(ledger)
        assert set(deleted.values()) == {"delete"}
        assert await put(ledger, one) == 1
        assert await owed(ledger) == dict.fromkeys(chunk_ids(one), "upsert")
        await publish(ledger, one)
        assert await visible(ledger, one) == {"guide.md@"}
        async with ledger.transaction() as tx:
            assert await tx.documents.text(ACME, one.revision.revision_id) == one.revision.text

    @pytest.mark.parametrize("count", [1, 100, 101, 1001])
    async def test_delete_stops_nowhere(self, ledger: Ledger, count: int) -> None:
        batch = [prepared(f"{number}.md", f"text {number}", pieces=1) for number in range(count)]
        await show(ledger, *batch)
        async with ledger.transaction() as tx:
            ids = [one.revision.document_id for one in batch]
            assert await tx.documents.delete(ACME, ids) == count
        assert await visible(ledger, *batch) == set()

    async def test_retire_deletes_what_left_its_place(self, ledger: Ledger) -> None:
        kept, gone = prepared("kept.md", origin="f:///k"), prepared("gone.md", origin="f:///g")
        foreign = prepared("elsewhere.md", source="wiki", origin="g:///w")
        stranger = prepared("stranger.md", tenant="other", origin="f:///s")
        await show(ledger, kept, gone, foreign, stranger)
        async with ledger.transaction() as tx:
            keep = ["f:///k", "f:///x"]
            for count in (1, 0):
                assert count == await tx.documents.retire(
                    "acme", under=["f:///"], keep_origins=keep
                )
        assert await visible(ledger, kept, gone, foreign) == {"kept.md@", "elsewhere.md@"}
        assert await visible(ledger, stranger, scope=Scope(tenant="other")) == {"stranger.md@"}

    async def test_retire_takes_editions_one_by_one(self, ledger: Ledger) -> None:
        old = prepared(edition="7.1", origin="old")
        new = prepared(edition="7.5", origin="new", body="the text of 7.5")
        await show(ledger, old, new)
        await settle(ledger)
        async with ledger.transaction() as tx:
            assert (
                await tx.documents.retire("acme", under=["old", "new"], keep_origins=["old"]) == 1
            )
        assert await newest(ledger, old) == {"7.1": True}
        work = await owed(ledger)
        assert work == dict.fromkeys(chunk_ids(old), "upsert") | dict.fromkeys(
            chunk_ids(new), "delete"
        )

    async def test_retire_spares_an_edition_that_moved(self, ledger: Ledger) -> None:
        shown = prepared(origin="old place")
        moved = prepared(origin="new place", body="and changed its text")
        await show(ledger, shown)
        await put(ledger, moved)
        async with ledger.transaction() as tx:
            places = ["old place", "new place"]
            assert await tx.documents.retire("acme", under=places, keep_origins=places[1:]) == 0
        assert await visible(ledger, shown) == {"guide.md@"}

    async def test_requeue_owes_again_with_a_new_version(self, ledger: Ledger) -> None:
        one = prepared()
        await show(ledger, one)
        await settle(ledger)
        before = await versions(ledger, one)
        async with ledger.transaction() as tx:
            await tx.documents.requeue([one.chunks[0].chunk_id, "chk_ghost"])
        assert await owed(ledger) == {one.chunks[0].chunk_id: "upsert", "chk_ghost": "delete"}
        after = await versions(ledger, one)
        assert after[0] > max(before)
        assert after[1] == before[1]

    async def test_index_work_has_every_field(self, ledger: Ledger) -> None:
        moment = datetime(2024, 5, 1, 0, 0, 0, 1_999, tzinfo=UTC)
        turn = Turn(conversation="c", session="s", ordinal=0, speaker="A", said_at=moment)
        one = prepared("t", "a turn", turn=turn, metadata={"tags": ("x",)}, pieces=1)
        await put(ledger, one)
        async with ledger.transaction() as tx:
            (found,) = await tx.outbox.work(chunk_ids(one))
        assert found.row is not None
        assert found.row.fields.keys() == FIELDS.keys()
        expected = {"said_at": 1_714_521_600_001, "tags": ("x",), "owner": None, "session": "s"}
        assert {name: found.row.fields[name] for name in expected} == expected
        assert found.row.fields["newest_edition"] is True
        assert (found.indexed_text, found.language) == ("a turn", "en")
        ((_, vector),) = vectors_of([one]).items()
        assert set(found.vectors) == {FINGERPRINT}
        assert found.vectors[FINGERPRINT].tolist() == vector.tolist()

    async def test_metadata_defaults_survive(self, ledger: Ledger) -> None:
        one = prepared(metadata={"language": "und", "author": "", "product_version": None})
        await show(ledger, one)
        async with ledger.transaction() as tx:
            found = await tx.documents.visible(ACME, chunk_ids(one))
        assert found[one.chunks[0].chunk_id].metadata == Metadata(author="")
