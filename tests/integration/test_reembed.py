"""Everything is encoded anew beside the old, while documents come and go, and one can go back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from reembedding import ACME, House, document, hashing

from cluster.clock import FixedClock
from cluster.errors import EncoderChanged, InvalidRequest, ModelError, StoreUnavailable
from cluster.kill_points import REEMBED
from cluster.model import Generation
from cluster.models.hashing import HashingEmbedder
from cluster.models.token_vectors import pack
from cluster.settings import MilvusSettings, PostgresSettings
from cluster.stores.drift import DriftReport
from cluster.stores.memory.collections import MemoryCollections
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.milvus.collections import MilvusCollections
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Ledger, Prepared, VectorRow
from contract.milvus_lite import milvus_lite
from contract.postgres import wipe
from contract.samples import NOW, chunk_ids
from lifecycle import reembed as job
from lifecycle import token_fill
from lifecycle.reconcile import reconcile
from lifecycle.reembed import abort, estimate, finish, reembed, roll_back
from lifecycle.token_fill import Filled, fill_tokens

OLD, NEW, THIRD = hashing(48), hashing(32), hashing(24)


@pytest.fixture(scope="module")
def lite_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with milvus_lite(tmp_path_factory.mktemp("lite")) as server:
        yield server.uri


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.stores)])
async def house(request: pytest.FixtureRequest) -> AsyncIterator[House]:
    """`OLD` is active."""
    if request.param == "memory":
        house = House(MemoryLedger(), MemoryCollections())
    else:
        url = request.getfixturevalue("module_database_url")
        wipe(url)
        ledger: Ledger = await PostgresLedger.open(url, PostgresSettings())
        uri = request.getfixturevalue("lite_uri")
        house = House(ledger, MilvusCollections(uri=uri, token=None, settings=MilvusSettings()))
        await house.collections.drop([OLD, NEW, THIRD])
    await house.activate(OLD)
    yield house
    await house.ledger.close()


async def test_all_of_it_is_encoded_anew(house: House) -> None:
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(30)]
    async with house.indexing():
        await house.put(*batch)
        await house.shown(*batch)
        outcome = await reembed(NEW, house.tools(), grace=timedelta(hours=1))
        assert (outcome.state, outcome.former, outcome.active) == (
            "switched", OLD.fingerprint, NEW.fingerprint,
        )  # fmt: skip
        assert outcome.encoded == outcome.rows == 60
        assert outcome.recall >= 0.99
        assert await house.states() == {NEW.fingerprint: "active", OLD.fingerprint: "grace"}
        assert await house.held_by(NEW) == await house.wanted() == await house.held_by(OLD)
        for one in batch[:3]:
            chunk = one.chunks[0]
            for generation in (OLD, NEW):
                assert (await house.nearest(generation, chunk.text))[0] == chunk.chunk_id
        again = await reembed(NEW, house.tools())
        assert (again.state, again.encoded) == ("already active", 0)


async def test_documents_come_and_go_while_it_is_built(house: House) -> None:
    stays, gone, changed = (document(number, fingerprint=OLD.fingerprint) for number in range(3))
    new = [document(number, fingerprint=OLD.fingerprint) for number in range(10, 30)]
    async with house.indexing():
        await house.put(stays, gone, changed)
        await house.shown(stays, gone, changed)

        async def meanwhile() -> None:
            for at, one in enumerate(new):
                await house.put(one)
                if at == 5:
                    async with house.ledger.transaction() as tx:
                        await tx.documents.delete(ACME, [gone.revision.document_id])
                await asyncio.sleep(0.005)

        outcome, _ = await asyncio.gather(reembed(NEW, house.tools()), _until_refused(meanwhile()))
        assert outcome.state == "switched"
        async with house.ledger.transaction() as tx:
            assert not await tx.generations.backlog(NEW.fingerprint)
            await tx.documents.delete(ACME, [gone.revision.document_id])
        await house.settled()
        wanted = await house.wanted()
        assert await house.held_by(NEW) == wanted
        assert not set(chunk_ids(gone)) & wanted.keys()
        assert set(chunk_ids(stays, changed)) <= wanted.keys()


async def _until_refused(work: Coroutine[None, None, None]) -> None:
    """An ingest that goes on with the former encoder ends at the switch."""
    try:
        await work
    except EncoderChanged:
        return


async def test_after_the_switch_both_are_kept_until_one_goes_back(house: House) -> None:
    first = [document(number, fingerprint=OLD.fingerprint) for number in range(4)]
    since = [document(number, fingerprint=NEW.fingerprint) for number in range(10, 14)]
    async with house.indexing():
        await house.put(*first)
        await house.shown(*first)
        await reembed(NEW, house.tools())
        with pytest.raises(EncoderChanged, match=NEW.fingerprint):
            await house.put(document(99, fingerprint=OLD.fingerprint))
        await house.put(*since)
        async with house.ledger.transaction() as tx:
            await tx.documents.delete(ACME, [first[0].revision.document_id])
        await house.shown(*first[1:], *since)
        await house.settled()
        old = await house.held_by(OLD)
        assert old.keys() == set(chunk_ids(*first[1:]))
        outcome = await roll_back(house.tools())
        assert (outcome.former, outcome.active) == (NEW.fingerprint, OLD.fingerprint)
        assert outcome.encoded == 8
        assert await house.held_by(OLD) == await house.wanted() == await house.held_by(NEW)
        assert await house.states() == {OLD.fingerprint: "active", NEW.fingerprint: "grace"}
        await house.put(document(99, fingerprint=OLD.fingerprint))


async def test_finish_leaves_nothing_of_the_former(house: House) -> None:
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(4)]
    async with house.indexing():
        await house.put(*batch)
        await house.shown(*batch)
        await reembed(NEW, house.tools())
        assert await finish(house.tools()) == [OLD.fingerprint]
        assert await house.states() == {NEW.fingerprint: "active", OLD.fingerprint: "gone"}
        assert await house.collections.drop([OLD]) == 0
        async with house.ledger.transaction() as tx:
            assert await tx.generations.sizes(OLD.fingerprint) == (8, 8)
        with pytest.raises(InvalidRequest, match="nothing to go back to"):
            await roll_back(house.tools())
        assert await finish(house.tools()) == []
        back = await reembed(OLD, house.tools())
        assert (back.state, back.encoded) == ("switched", 8)
        assert await house.held_by(OLD) == await house.wanted()


async def test_a_grace_period_that_is_over_ends_with_the_next(house: House) -> None:
    one = document(1, fingerprint=OLD.fingerprint)
    async with house.indexing():
        await house.put(one)
        await house.shown(one)
        await reembed(NEW, house.tools(), grace=timedelta(hours=1))
        with pytest.raises(InvalidRequest, match="--finish"):
            await reembed(THIRD, house.tools())
        late = FixedClock(house.clock.now() + timedelta(hours=2))
        await reembed(THIRD, replace(house.tools(), clock=late))
        assert await house.states() == {
            THIRD.fingerprint: "active", NEW.fingerprint: "grace", OLD.fingerprint: "gone",
        }  # fmt: skip
        async with house.ledger.transaction() as tx:
            active = await tx.generations.active()
        assert active is not None
        assert active.chunked_as == OLD.fingerprint


async def test_abort_leaves_what_was(house: House) -> None:
    one = document(1, fingerprint=OLD.fingerprint)
    async with house.indexing():
        await house.put(one)
        await house.shown(one)
        async with house.ledger.transaction() as tx:
            await tx.generations.begin(NEW, now=house.clock.now())
        with pytest.raises(InvalidRequest, match="under way"):
            await reembed(THIRD, house.tools())
        assert await abort(house.tools()) == [NEW.fingerprint]
        assert await abort(house.tools()) == []
        assert await house.states() == {OLD.fingerprint: "active", NEW.fingerprint: "gone"}
        assert await house.collections.drop([NEW]) == 0
        assert await house.held_by(OLD) == await house.wanted()


class Died(BaseException):
    """In place of a kill."""


@pytest.mark.parametrize("point", REEMBED)
async def test_a_run_that_died_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    await goes_on(house, monkeypatch, point=point, time=1)


@pytest.mark.parametrize("house", ["memory"], indirect=True)
@pytest.mark.parametrize("point", REEMBED)
async def test_a_run_that_died_at_another_page_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The pages are the same on every store."""
    await goes_on(house, monkeypatch, point=point, time=2)


