"""What every ledger must do in each call of `Forgetting` and `ForgetJobs`, one by one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cluster.errors import InvalidRequest, NotFound
from cluster.forget.key_files import KeyFile
from cluster.model import ItemProblem, Run, Scope
from cluster.stores.protocols import (
    ForgetJob,
    Ledger,
    Needles,
    Prepared,
    Selector,
    Support,
    Tombstone,
    UsageReport,
)
from contract.samples import FINGERPRINT, NOW, chunk_ids, prepared, put, show, vectors_of

ACME = Scope(tenant="acme")
LATER = NOW + timedelta(hours=1)
KEPT = "The tide table of the lighthouse hangs behind the blue door of the pantry."
DOCS = Selector(kind="source", value="docs")


def made_of(one: Prepared, *supports: str) -> Prepared:
    return replace(one, revision=replace(one.revision, derived_from=supports))


def document(one: Prepared) -> str:
    return one.revision.document_id


def origin(one: Prepared) -> str:
    return one.revision.origin


def job(name: str, *, tenant: str = "acme", at: datetime = NOW) -> ForgetJob:
    return ForgetJob(
        job_id=f"fgt_{name}",
        receipt_id=f"rcp_{name}",
        tenant=tenant,
        kind="item",
        selector="mark",
        state="draining",
        counts={"documents": 1},
        asked_at=at,
        waits_for="the indexes",
    )


async def start_run(ledger: Ledger, **arguments: str) -> None:
    run = Run(
        run_id="run-1",
        tenant="acme",
        arguments=arguments,
        state="running",
        started_at=NOW,
        finished_at=None,
        counts={},
    )
    async with ledger.transaction() as tx:
        await tx.runs.start(run)


class ForgetCallsContract:
    """Subclasses give the fixture `ledger`, empty, whose tombstone key is `key_file`."""

    @pytest.fixture
    def key_file(self, tmp_path: Path) -> KeyFile:
        return KeyFile(tmp_path / "keys" / "tombstone.key", setting="tests")

    async def test_no_call_reaches_beyond_the_tenant(self, ledger: Ledger) -> None:
        one = prepared("a.md", KEPT)
        note = made_of(prepared("note.md", "A note on it."), document(one), origin(one))
        both = [document(one), document(note)]
        await start_run(ledger, targets=origin(one))
        await show(ledger, one, note)
        needles = Needles(names=(origin(one),), samples=(KEPT,))
        async with ledger.transaction() as tx:
            f = tx.forgetting
            await tx.forget_jobs.add(job("1"), [])
            for selector in (DOCS, Selector(kind="item", value=origin(one))):
                assert await f.matching("other", selector, owner=None) == []
            assert await f.holdings("other", both) == []
            assert await f.derived("other", both, owner=None) == []
            assert await f.supports("other", both) == []
            assert not any((await f.erase("other", both)).values())
            assert await f.erase_former("other", both) == 0
            assert await f.detach("other", [document(one), origin(one)]) == 0
            scrubbed = await f.scrub("other", needles, selector=DOCS, run_ids=["run-1"])
            assert not any(scrubbed.values())
            assert await f.residue("other", needles) == []
            with pytest.raises(NotFound):
                await f.lift("other", job("1").receipt_id, now=NOW)
        async with ledger.transaction() as tx:
            assert len(await tx.documents.visible(ACME, chunk_ids(one, note))) == 4
            assert len(await tx.forgetting.supports("acme", both)) == 2
            run, _ = await tx.runs.get("acme", "run-1")
        assert run.arguments == {"targets": origin(one)}

    async def test_nothing_is_put_while_a_tenant_is_locked(self, ledger: Ledger) -> None:
        async def lock() -> None:
            async with ledger.transaction() as tx:
                await tx.forgetting.lock("acme")

        async with ledger.transaction() as tx:
            await tx.forgetting.lock("acme")
            late = asyncio.create_task(put(ledger, prepared("late.md")))
            await asyncio.sleep(0.2)
            assert not late.done()
        assert await late == 1
        one = prepared("a.md", KEPT)
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint=FINGERPRINT)
            await tx.documents.put([one], now=NOW)
            locking = asyncio.create_task(lock())
            await asyncio.sleep(0.2)
            assert not locking.done()
        await locking

    async def test_what_is_meant_and_held_in_whatever_state(self, ledger: Ledger) -> None:
        old, new = prepared("a.md", KEPT), prepared("a.md", "The table was moved.")
        gone, pending = prepared("gone.md", "It goes."), prepared("p.md", "Not yet shown.")
        anns, wiki = prepared("ann.md", "Of Ann.", owner="ann"), prepared("w.md", source="wiki")
        await show(ledger, old, gone, anns, wiki)
        await show(ledger, new)
        await put(ledger, pending)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [document(gone)])
            matching, holdings = tx.forgetting.matching, tx.forgetting.holdings
            meant = await matching("acme", DOCS, owner=None)
            assert meant == sorted(map(document, (new, gone, anns, pending)))
            assert await matching("acme", DOCS, owner="ann") == [document(anns)]
            held = await holdings("acme", [document(new), document(gone)])
        states = ((old, "superseded"), (new, "visible"), (gone, "deleted"))
        wanted = {one.revision.revision_id: state for one, state in states}
        assert [one.revision_id for one in held] == sorted(wanted)
        assert {one.revision_id: one.state for one in held} == wanted
        texts = {one.state: (one.text, len(one.vector_keys)) for one in held}
        assert texts["superseded"] == (KEPT, len(old.chunks))
        assert texts["deleted"] == ("", 0)

    async def test_supports_are_told_and_taken_away(self, ledger: Ledger) -> None:
        a, b = prepared("a.md", KEPT), prepared("b.md", "Another page of it.")
        note = made_of(prepared("note.md", "A note."), document(a), origin(b), "file:///never")
        await show(ledger, a, b, note)
        async with ledger.transaction() as tx:
            supports, detach = tx.forgetting.supports, tx.forgetting.detach
            alive = {document(a): (document(a),), origin(b): (document(b),), "file:///never": ()}
            told = await supports("acme", [document(note), document(a)])
            assert sorted(told, key=lambda one: one.support) == [
                Support(document_id=document(note), support=name, alive=alive[name])
                for name in sorted(alive)
            ]
            # What `b` was read from stays as long as `b` does.
            assert await detach("acme", [document(a), origin(b), "file:///never"]) == 2
            assert [one.support for one in await supports("acme", [document(note)])] == [origin(b)]

    async def test_erasing_tells_rows_by_table(self, ledger: Ledger) -> None:
        one = made_of(prepared("a.md", KEPT), "file:///of/this")
        old, new = prepared("b.md", "As it was."), prepared("b.md", "As it is now.")
        await show(ledger, one, old)
        await show(ledger, new)
        async with ledger.transaction() as tx:
            counts = await tx.forgetting.erase("acme", [document(one)])
            assert await tx.forgetting.owed(chunk_ids(one)) == len(one.chunks) == 2
            assert await tx.forgetting.erase_former("acme", [document(new)]) == 1
            assert await tx.forgetting.erase_former("acme", [document(new)]) == 0
            held = await tx.forgetting.holdings("acme", [document(one), document(new)])
            known = await tx.vectors.known(
                list(vectors_of([one, old, new])), fingerprint=FINGERPRINT
            )
        told = ("documents", "revisions", "chunks", "lineage", "embeddings")
        assert {name: counts[name] for name in told} == dict(
            zip(told, (1, 1, 2, 1, 2), strict=True)
        )
        assert [each.revision_id for each in held] == [new.revision.revision_id]
        assert known == set(vectors_of([new]))

    async def test_scrubbing_twice_is_once(self, ledger: Ledger) -> None:
        name = "file:///home/x/secret.md"
        await start_run(ledger, targets=f"{name}\nfile:///home/x/rest.md")
        problem = ItemProblem(origin=name, stage="parse", outcome="failed", kind="x", reason="y")
        counts = []
        async with ledger.transaction() as tx:
            await tx.runs.add_problems("run-1", [problem])
            for _ in range(2):
                needles = Needles(names=(name,))
                counts.append(await tx.forgetting.scrub("acme", needles, selector=DOCS, run_ids=()))
            run, problems = await tx.runs.get("acme", "run-1")
        assert (counts[0]["runs"], counts[0]["run_problems"]) == (1, 1)
        assert not any(counts[1].values())
        assert name not in run.arguments["targets"]
        assert problems == []

    async def test_an_upload_is_scrubbed_with_the_last_that_it_brought(
        self, ledger: Ledger
    ) -> None:
        said = {"name": "box.zip", "title": "What Ann keeps in the box"}
        await start_run(ledger, **said)
        one = prepared("a.md", KEPT, origin="upload:/box.zip")
        other = prepared("b.md", "Beside it.", origin="upload:/box.zip?b")
        await show(ledger, one, other)
        named = Needles(names=("upload:/box.zip",))
        async with ledger.transaction() as tx:
            await tx.uploads.put(
                "run-2", "acme", name="box.zip", media_type=None, content=b"x", arguments=said
            )

            async def scrub(*, uploads: bool) -> dict[str, str]:
                await tx.forgetting.scrub(
                    "acme", named, selector=DOCS, run_ids=["run-1"], uploads=uploads
                )
                run, _ = await tx.runs.get("acme", "run-1")
                return dict(run.arguments)

            await tx.forgetting.erase("acme", [document(one)])
            assert await scrub(uploads=False) == said
            assert await tx.uploads.waiting() == ["run-2"]
            await tx.forgetting.erase("acme", [document(other)])
            assert "title" not in await scrub(uploads=True)
            assert await tx.uploads.waiting() == []

    async def test_residue_is_found_in_every_place(self, ledger: Ledger) -> None:
        lost = "file:///home/x/lost.md"
        one, note = prepared("a.md", "Words."), made_of(prepared("note.md", "A note."), lost)
        await show(ledger, one, note)
        await start_run(ledger, targets=lost)
        problem = ItemProblem(origin=lost, stage="parse", outcome="failed", kind="x", reason="y")
        used = tuple(chunk_ids(one))
        artifact = UsageReport(search_id="srch_" + "a" * 20, used=used, artifact=KEPT)
        async with ledger.transaction() as tx:
            await tx.runs.add_problems("run-1", [problem])
            content = f"… {KEPT} …".encode()
            await tx.uploads.put(
                "run-2", "acme", name="n", media_type=None, content=content, arguments={}
            )
            await tx.usage.report(ACME, artifact, now=NOW)

            async def places(needles: Needles) -> dict[str, int]:
                found = await tx.forgetting.residue("acme", needles)
                return {each.place.split(".")[0]: each.rows for each in found}

            assert await places(Needles(names=(lost,), samples=(KEPT,))) == {
                "lineage": 1,
                "runs": 1,
                "run_problems": 1,
                "uploads": 1,
                "usage_events": len(used),
            }
            of_ids = await places(Needles(ids=(document(one), *used)))
            assert of_ids.keys() >= {"documents", "outbox", "usage_events"}

    async def test_tombstones_are_of_one_key(
        self, ledger: Ledger, key_file: KeyFile, tmp_path: Path
    ) -> None:
        async def bury(*marks: str) -> None:
            async with ledger.transaction() as tx:
                stones = [Tombstone(mark=mark) for mark in marks]
                await tx.forgetting.bury("acme", "rcp_1", stones, now=NOW)

        key_file.make()
        await bury("one", "two")
        await bury()
        async with ledger.transaction() as tx:
            await tx.forgetting.bury("acme", "rcp_2", [Tombstone(mark="three")], now=NOW)
        key_file.path.rename(tmp_path / "kept")
        key_file._held = None  # noqa: SLF001  # as in a process that starts anew
        key_file.make()
        for marks in (("four",), ()):
            with pytest.raises(InvalidRequest, match="another key"):
                await bury(*marks)
        async with ledger.transaction() as tx:
            await tx.forget_jobs.add(job("1"), [])
            assert await tx.forgetting.lift("acme", "rcp_1", now=NOW) == 2
            assert await tx.forgetting.lift("acme", "rcp_1", now=NOW) == 0
            with pytest.raises(NotFound):
                await tx.forgetting.lift("acme", "rcp_ghost", now=NOW)

    async def test_what_stays_is_residue_by_its_ids_alone(self, ledger: Ledger) -> None:
        one = prepared("a.md", KEPT, metadata={"title": "Of the lighthouse"})
        await show(ledger, one)
        async with ledger.transaction() as tx:
            residue = tx.forgetting.residue
            words = Needles(names=("a.md", "Of the lighthouse", origin(one)), samples=(KEPT,))
            assert await residue("acme", words) == []
            for value in (document(one), one.chunks[0].chunk_id):
                assert await residue("acme", Needles(ids=(value,))) != []

    async def test_jobs_from_asking_to_the_receipt(self, ledger: Ledger) -> None:
        first, theirs, last = (
            job("1"),
            job("2", tenant="other", at=LATER),
            job("0", at=LATER + (LATER - NOW)),
        )
        async with ledger.transaction() as tx:
            jobs = tx.forget_jobs
            for each in (last, theirs, first):
                await jobs.add(each, [b"one", b"two"])
            assert await jobs.unfinished() == [first, theirs, last]
            assert await jobs.latest("acme", "mark") == last
            assert await jobs.latest("acme", "another mark") is None
            assert await jobs.get("acme", "fgt_1") == first
            assert await jobs.of_receipt("acme", "rcp_1") == first
            for tenant, name in (("acme", "ghost"), ("other", "1")):
                with pytest.raises(NotFound):
                    await jobs.get(tenant, f"fgt_{name}")
                with pytest.raises(NotFound):
                    await jobs.of_receipt(tenant, f"rcp_{name}")
            assert await jobs.work("fgt_1") == [b"one", b"two"]
            with pytest.raises(NotFound):
                await jobs.receipt("acme", "rcp_1")
            assert await jobs.finish("fgt_1", body="signed", now=LATER)
            assert await jobs.receipt("acme", "rcp_1") == "signed"
            assert await jobs.work("fgt_1") == []
            assert await jobs.unfinished() == [theirs, last]

    async def test_unneeded_vectors_of_every_encoder_go(self, ledger: Ledger) -> None:
        one, never = prepared("a.md", KEPT), prepared("b.md", "Never put.")
        await show(ledger, one)
        async with ledger.transaction() as tx:
            for fingerprint in (FINGERPRINT, "another"):
                await tx.vectors.put(vectors_of([one, never]), fingerprint=fingerprint)
        async with ledger.transaction() as tx:
            assert (await tx.vectors.drop_unneeded(after="", limit=99))[0] == 4
            for fingerprint in (FINGERPRINT, "another"):
                keys = list(vectors_of([one, never]))
                known = await tx.vectors.known(keys, fingerprint=fingerprint)
                assert known == set(vectors_of([one]))

    async def test_a_vector_that_is_just_being_put_for_stays(self, ledger: Ledger) -> None:
        async def drop() -> int:
            async with ledger.transaction() as tx:
                return (await tx.vectors.drop_unneeded(after="", limit=99))[0]

        one = prepared("a.md", KEPT)
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint=FINGERPRINT)
        async with ledger.transaction() as tx:
            assert await tx.documents.put([one], now=NOW) == 1
            dropping = asyncio.create_task(drop())
            await asyncio.sleep(0.2)
        assert await dropping == 0
        async with ledger.transaction() as tx:
            keys = list(vectors_of([one]))
            assert await tx.vectors.known(keys, fingerprint=FINGERPRINT) == set(keys)
            assert await tx.forgetting.drop_vectors([]) == 0
