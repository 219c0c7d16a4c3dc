"""What every ledger must do with encoder generations: build, switch, go back, forget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from cluster.errors import EncoderChanged, InvalidRequest, NotFound
from cluster.model import Generation, Scope
from cluster.stores.protocols import Backlog, Ledger, Prepared, Transaction
from contract.samples import (
    FINGERPRINT,
    NOW,
    chunk_ids,
    prepared,
    put,
    settle,
    show,
    vector_of,
    vectors_of,
)

OLD = Generation(fingerprint=FINGERPRINT, dim=8, recipe={"model": "old"})
NEW = Generation(fingerprint="new-encoder", dim=8, recipe={"model": "new"})
THIRD = Generation(fingerprint="third-encoder", dim=8, recipe={})
LATER = NOW + timedelta(hours=1)
DAY = timedelta(days=1)


async def start(ledger: Ledger, *batch: Prepared) -> None:
    """`OLD` is active with `batch` in it, `NEW` is being built, and nothing is owed."""
    async with ledger.transaction() as tx:
        await tx.generations.activate(OLD)
    if batch:
        await show(ledger, *batch)
        await settle(ledger)
    async with ledger.transaction() as tx:
        await tx.generations.begin(NEW, now=NOW)


async def encode(ledger: Ledger, *batch: Prepared, fingerprint: str = NEW.fingerprint) -> None:
    async with ledger.transaction() as tx:
        await tx.vectors.put(vectors_of(batch), fingerprint=fingerprint)


async def states(tx: Transaction) -> dict[str, str]:
    return {one.fingerprint: one.state for one in await tx.generations.known()}


async def switched(ledger: Ledger, to: Generation = NEW) -> Backlog:
    async with ledger.transaction() as tx:
        return await tx.generations.switch(to.fingerprint, now=LATER, grace=DAY)


class GenerationsContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_the_life_of_a_generation(self, ledger: Ledger) -> None:
        await start(ledger)
        async with ledger.transaction() as tx:
            live = await tx.generations.live()
            assert [(one.fingerprint, one.state) for one in live] == [
                (OLD.fingerprint, "active"),
                (NEW.fingerprint, "building"),
            ]
            assert (live[1].generation, live[1].started_at) == (NEW, NOW)
        assert not await switched(ledger)
        async with ledger.transaction() as tx:
            active, grace = await tx.generations.live()
            assert (active.fingerprint, active.activated_at) == (NEW.fingerprint, LATER)
            assert (grace.state, grace.retire_at) == ("grace", LATER + DAY)
            assert await tx.generations.active() == NEW
            await tx.generations.retire(OLD.fingerprint, now=LATER)
            await tx.generations.retire(OLD.fingerprint, now=LATER + DAY)
            ended = {one.fingerprint: one.ended_at for one in await tx.generations.known()}
            assert ended == {OLD.fingerprint: LATER, NEW.fingerprint: None}
            assert [one.state for one in await tx.generations.live()] == ["active"]
            assert await states(tx) == {NEW.fingerprint: "active", OLD.fingerprint: "gone"}

    async def test_what_may_not_begin(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="first ingest"):
                await tx.generations.begin(NEW, now=NOW)
        await start(ledger)
        async with ledger.transaction() as tx:
            await tx.generations.begin(NEW, now=LATER)
            assert (await tx.generations.live())[1].started_at == NOW
            with pytest.raises(InvalidRequest, match="already encoded by"):
                await tx.generations.begin(OLD, now=NOW)
            with pytest.raises(InvalidRequest, match="under way"):
                await tx.generations.begin(THIRD, now=NOW)
            with pytest.raises(InvalidRequest, match="switch to another first"):
                await tx.generations.retire(OLD.fingerprint, now=NOW)
            with pytest.raises(NotFound):
                await tx.generations.retire("ghost", now=NOW)
        await switched(ledger)
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="--roll-back"):
                await tx.generations.begin(OLD, now=NOW)
            with pytest.raises(InvalidRequest, match="--finish"):
                await tx.generations.begin(THIRD, now=NOW)
            await tx.generations.retire(OLD.fingerprint, now=LATER)
            await tx.generations.begin(OLD, now=LATER)
            assert await states(tx) == {NEW.fingerprint: "active", OLD.fingerprint: "building"}

    async def test_progress_is_kept_while_it_is_live(self, ledger: Ledger) -> None:
        await start(ledger)
        async with ledger.transaction() as tx:
            await tx.generations.note(NEW.fingerprint, {"done": 3, "of": 9.5})
            assert (await tx.generations.live())[1].progress == {"done": 3, "of": 9.5}
            await tx.generations.retire(NEW.fingerprint, now=LATER)
            await tx.generations.note(NEW.fingerprint, {"done": 4})
            await tx.generations.note("ghost", {"done": 4})
            await tx.generations.begin(NEW, now=LATER)
            assert (await tx.generations.live())[1].progress is None

    async def test_missing_texts_come_in_pages_each_once(self, ledger: Ledger) -> None:
        shown = [prepared(f"{number}.md", f"text of {number}", pieces=3) for number in range(4)]
        twin = prepared("twin.md", "text of 0", pieces=3, source="other")
        superseded = prepared("5.md", "before")
        await start(ledger, *shown, superseded)
        await show(ledger, prepared("5.md", "after it"))
        pending = prepared("pending.md", "not yet shown")
        await put(ledger, twin, pending)
        alive = [*shown, prepared("5.md", "after it"), pending]
        wanted = sorted(vectors_of(alive))
        async with ledger.transaction() as tx:
            generations = tx.generations
            found: list[str] = []
            after = ""
            while page := await generations.missing(NEW.fingerprint, after=after, limit=3):
                assert len(page) <= 3
                found += [one.vector_key for one in page]
                after = found[-1]
            assert found == wanted
            (text,) = await generations.missing(NEW.fingerprint, after=wanted[-2], limit=9)
            texts = {chunk.indexed_text for one in alive for chunk in one.chunks}
            assert text.indexed_text in texts
            assert text.language == "en"
            assert await generations.sizes(NEW.fingerprint) == (len(wanted), len(wanted))
            assert await generations.encoded(NEW.fingerprint, limit=99) == []
        await encode(ledger, *shown)
        async with ledger.transaction() as tx:
            left = await tx.generations.missing(NEW.fingerprint, limit=99)
            assert [one.vector_key for one in left] == sorted(vectors_of(alive[4:]))
            assert await tx.generations.sizes(NEW.fingerprint) == (len(wanted), len(left))
            ids = sorted(chunk_ids(*shown, twin))
            assert await tx.generations.encoded(NEW.fingerprint, limit=4) == ids[:4]
            rest = await tx.generations.encoded(NEW.fingerprint, after=ids[3], limit=99)
            assert rest == ids[4:]

    async def test_hold_names_the_chunks_of_a_text(self, ledger: Ledger) -> None:
        one, twin = prepared(), prepared("twin.md", source="other")
        gone = prepared("gone.md", "words that go")
        await start(ledger, one, twin, gone)
        async with ledger.transaction() as tx:
            await tx.documents.delete(Scope(tenant="acme"), [gone.revision.document_id])
            held = await tx.generations.hold(list(vectors_of([one, gone])))
        keys = list(vectors_of([one]))
        pairs = zip(one.chunks, twin.chunks, strict=True)
        assert held == {
            key: sorted(chunk.chunk_id for chunk in pair)
            for key, pair in zip(keys, pairs, strict=True)
        }

    async def test_what_is_held_stays_until_the_vectors_are_there(self, ledger: Ledger) -> None:
        async def delete() -> None:
            async with ledger.transaction() as tx:
                await tx.documents.delete(Scope(tenant="acme"), [one.revision.document_id])

        one = prepared()
        await start(ledger, one)
        keys = list(vectors_of([one]))
        async with ledger.transaction() as tx:
            await tx.generations.hold(keys)
            deleting = asyncio.create_task(delete())
            await asyncio.sleep(0.2)
            assert not deleting.done()
            await tx.vectors.put(vectors_of([one]), fingerprint=NEW.fingerprint)
        await deleting
        async with ledger.transaction() as tx:
            assert await tx.vectors.known(keys, fingerprint=NEW.fingerprint) == set()

    async def test_those_that_are_gone_come_last(self, ledger: Ledger) -> None:
        await start(ledger)
        async with ledger.transaction() as tx:
            await tx.generations.retire(NEW.fingerprint, now=LATER)
            await tx.generations.begin(THIRD, now=LATER)
            known = [one.fingerprint for one in await tx.generations.known()]
        assert known == [OLD.fingerprint, THIRD.fingerprint, NEW.fingerprint]

    async def test_no_switch_while_something_is_lacking(self, ledger: Ledger) -> None:
        one = prepared()
        await start(ledger, one)
        assert await switched(ledger) == Backlog(missing=2, owed=0)
        await encode(ledger, one)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one), target=NEW.fingerprint)
            assert await tx.generations.backlog(NEW.fingerprint) == Backlog(missing=0, owed=2)
        assert await switched(ledger) == Backlog(missing=0, owed=2)
        async with ledger.transaction() as tx:
            assert await tx.generations.active() == OLD
        await settle(ledger)
        pending = prepared("pending.md", "put at the last moment")
        await put(ledger, pending)
        assert (await switched(ledger)).missing == 2
        await encode(ledger, pending)
        assert not await switched(ledger)

    async def test_nothing_is_switched_to_what_is_not_there(self, ledger: Ledger) -> None:
        await start(ledger)
        for name in ("ghost", OLD.fingerprint):
            async with ledger.transaction() as tx:
                with pytest.raises(InvalidRequest, match="nothing can be switched"):
                    await tx.generations.switch(name, now=LATER, grace=DAY)

    async def test_one_goes_back_after_what_came_since_is_caught_up(self, ledger: Ledger) -> None:
        await start(ledger)
        await switched(ledger)
        since = prepared("since.md", fingerprint=NEW.fingerprint)
        await put(ledger, since)
        assert await switched(ledger, OLD) == Backlog(missing=2, owed=0)
        await encode(ledger, since, fingerprint=OLD.fingerprint)
        assert not await switched(ledger, OLD)
        async with ledger.transaction() as tx:
            assert await states(tx) == {OLD.fingerprint: "active", NEW.fingerprint: "grace"}
            active, grace = await tx.generations.live()
            assert active.retire_at is None
            assert grace.retire_at == LATER + DAY

    async def test_only_the_active_encoder_puts_documents(self, ledger: Ledger) -> None:
        await start(ledger)
        by_old, by_new = prepared(), prepared(fingerprint=NEW.fingerprint)
        await put(ledger, by_old)
        with pytest.raises(EncoderChanged, match=NEW.fingerprint):
            await put(ledger, by_new)
        with pytest.raises(EncoderChanged, match="run it again"):
            await put(ledger, prepared(fingerprint="nobody's"))
        await encode(ledger, by_old)
        assert not await switched(ledger)
        with pytest.raises(EncoderChanged, match=OLD.fingerprint):
            await put(ledger, prepared("more.md"))
        assert await put(ledger, by_old) == 0  # already there: nothing to encode
        await put(ledger, prepared("more.md", fingerprint=NEW.fingerprint))

    async def test_vectors_are_put_for_live_generations(self, ledger: Ledger) -> None:
        await start(ledger)
        await switched(ledger)
        await encode(ledger, prepared(), fingerprint=OLD.fingerprint)
        async with ledger.transaction() as tx:
            await tx.generations.retire(OLD.fingerprint, now=LATER)
        for name in (OLD.fingerprint, "ghost"):
            with pytest.raises(EncoderChanged):
                await encode(ledger, prepared(), fingerprint=name)

    async def test_vectors_of_a_generation_go_in_parts(self, ledger: Ledger) -> None:
        batch = [prepared(f"{number}.md", f"{number} text of {number}") for number in range(3)]
        await start(ledger, *batch)
        await encode(ledger, *batch)
        await switched(ledger)
        keys = sorted(vectors_of(batch))
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="not gone"):
                await tx.generations.erase_vectors(OLD.fingerprint, after="", limit=9)
            await tx.generations.retire(OLD.fingerprint, now=LATER)
            last = await tx.generations.erase_vectors(OLD.fingerprint, after="", limit=4)
            assert last == keys[3]
            assert await tx.vectors.known(keys, fingerprint=OLD.fingerprint) == set(keys[4:])
            last = await tx.generations.erase_vectors(OLD.fingerprint, after=keys[3], limit=4)
            assert last == keys[5]
            end = await tx.generations.erase_vectors(OLD.fingerprint, after=keys[5], limit=4)
            assert end is None
            assert await tx.vectors.known(keys, fingerprint=OLD.fingerprint) == set()
            assert await tx.vectors.known(keys, fingerprint=NEW.fingerprint) == set(keys)

    async def test_a_deleted_text_leaves_no_vector_of_any_encoder(self, ledger: Ledger) -> None:
        gone, stays = prepared("gone.md", "words that go"), prepared("stays.md")
        await start(ledger, gone, stays)
        await encode(ledger, gone, stays)
        async with ledger.transaction() as tx:
            await tx.documents.delete(Scope(tenant="acme"), [gone.revision.document_id])
            for one in (OLD, NEW):
                known = await tx.vectors.known(
                    list(vectors_of([gone, stays])), fingerprint=one.fingerprint
                )
                assert known == set(vectors_of([stays]))

    async def test_retiring_drops_what_was_owed(self, ledger: Ledger) -> None:
        one = prepared()
        await start(ledger, one)
        async with ledger.transaction() as tx:
            await tx.outbox.owe(chunk_ids(one), target=NEW.fingerprint)
            await tx.generations.retire(NEW.fingerprint, now=LATER)
            assert await tx.outbox.take(limit=9) == []

    async def test_nothing_is_owed_to_a_generation_that_is_gone(self, ledger: Ledger) -> None:
        """Nobody would ever work it off, and it would count as open for ever."""
        one = prepared()
        await start(ledger, one)
        await settle(ledger)

        async def owe_late() -> None:
            async with ledger.transaction() as tx:
                await tx.outbox.owe(chunk_ids(one), target=NEW.fingerprint)

        async with ledger.transaction() as tx:
            await tx.generations.retire(NEW.fingerprint, now=LATER)
            late = asyncio.create_task(owe_late())
            await asyncio.sleep(0.2)
        await late
        async with ledger.transaction() as tx:
            assert (await tx.outbox.lag())[0] == 0

    async def test_switch_and_puts_at_once_never_leave_a_text_behind(self, ledger: Ledger) -> None:
        await start(ledger)
        batch = [prepared(f"{number}.md", f"{number} text of {number}") for number in range(12)]

        async def write(one: Prepared) -> bool:
            try:
                await put(ledger, one)
            except EncoderChanged:
                return False
            return True

        async def catch_up() -> bool:
            await asyncio.sleep(0)
            async with ledger.transaction() as tx:
                texts = await tx.generations.missing(NEW.fingerprint, limit=99)
                if texts:
                    made = {one.vector_key: vector_of(one.vector_key) for one in texts}
                    await tx.vectors.put(made, fingerprint=NEW.fingerprint)
            return not await switched(ledger)

        results: Sequence[bool] = await asyncio.gather(*map(write, batch), catch_up())
        *written, done = results
        while not done:
            done = await catch_up()
        async with ledger.transaction() as tx:
            assert await tx.generations.backlog(NEW.fingerprint) == Backlog()
            texts, _ = await tx.generations.sizes(NEW.fingerprint)
            there = [one for one, was in zip(batch, written, strict=True) if was]
            assert texts == 2 * len(there)