async def goes_on(house: House, monkeypatch: pytest.MonkeyPatch, *, point: str, time: int) -> None:
    left = [time]

    def die(at: str) -> None:
        if at == point:
            left[0] -= 1
            if left[0] == 0:
                raise Died(at)

    async def whole() -> None:
        await reembed(NEW, house.tools())
        await finish(house.tools())

    monkeypatch.setattr(job, "STALLED_S", 15.0)
    monkeypatch.setattr(job, "PAGE_TEXTS", 4)
    monkeypatch.setattr(job, "PAGE_CHUNKS", 4)
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(6)]
    async with house.indexing():
        await house.put(*batch)
        await house.shown(*batch)
        monkeypatch.setattr(job, "reached", die)
        try:
            await whole()
        except Died:
            monkeypatch.setattr(job, "reached", lambda _: None)
            await whole()
        else:
            assert time > 1
        assert await house.states() == {NEW.fingerprint: "active", OLD.fingerprint: "gone"}
        assert await house.held_by(NEW) == await house.wanted()
        assert await house.collections.drop([OLD]) == 0
        async with house.ledger.transaction() as tx:
            assert await tx.generations.sizes(OLD.fingerprint) == (12, 12)
            assert await tx.outbox.lag() == (0, timedelta(0))


async def test_a_chunk_that_is_too_long_is_told_before_anything_begins(house: House) -> None:
    long = document(1, fingerprint=OLD.fingerprint, pieces=1)
    short = replace(house.tools(), open_embedder=lambda to: HashingEmbedder(to.dim, max_tokens=9))
    async with house.indexing():
        await house.put(long)
        with pytest.raises(InvalidRequest, match=r"13 tokens.*takes 9.*chunk\.max_tokens below 9"):
            await reembed(NEW, short)
    assert await house.states() == {OLD.fingerprint: "active"}


