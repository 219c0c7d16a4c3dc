"""What every ledger must do to forget, sentence by sentence of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cluster.errors import Forgotten, InvalidRequest, NotFound
from cluster.forget.key_files import KeyFile
from cluster.forget.marks import MarkKey
from cluster.forget.request import Plan, Wish, Work, forget, may_see, plan_of, preview, unseal
from cluster.model import ItemProblem, Run, Scope, Turn
from cluster.stores.protocols import (
    ForgetJob,
    Ledger,
    Prepared,
    Selector,
    Shown,
    UsageReport,
)
from contract.samples import NOW, chunk_ids, prepared, put, settle, show, vectors_of
from lifecycle.residue import present_needles

ACME = Scope(tenant="acme")
LATER = NOW + timedelta(hours=1)
KEPT = "Marlene keeps the spare key of the boathouse under the third stone."
ZWEI = "玛琳把船屋的备用钥匙放在第三块石头下面，只有她一个人知道这件事情。"


def made_of(one: Prepared, *supports: str) -> Prepared:
    return replace(one, revision=replace(one.revision, derived_from=supports))


def origin(one: Prepared) -> str:
    return one.revision.origin


def document(one: Prepared) -> str:
    return one.revision.document_id


def turn(session: str, ordinal: int, body: str, conversation: str = "c") -> Prepared:
    said = Turn(
        conversation=conversation, session=session, ordinal=ordinal, speaker="Ann", said_at=NOW
    )
    return prepared(f"{conversation}/{session}/{ordinal}", body, turn=said, pieces=1)


class ForgettingContract:
    """Subclasses give the fixture `ledger`, empty, whose tombstone key is `key_file`."""

    @pytest.fixture
    def key_file(self, tmp_path: Path) -> KeyFile:
        return KeyFile(tmp_path / "keys" / "tombstone.key", setting="tests")

    @pytest.mark.parametrize("kind", ["item", "document"])
    async def test_a_document_leaves_no_row(
        self, ledger: Ledger, key_file: KeyFile, kind: str
    ) -> None:
        one, other = prepared("a.md", KEPT), prepared("b.md", "Something else altogether.")
        await show(ledger, one, other)
        job = await self.forget(ledger, key_file, kind, document(one))
        assert (job.counts["documents"], job.counts["chunks"]) == (1, len(one.chunks))
        assert (job.counts["revisions"], job.counts["embeddings"]) == (1, len(one.chunks))
        await settle(ledger)
        assert await self.left(ledger, one) == ([], [])
        async with ledger.transaction() as tx:
            assert (
                await tx.forgetting.residue(
                    "acme", self.work(job, key_file, await tx.forget_jobs.work(job.job_id)).needles
                )
                == []
            )
            assert len(await tx.documents.visible(ACME, chunk_ids(other))) == len(other.chunks)

    async def test_an_item_is_named_by_origin_or_chunk(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one, two = prepared("a.md", KEPT), prepared("b.md", ZWEI)
        await show(ledger, one, two)
        await self.forget(ledger, key_file, "item", origin(one))
        await self.forget(ledger, key_file, "item", two.chunks[0].chunk_id)
        assert await self.left(ledger, one, two) == ([], [])

    async def test_all_revisions_go_the_deleted_and_superseded_too(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        old, new = prepared("a.md", KEPT), prepared("a.md", "The key was moved elsewhere.")
        await show(ledger, old)
        await show(ledger, new)
        async with ledger.transaction() as tx:
            await tx.documents.delete(ACME, [document(new)])
        job = await self.forget(ledger, key_file, "document", document(new))
        assert job.counts["revisions"] == 2
        async with ledger.transaction() as tx:
            assert await tx.forgetting.holdings("acme", [document(new)]) == []

    async def test_a_source_an_owner_a_session_a_conversation(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        mine = prepared("m.md", "What only Ann has to know of it.", owner="ann")
        sourced = prepared("s.md", "A page of the other source.", source="wiki")
        said = [turn("s1", at, f"In session one, line {at}.") for at in range(3)]
        more = turn("s2", 0, "In session two, of the same conversation.")
        else_ = turn("s3", 0, "In session three of another one.", conversation="d")
        rest = prepared("r.md", "A page that stays where it is.")
        await show(ledger, mine, sourced, *said, more, else_, rest)
        counts = []
        for kind, value in (
            ("owner", "ann"),
            ("source", "wiki"),
            ("session", "s1"),
            ("conversation", "c"),
        ):
            job = await self.forget(ledger, key_file, kind, value)
            counts.append(job.counts.get("documents", 0))
        assert counts == [1, 1, 3, 1]
        _, left = await self.left(ledger, mine, sourced, *said, more, else_, rest)
        assert left == sorted(chunk_ids(else_, rest))

    async def test_a_key_of_an_owner_reaches_its_own_rows_only(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        shared, mine = prepared("a.md", KEPT), prepared("b.md", ZWEI, owner="ann")
        await show(ledger, shared, mine)
        with pytest.raises(NotFound):
            await self.forget(ledger, key_file, "document", document(shared), owner="ann")
        job = await self.forget(ledger, key_file, "source", "docs", owner="ann")
        assert job.counts["documents"] == 1

    async def test_unknown_items_are_not_found_nor_those_of_another_tenant(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one = prepared("a.md", KEPT, tenant="other")
        await show(ledger, one)
        with pytest.raises(NotFound):
            await self.forget(ledger, key_file, "item", document(one))
        with pytest.raises(InvalidRequest, match="name what"):
            Wish(tenant="acme", selector=Selector(kind="owner", value=" "))

    async def test_two_tenants_with_the_same_bytes(self, ledger: Ledger, key_file: KeyFile) -> None:
        mine, theirs = prepared("a.md", KEPT), prepared("a.md", KEPT, tenant="other")
        await show(ledger, mine, theirs)
        job = await self.forget(ledger, key_file, "document", document(mine))
        assert job.counts["embeddings"] == 0
        async with ledger.transaction() as tx:
            found = await tx.documents.visible(Scope(tenant="other"), chunk_ids(theirs))
            keys = list(vectors_of([theirs]))
            assert await tx.vectors.known(keys, fingerprint="test-encoder") == set(keys)
        assert sorted(found) == sorted(chunk_ids(theirs))
        again = prepared("a.md", KEPT, tenant="other", metadata={"title": "New title"})
        assert await put(ledger, again) == 1

    @pytest.mark.parametrize(
        "again",
        [
            prepared("a.md", KEPT),
            prepared("elsewhere.md", KEPT),
            prepared("a.md", f"  {KEPT.upper()}\n\n"),
            prepared("a.md", KEPT, metadata={"title": "Another title"}),
            prepared("a.md", "The same place with other words in it."),
        ],
    )
    async def test_what_was_forgotten_stays_away_until_lifted(
        self, ledger: Ledger, key_file: KeyFile, again: Prepared
    ) -> None:
        one = prepared("a.md", KEPT)
        await show(ledger, one)
        job = await self.forget(ledger, key_file, "document", document(one))
        with pytest.raises(Forgotten, match=f"2026-05-01, receipt {job.receipt_id}"):
            await put(ledger, again)
        async with ledger.transaction() as tx:
            reasons = await tx.forgetting.refused([again.revision])
            assert list(reasons) == [again.revision.revision_id]
            assert await tx.forgetting.lift("acme", job.receipt_id, now=LATER) > 0
        assert await put(ledger, again) == 1
        async with ledger.transaction() as tx:
            assert (await tx.forget_jobs.get("acme", job.job_id)).lifted_at == LATER

    async def test_a_cleaned_item_may_come_back_to_its_place(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one = prepared("a.md", KEPT)
        await show(ledger, one)
        await self.forget(ledger, key_file, "item", document(one))
        assert await put(ledger, prepared("a.md", "Nothing to be seen here.")) == 1
        with pytest.raises(Forgotten):
            await put(ledger, one)

    async def test_what_a_document_that_stays_says_it_may_say_again(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one, twin = prepared("a.md", KEPT), prepared("b.md", KEPT)
        await show(ledger, one, twin)
        await self.forget(ledger, key_file, "document", document(one))
        assert await put(ledger, prepared("b.md", KEPT, metadata={"title": "Twin"})) == 1
        with pytest.raises(Forgotten):
            await put(ledger, prepared("c.md", KEPT))

    async def test_what_others_made_of_an_owners_stays_and_is_counted(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        mine = prepared("m.md", KEPT, owner="ann")
        own = made_of(prepared("own.md", "A note of Ann.", owner="ann"), document(mine))
        theirs = made_of(prepared("bobs secret.md", ZWEI, owner="bob"), document(mine), origin(own))
        shared = made_of(prepared("shared.md", "For everybody here."), origin(mine))
        back = made_of(prepared("back.md", "Made of Bob's.", owner="ann"), document(theirs))
        await show(ledger, mine, own, theirs, shared, back)
        selector = Selector(kind="document", value=document(mine))
        seen = {}
        for owner in ("ann", None):
            async with ledger.transaction() as tx:
                seen[owner] = await preview(tx, Wish(tenant="acme", selector=selector, owner=owner))
        assert seen["ann"].plan == Plan(
            named=(document(mine),), derived=(document(own),), recompute=(), others=2
        )
        assert (len(seen[None].plan.documents), seen[None].plan.others) == (5, 0)
        named = {line.split()[0] for line in seen["ann"].shown}
        assert named == {document(mine), document(own)}
        job = await self.forget(ledger, key_file, "document", document(mine), owner="ann")
        rows, _ = await self.left(ledger, mine, own, theirs, shared, back)
        assert rows == sorted(map(document, (theirs, shared, back)))
        await settle(ledger)
        async with ledger.transaction() as tx:
            left = await tx.forgetting.supports("acme", [document(theirs), document(shared)])
            assert left == []
            work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
            assert work.others == 2
            assert await tx.forgetting.residue("acme", work.needles) == []

    async def test_what_an_owner_had_forgotten_others_may_have(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        await show(ledger, prepared("a.md", KEPT, owner="ann"))
        await self.forget(ledger, key_file, "owner", "ann")
        assert await put(ledger, prepared("b.md", KEPT, owner="bob")) == 1
        for owner in ("ann", None):
            with pytest.raises(Forgotten):
                await put(ledger, prepared("c.md", KEPT, owner=owner))

    async def test_a_short_turn_is_kept_away_from_its_session_only(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        await show(ledger, turn("s1", 0, "好的"))
        await self.forget(ledger, key_file, "session", "s1")
        assert await put(ledger, turn("s2", 0, "好的")) == 1
        with pytest.raises(Forgotten):
            await put(ledger, turn("s1", 5, "好 的"))

    @pytest.mark.parametrize(
        ("kind", "value", "late"),
        [
            ("owner", "ann", prepared("n.md", "New words of Ann.", owner="ann")),
            ("source", "docs", prepared("n.md", "New words of the source.")),
            ("session", "s1", turn("s1", 9, "New words in the session, quite many of them.")),
            ("conversation", "c", turn("s1", 9, "New words in it, quite many of them as well.")),
        ],
    )
    async def test_work_that_is_under_way_brings_nothing_back(
        self, ledger: Ledger, key_file: KeyFile, kind: str, value: str, late: Prepared
    ) -> None:
        await self.run(ledger, "run-1", at=NOW - timedelta(minutes=1))
        await self.run(ledger, "run-2", at=LATER)
        await self.forget(ledger, key_file, kind, value)
        with pytest.raises(Forgotten):
            await put(ledger, late)
        afterwards = replace(late, revision=replace(late.revision, run_id="run-2"))
        assert await put(ledger, afterwards) == 1

    async def test_without_the_right_key_nothing_is_put(
        self, ledger: Ledger, key_file: KeyFile, tmp_path: Path
    ) -> None:
        one = prepared("a.md", KEPT)
        await show(ledger, one)
        await self.forget(ledger, key_file, "document", document(one))
        key_file.path.rename(tmp_path / "kept")
        key_file._held = None  # noqa: SLF001  # as in a process that starts anew
        with pytest.raises(InvalidRequest, match="tombstone_key_file"):
            await put(ledger, prepared("b.md", "Unsuspected."))
        key_file.make()
        with pytest.raises(InvalidRequest, match="another key"):
            await put(ledger, prepared("b.md", "Unsuspected."))
        assert await put(ledger, prepared("b.md", "Unsuspected.", tenant="other")) == 1

    async def test_asked_twice_there_is_one_job(self, ledger: Ledger, key_file: KeyFile) -> None:
        one = prepared("a.md", KEPT)
        await show(ledger, one)
        first = await self.forget(ledger, key_file, "document", document(one))
        again = await self.forget(ledger, key_file, "document", document(one))
        assert again == first
        async with ledger.transaction() as tx:
            assert [job.job_id for job in await tx.forget_jobs.unfinished()] == [first.job_id]
            assert await tx.forget_jobs.finish(first.job_id, body="signed", now=LATER)
        async with ledger.transaction() as tx:
            assert not await tx.forget_jobs.finish(first.job_id, body="twice", now=LATER)
            assert await tx.forget_jobs.receipt("acme", first.receipt_id) == "signed"
            assert await tx.forget_jobs.work(first.job_id) == []
            assert await tx.forget_jobs.unfinished() == []
            with pytest.raises(NotFound):
                await tx.forget_jobs.receipt("other", first.receipt_id)
            with pytest.raises(NotFound):
                await tx.forget_jobs.get("other", first.job_id)

    async def test_a_job_tells_by_a_hash_who_asked(self, ledger: Ledger, key_file: KeyFile) -> None:
        mine, theirs = prepared("a.md", KEPT, owner="ann"), prepared("b.md", ZWEI)
        await show(ledger, mine, theirs)
        of_ann = await self.forget(ledger, key_file, "document", document(mine), owner="ann")
        of_all = await self.forget(ledger, key_file, "document", document(theirs))
        async with ledger.transaction() as tx:
            jobs = [await tx.forget_jobs.get("acme", one.job_id) for one in (of_ann, of_all)]
            assert await tx.forget_jobs.of_receipt("acme", of_ann.receipt_id) == of_ann
        assert jobs == [of_ann, of_all]
        assert "ann" not in (of_ann.asked_by or "ann")
        seen = {
            owner: [may_see(job, owner=owner, key_file=key_file) for job in jobs]
            for owner in ("ann", "bob", None)
        }
        assert seen == {"ann": [True, False], "bob": [False, False], None: [True, True]}
        nowhere = KeyFile(key_file.path.with_name("none"), setting="tests")
        assert not may_see(of_ann, owner="ann", key_file=nowhere)

    async def test_derived_items_go_with_their_last_support(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        a, b = prepared("a.md", KEPT), prepared("b.md", ZWEI)
        only = made_of(prepared("only.md", "A summary of the first alone."), origin(a))
        both = made_of(prepared("both.md", "A note merged out of both."), document(a), origin(b))
        deep = made_of(prepared("deep.md", "要点：由只依据第一篇的摘要而成。"), document(only))
        ring = [
            made_of(prepared("x.md", "Ring one of two."), document(a), document(prepared("y.md"))),
            made_of(prepared("y.md", "Ring two of two."), document(prepared("x.md"))),
        ]
        await show(ledger, a, b, only, both, deep, *ring)
        async with ledger.transaction() as tx:
            wish = Wish(tenant="acme", selector=Selector(kind="item", value=document(a)))
            plan = await plan_of(tx, wish)
            seen = await preview(tx, wish)
        gone = (only, deep, *ring)
        assert plan == Plan(
            named=(document(a),),
            derived=tuple(sorted(map(document, gone))),
            recompute=(document(both),),
        )
        assert (seen.revisions, len(seen.shown)) == (5, 5)
        await self.forget(ledger, key_file, "item", document(a))
        _, left = await self.left(ledger, a, b, only, both, deep, *ring)
        assert left == sorted(chunk_ids(b, both))
        job = await self.forget(ledger, key_file, "item", document(b))
        assert job.counts["documents"] == 2

    async def test_two_documents_of_one_origin_both_hold_what_was_made_of_it(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        place = "file:///shared/log.md"
        mine = prepared("mine.md", KEPT, owner="ann", origin=place)
        shared = prepared("shared.md", ZWEI, origin=place)
        note = made_of(prepared("note.md", "A note made of the log."), place)
        await show(ledger, mine, shared, note)
        job = await self.forget(ledger, key_file, "item", document(mine))
        await settle(ledger)
        _, left = await self.left(ledger, mine, shared, note)
        assert left == sorted(chunk_ids(shared, note))
        async with ledger.transaction() as tx:
            work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
            needles = await present_needles(tx, "acme", work)
            assert place in work.needles.names
            assert await tx.forgetting.residue("acme", needles) == []
        await self.forget(ledger, key_file, "item", document(shared))
        assert await self.left(ledger, mine, shared, note) == ([], [])

    async def test_runs_problems_and_uploads_name_it_no_more(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        upload = prepared("notes/secret.md", KEPT, origin="upload:/notes/secret.md")
        upload = replace(upload, revision=replace(upload.revision, run_id="up"))
        filed = prepared("secret.md", ZWEI, origin="file:///home/x/secret.md")
        told = {"name": "notes/secret.md", "title": "Of the boathouse", "author": "M."}
        await self.run(ledger, "up", arguments=told)
        targets = {"targets": "/home/x/secret.md\n/home/x/rest.md", "process": "h:1:2"}
        await self.run(ledger, "run-1", arguments=targets)
        await show(ledger, upload, filed)
        async with ledger.transaction() as tx:
            problems = [
                ItemProblem(origin=name, stage="parse", outcome="failed", kind="x", reason=why)
                for name, why in (
                    ("file:///home/x/secret.md", "empty"),
                    ("file:///home/x/rest.md", "empty"),
                    (
                        "file:///home/x/twin.md",
                        "the same as file:///home/x/secret.md; only that one is kept",
                    ),
                )
            ]
            await tx.runs.add_problems("run-1", problems)
            await tx.runs.start(self.made_run("wait", arguments={"name": "notes/secret.md"}))
            await tx.uploads.put(
                "wait", "acme", name="notes/secret.md", media_type=None, content=b"newer",
                arguments={"name": "notes/secret.md"},
            )  # fmt: skip
        for one in (upload, filed):
            await self.forget(ledger, key_file, "document", document(one))
        async with ledger.transaction() as tx:
            run, left = await tx.runs.get("acme", "run-1")
            assert run.arguments == {"targets": "(forgotten)", "process": "h:1:2"}
            assert [one.origin for one in left] == ["file:///home/x/rest.md"]
            run, _ = await tx.runs.get("acme", "up")
            assert run.arguments == {"name": "(forgotten)"}
            run, _ = await tx.runs.get("acme", "wait")
            assert (run.state, run.arguments["name"]) == ("failed", "(forgotten)")
            assert await tx.uploads.waiting() == []

    async def test_residue_tells_where_it_is_found(self, ledger: Ledger, key_file: KeyFile) -> None:
        one = prepared("a.md", KEPT, origin="file:///home/x/boathouse.md")
        await show(ledger, one)
        job = await self.forget(ledger, key_file, "item", document(one))
        async with ledger.transaction() as tx:
            work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
            assert await tx.forgetting.owed(work.chunk_ids) == len(one.chunks)
            places = {
                found.place.split(".")[0]
                for found in await tx.forgetting.residue("acme", work.needles)
            }
            assert places == {"outbox"}
        await settle(ledger)
        async with ledger.transaction() as tx:
            assert await tx.forgetting.owed(work.chunk_ids) == 0
            for name, arguments in (
                ("r1", {"targets": origin(one)}),
                ("r2", {"note": f"“{KEPT}”"}),
            ):
                await tx.runs.start(self.made_run(name, arguments=arguments))
            await tx.runs.start(self.made_run("r3", tenant="other", arguments={"note": KEPT}))
            await tx.uploads.put(
                "r1",
                "acme",
                name="n",
                media_type=None,
                content=f"x {KEPT} y".encode(),
                arguments={},
            )
            found = await tx.forgetting.residue("acme", work.needles)
        assert {(one.place.split(".")[0], one.rows) for one in found} == {
            ("runs", 2),
            ("uploads", 1),
        }

    async def test_words_of_our_own_are_no_residue(self, ledger: Ledger, key_file: KeyFile) -> None:
        """A page may be called as a state, a stage or its tenant is."""
        called = ("acme", "document", "index", "failed", "a name to be told from others")
        pages = [prepared(name, f"{KEPT} In {name}.", metadata={"title": name}) for name in called]
        await show(ledger, *pages)
        await self.run(ledger, "run-1")
        async with ledger.transaction() as tx:
            problem = ItemProblem(
                origin="file:///rest.md",
                stage="index",
                outcome="failed",
                kind="document",
                reason="x",
            )
            await tx.runs.add_problems("run-1", [problem])
            owner = {"owner": "a name to be told from others", "name": "x"}
            await tx.runs.start(self.made_run("run-2", arguments=owner))
        jobs = [await self.forget(ledger, key_file, "item", document(one)) for one in pages]
        await settle(ledger)
        async with ledger.transaction() as tx:
            for job in jobs:
                work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
                assert await tx.forgetting.residue("acme", work.needles) == []
            assert len((await tx.runs.get("acme", "run-1"))[1]) == 1

    async def test_usage_of_what_is_forgotten_goes_too(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one, other = prepared("a.md", KEPT), prepared("b.md", ZWEI)
        await show(ledger, one, other)
        named = chunk_ids(one, other)
        ann = Scope(tenant="acme", owner="ann")
        async with ledger.transaction() as tx:
            for scope in (ACME, ann):
                await tx.usage.add_shown(
                    [Shown(tenant="acme", owner=scope.owner, chunk_id=each) for each in named]
                )
                for artifact in (f"On “{KEPT}”", "chapter"):
                    used = UsageReport(search_id="srch_" + "a" * 20, used=tuple(named),
                                       artifact=artifact)  # fmt: skip
                    await tx.usage.report(scope, used, now=NOW)
            before = await tx.writes.standing("acme")
        job = await self.forget(ledger, key_file, "document", document(one))
        assert job.counts["usage_counts"] == 2 * len(one.chunks)
        assert job.counts["usage_events"] == 4 * len(one.chunks) + 2 * len(other.chunks)
        await settle(ledger)
        async with ledger.transaction() as tx:
            work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
            assert await tx.forgetting.residue("acme", work.needles) == []
            assert await tx.usage.used_in(ann, named, limit=9) == dict.fromkeys(
                chunk_ids(other), ("chapter",)
            )
            assert (await tx.writes.standing("acme")).writes > before.writes
        await self.forget(ledger, key_file, "owner", "ann")
        async with ledger.transaction() as tx:
            usages = await tx.usage.of_document(ann, document(other))
        assert [(each.shown, each.used) for each in usages] == [(1, 1)] * len(other.chunks)

    async def test_what_waited_to_be_counted_of_a_forgotten_owner_is_not_written(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one = prepared("a.md", KEPT, pieces=1)
        await show(ledger, one)
        (chunk,) = chunk_ids(one)
        ann, ben = (Scope(tenant="acme", owner=name) for name in ("ann", "ben"))
        earlier = NOW - timedelta(seconds=3)
        used = UsageReport(search_id="srch_" + "a" * 20, used=(chunk,), artifact="chapter")
        await self.forget(ledger, key_file, "owner", "ann")

        async def counted(*since: datetime, of: Scope = ann) -> list[int]:
            rows = [Shown(tenant="acme", owner=of.owner, chunk_id=chunk, since=at) for at in since]
            async with ledger.transaction() as tx:
                await tx.usage.add_shown(rows)
                return [each.shown for each in await tx.usage.of_document(of, document(one))]

        assert await counted(earlier) == []
        assert await counted(earlier, of=ben) == [1]
        async with ledger.transaction() as tx:
            assert await tx.usage.report(ann, used, now=earlier) == frozenset()
            assert await tx.usage.report(ben, used, now=earlier) == {chunk}
            assert await tx.usage.used_in(ann, [chunk], limit=1) == {}
        assert await counted(NOW, earlier) == [1]
        async with ledger.transaction() as tx:
            assert await tx.usage.report(ann, used, now=NOW) == {chunk}

    async def test_an_owner_who_forgot_alone_is_not_counted_either(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one = prepared("a.md", KEPT, pieces=1)
        await show(ledger, one, prepared("m.md", ZWEI, owner="ann"))
        await self.forget(ledger, key_file, "owner", "ann", owner="ann")
        (chunk,) = chunk_ids(one)
        earlier = Shown(
            tenant="acme", owner="ann", chunk_id=chunk, since=NOW - timedelta(seconds=1)
        )
        async with ledger.transaction() as tx:
            assert await tx.usage.add_shown([earlier]) == 0

    async def test_an_owner_without_documents_is_forgotten_again_with_what_was_used_since(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one = prepared("a.md", KEPT, pieces=1)
        await show(ledger, one)
        jobs = [await self.forget(ledger, key_file, "owner", "ann") for _ in range(2)]
        assert jobs[0] == jobs[1]
        ann = Scope(tenant="acme", owner="ann")
        used = UsageReport(search_id="srch_" + "a" * 20, used=tuple(chunk_ids(one)), artifact="x")
        async with ledger.transaction() as tx:
            await tx.usage.report(ann, used, now=LATER)
        again = await self.forget(ledger, key_file, "owner", "ann")
        assert again.job_id != jobs[0].job_id
        async with ledger.transaction() as tx:
            assert not await tx.usage.tells_of("acme", "ann")

    async def test_without_the_key_no_owner_is_counted(
        self, ledger: Ledger, key_file: KeyFile, tmp_path: Path
    ) -> None:
        one = prepared("a.md", KEPT, pieces=1)
        await show(ledger, one)
        (chunk,) = chunk_ids(one)
        await self.forget(ledger, key_file, "owner", "ann")
        key_file.path.rename(tmp_path / "kept")
        key_file._held = None  # noqa: SLF001  # as in a process that starts anew
        rows = [Shown(tenant="acme", owner=name, chunk_id=chunk) for name in (None, "ann", "ben")]
        async with ledger.transaction() as tx:
            assert await tx.usage.add_shown(rows) == 1
            (usage,) = await tx.usage.of_document(ACME, document(one))
        assert usage.shown == 1

    async def test_usage_that_names_the_forgotten_is_found(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one, other = prepared("a.md", KEPT), prepared("b.md", ZWEI)
        await show(ledger, one, other)
        job = await self.forget(ledger, key_file, "document", document(one))
        await settle(ledger)
        async with ledger.transaction() as tx:
            work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
            late = UsageReport(
                search_id="srch_" + "a" * 20, used=tuple(chunk_ids(other)), artifact=KEPT
            )
            await tx.usage.report(ACME, late, now=NOW)
            found = await tx.forgetting.residue("acme", work.needles)
            assert [(each.place.split(".")[0], each.rows) for each in found] == [
                ("usage_events", len(other.chunks))
            ]
            await tx.forgetting.scrub(
                "acme", work.needles, selector=work.selector, run_ids=(), uploads=False
            )
            assert await tx.forgetting.residue("acme", work.needles) == []

    async def test_a_rebuild_that_is_finished_names_no_chunk(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one = prepared("a.md", KEPT)
        await show(ledger, one)
        async with ledger.transaction() as tx:
            begun = await tx.rebuilds.begin(refills=(), total=2, now=NOW)
            last = max(chunk_ids(one))
            await tx.rebuilds.advance(begun.rebuild_id, owed_to=last, owed=2)
            await tx.rebuilds.finish(begun.rebuild_id, now=NOW)
        job = await self.forget(ledger, key_file, "item", document(one))
        await settle(ledger)
        async with ledger.transaction() as tx:
            work = self.work(job, key_file, await tx.forget_jobs.work(job.job_id))
            assert await tx.forgetting.residue("acme", work.needles) == []

    async def test_vectors_that_came_too_late_are_dropped(
        self, ledger: Ledger, key_file: KeyFile
    ) -> None:
        one, other = prepared("a.md", KEPT), prepared("b.md", ZWEI)
        await show(ledger, one, other)
        await self.forget(ledger, key_file, "document", document(one))
        late, kept = vectors_of([one]), vectors_of([other])
        async with ledger.transaction() as tx:
            await tx.vectors.put(late, fingerprint="test-encoder")
        async with ledger.transaction() as tx:
            assert await tx.forgetting.drop_vectors([*late, *kept]) == len(late)
            assert await tx.vectors.known([*late, *kept], fingerprint="test-encoder") == set(kept)

    async def test_vectors_without_a_chunk_go_in_parts(self, ledger: Ledger) -> None:
        one, never = prepared("a.md", KEPT), prepared("b.md", ZWEI)
        await show(ledger, one)
        orphans = vectors_of([never])
        keys = sorted([*orphans, *vectors_of([one])])
        async with ledger.transaction() as tx:
            await tx.vectors.put(orphans, fingerprint="test-encoder")
        dropped = 0
        ends: list[str | None] = []
        after: str | None = ""
        while after is not None:
            async with ledger.transaction() as tx:
                more, after = await tx.vectors.drop_unneeded(after=after, limit=2)
            dropped += more
            ends.append(after)
        assert dropped == len(orphans) > 1
        assert ends[-2:] == [keys[-1], None]
        async with ledger.transaction() as tx:
            left = await tx.vectors.known(keys, fingerprint="test-encoder")
        assert left == set(vectors_of([one]))

    async def test_a_put_whose_vector_was_dropped_is_refused(self, ledger: Ledger) -> None:
        one = prepared("a.md", KEPT)
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint="test-encoder")
        async with ledger.transaction() as tx:
            assert (await tx.vectors.drop_unneeded(after="", limit=99))[0] == len(one.chunks)
            with pytest.raises(InvalidRequest, match="limit 0"):
                await tx.vectors.drop_unneeded(after="", limit=0)
        with pytest.raises(InvalidRequest, match="put its vector first"):
            async with ledger.transaction() as tx:
                await tx.documents.put([one], now=NOW)
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors_of([one]), fingerprint="test-encoder")
            assert await tx.documents.put([one], now=NOW) == 1

    async def test_empty_lists_are_refused(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            for refused in (
                tx.forgetting.holdings("acme", []),
                tx.forgetting.derived("acme", [], owner=None),
                tx.forgetting.supports("acme", []),
                tx.forgetting.erase("acme", []),
                tx.forgetting.erase_former("acme", []),
                tx.forgetting.detach("acme", []),
                tx.forgetting.refused([]),
                tx.forgetting.owed([]),
            ):
                with pytest.raises(InvalidRequest, match="empty list"):
                    await refused

    async def forget(
        self, ledger: Ledger, key_file: KeyFile, kind: str, value: str, *, owner: str | None = None
    ) -> ForgetJob:
        selector = Selector(kind=kind, value=value)  # type: ignore[arg-type]  # as parametrized
        wish = Wish(tenant="acme", selector=selector, owner=owner)
        async with ledger.transaction() as tx:
            return await forget(tx, wish, key_file=key_file, now=NOW)

    def work(self, job: ForgetJob, key_file: KeyFile, sealed: Sequence[bytes]) -> Work:
        assert job.state == "draining"
        return unseal(MarkKey(key_file.make()), sealed)

    async def left(self, ledger: Ledger, *batch: Prepared) -> tuple[list[str], list[str]]:
        """Documents of which a row is left, and visible chunks."""
        async with ledger.transaction() as tx:
            rows = await tx.forgetting.holdings("acme", [document(one) for one in batch])
            scope = Scope(tenant="acme", owner="ann")
            visible = await tx.documents.visible(scope, chunk_ids(*batch))
        return sorted({one.document_id for one in rows}), sorted(visible)

    async def run(
        self,
        ledger: Ledger,
        run_id: str,
        *,
        at: datetime = NOW,
        arguments: dict[str, str] | None = None,
    ) -> None:
        async with ledger.transaction() as tx:
            await tx.runs.start(self.made_run(run_id, at=at, arguments=arguments))

    def made_run(
        self,
        run_id: str,
        *,
        at: datetime = NOW,
        tenant: str = "acme",
        arguments: dict[str, str] | None = None,
    ) -> Run:
        return Run(
            run_id=run_id,
            tenant=tenant,
            arguments=arguments or {},
            state="running",
            started_at=at,
            finished_at=None,
            counts={},
        )