async def test_an_estimate_changes_nothing(house: House) -> None:
    async with house.indexing():
        await house.put(*(document(number, fingerprint=OLD.fingerprint) for number in range(3)))
        told = await estimate(NEW, house.tools())
    assert (told.texts, told.of, told.longest, told.limit) == (6, 6, 9, 512)
    assert told.seconds >= 0
    assert await house.states() == {OLD.fingerprint: "active"}


async def test_a_row_that_was_lost_is_written_again_before_the_switch(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(5)]
    lost, ghost = batch[1].chunks[0].chunk_id, "chk_ghost"

    async def lose() -> None:
        index = await house.collections.open(NEW)
        row = (await _rows(house, batch[2].chunks[0].chunk_id))[0]
        await index.delete([lost])
        await index.upsert([replace(row, row=replace(row.row, chunk_id=ghost))])
        await index.close()

    async def compare(*asked: Any, **how: Any) -> DriftReport:
        await lose()
        return await reconcile(*asked, **how)

    monkeypatch.setattr(job, "reconcile", compare)
    async with house.indexing():
        await house.put(*batch)
        await house.shown(*batch)
        await reembed(NEW, house.tools())
        assert await house.held_by(NEW) == await house.wanted()


async def _rows(house: House, chunk_id: str) -> list[VectorRow]:
    async with house.ledger.transaction() as tx:
        work = await tx.outbox.work([chunk_id], fingerprints=[NEW.fingerprint])
    return [VectorRow(row=one.row, vector=one.vectors[NEW.fingerprint]) for one in work if one.row]


async def test_what_comes_while_it_is_verified_does_not_stop_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(4)]
    late = document(9, fingerprint=OLD.fingerprint)

    async def meanwhile(*asked: Any, **how: Any) -> DriftReport:
        await house.put(late)
        await house.shown(late)
        return await reconcile(*asked, **how)

    async with house.indexing():
        await house.put(*batch)
        await house.shown(*batch)
        monkeypatch.setattr(job, "reconcile", meanwhile)
        outcome = await reembed(NEW, house.tools())
        assert (outcome.state, outcome.encoded) == ("switched", 10)
        assert await house.held_by(NEW) == await house.wanted()


async def test_nothing_is_switched_when_the_index_does_not_find(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def poor(*_: object, **__: object) -> float:
        return 0.9

    monkeypatch.setattr(job, "recall_at_10", poor)
    async with house.indexing():
        await house.put(document(1, fingerprint=OLD.fingerprint))
        with pytest.raises(ModelError, match=r"90\.0%"):
            await reembed(NEW, house.tools())
    assert await house.states() == {OLD.fingerprint: "active", NEW.fingerprint: "building"}


async def test_an_indexer_that_does_nothing_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "STALLED_S", 0.3)
    await house.put(document(1, fingerprint=OLD.fingerprint))
    with pytest.raises(StoreUnavailable, match="palimpsest status"):
        await reembed(NEW, house.tools())


async def token_vectors(
    house: House, batch: Sequence[Prepared], to: Generation
) -> dict[str, bytes]:
    async with house.ledger.transaction() as tx:
        return await tx.vectors.tokens_of(ACME, chunk_ids(*batch), fingerprint=to.fingerprint)


def wanted_tokens(batch: Sequence[Prepared], to: Generation) -> dict[str, bytes]:
    embedder = HashingEmbedder(to.dim)
    chunks = [chunk for one in batch for chunk in one.chunks]
    _, tokens = embedder.embed_documents_with_tokens(
        [chunk.indexed_text for chunk in chunks], languages=["en"] * len(chunks)
    )
    return {
        chunk.chunk_id: pack(rows, recipe=embedder.token_recipe)
        for chunk, rows in zip(chunks, tokens, strict=True)
    }


@pytest.mark.parametrize("kept", [True, False])
async def test_a_new_generation_has_token_vectors_of_its_own(house: House, kept: bool) -> None:
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(3)]
    async with house.indexing():
        await house.put(*batch)
        await house.shown(*batch)
        await reembed(NEW, replace(house.tools(), token_vectors=kept))
    assert await token_vectors(house, batch, NEW) == (wanted_tokens(batch, NEW) if kept else {})
    assert await token_vectors(house, batch, OLD) == {}


@pytest.mark.parametrize("dies_at", [1, 2, 3])
async def test_missing_token_vectors_are_made_and_no_others(
    house: House, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """Also by a run that goes on after one that died."""
    left = [dies_at]

    def die(at: str) -> None:
        assert at == "tokens.put"
        left[0] -= 1
        if left[0] == 0:
            raise Died(at)

    monkeypatch.setattr(token_fill, "PAGE_TEXTS", 4)
    batch = [document(number, fingerprint=OLD.fingerprint) for number in range(5)]
    await house.put(*batch)
    async with house.ledger.transaction() as tx:
        await tx.documents.publish([one.revision.revision_id for one in batch], now=NOW)
        await tx.documents.delete(ACME, [batch[4].revision.document_id])
    monkeypatch.setattr(token_fill, "reached", die)
    with pytest.raises(Died) if dies_at <= 2 else nullcontext():
        await fill_tokens(house.tools())
    made = await token_vectors(house, batch, OLD)
    assert len(made) == min(8, 4 * dies_at)
    monkeypatch.setattr(token_fill, "reached", lambda _: None)
    done = await fill_tokens(house.tools())
    assert done == Filled(active=OLD.fingerprint, texts=8 - len(made))
    assert await token_vectors(house, batch, OLD) == wanted_tokens(batch[:4], OLD)
    assert (await fill_tokens(house.tools())).texts == 0
