"""What every ledger must do beside documents: transactions, owed work, vectors, runs, keys."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from cluster.errors import InvalidRequest, NotFound
from cluster.ids import sha256_hex
from cluster.model import ApiKey, Generation, ItemProblem, Run, Scope
from cluster.stores.checks import MAX_PUBLISHABLE_CHUNKS
from cluster.stores.protocols import Ledger
from contract.samples import (
    FINGERPRINT,
    NOW,
    chunk_ids,
    prepared,
    put,
    settle,
    vector_of,
    vectors_of,
)

LATER = NOW + timedelta(hours=1)


class Deliberate(Exception):
    """Raised in the middle of a transaction."""


def run(run_id: str = "run-1", tenant: str = "acme", minutes: int = 0) -> Run:
    return Run(
        run_id=run_id,
        tenant=tenant,
        arguments={"path": "docs", "名": "值"},
        state="queued",
        started_at=NOW + timedelta(minutes=minutes),
        finished_at=None,
        counts={"loaded": 1},
    )


def api_key(key_id: str = "k1", tenant: str = "acme") -> ApiKey:
    return ApiKey(
        key_id=key_id,
        tenant=tenant,
        role="write",
        name="laptop",
        owner="ann",
        agent=None,
        created_at=NOW,
    )


class OperationsContract:
    """Subclasses give the fixture `ledger`: an empty one for each test."""

    async def test_what_one_call_owes_comes_in_the_order_of_ids(self, ledger: Ledger) -> None:
        batch = [prepared(f"{number}.md", f"text {number}", pieces=3) for number in range(4)]
        await put(ledger, *batch)
        for owe in ("put", "requeue", "delete"):
            if owe != "put":
                await settle(ledger)
            async with ledger.transaction() as tx:
                if owe == "requeue":
                    await tx.documents.requeue(chunk_ids(*batch))
                elif owe == "delete":
                    documents = [one.revision.document_id for one in batch]
                    await tx.documents.delete(Scope(tenant="acme"), documents)
                entries = await tx.outbox.take(limit=100)
            assert [one.chunk_id for one in entries] == sorted(chunk_ids(*batch))

    async def test_an_exception_leaves_nothing(self, ledger: Ledger) -> None:
        one = prepared()

        async def write() -> None:
            async with ledger.transaction() as tx:
                await tx.vectors.put(vectors_of([one]), fingerprint=FINGERPRINT)
                await tx.documents.put([one], now=NOW)
                await tx.runs.start(run())
                await tx.uploads.put(
                    "run-1", "acme", name="a", media_type=None, content=b"x", arguments={}
                )
                await tx.keys.put(api_key(), secret_sha256=sha256_hex("s"))
                await tx.generations.activate(Generation(fingerprint="f", dim=8, recipe={}))
                raise Deliberate

        with pytest.raises(Deliberate):
            await write()
        async with ledger.transaction() as tx:
            assert await tx.vectors.get(list(vectors_of([one])), fingerprint=FINGERPRINT) == {}
            assert await tx.outbox.take(limit=9) == []
            assert (await tx.documents.counts(None))["pending"] == 0
            assert await tx.runs.latest("acme", limit=9) == []
            assert await tx.uploads.waiting() == []
            assert await tx.keys.all_of(None) == []
            assert await tx.generations.active() is None

    async def test_an_exception_undoes_publish_and_delete(self, ledger: Ledger) -> None:
        one = prepared()
        await put(ledger, one)

        async def publish() -> None:
            async with ledger.transaction() as tx:
                await tx.documents.publish([one.revision.revision_id], now=NOW)
                await tx.outbox.done(await tx.outbox.take(limit=9))
                raise Deliberate

        with pytest.raises(Deliberate):
            await publish()
        async with ledger.transaction() as tx:
            assert len(await tx.outbox.take(limit=9)) == 2
            assert (await tx.documents.counts("acme"))["pending"] == 1

    async def test_what_is_publishable_is_bounded_by_its_chunks(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        batch = [prepared(f"{number}.md", f"text {number}", pieces=3) for number in range(4)]
        for one in batch:
            await put(ledger, one)
        await settle(ledger)
        for store in ("memory", "postgres"):
            module = f"cluster.stores.{store}.documents.MAX_PUBLISHABLE_CHUNKS"
            monkeypatch.setattr(module, 5)
        async with ledger.transaction() as tx:
            found = await tx.documents.publishable(limit=9)
            assert list(found) == [one.revision.revision_id for one in batch[:2]]
            assert [len(chunks) for chunks in found.values()] == [3, 3]
            assert len(await tx.documents.publishable(limit=1)) == 1

    def test_so_many_chunks_are_publishable_at_once(self) -> None:
        assert MAX_PUBLISHABLE_CHUNKS == 20_000

    async def test_take_is_oldest_first_and_removes_nothing(self, ledger: Ledger) -> None:
        one, two = prepared("a"), prepared("b")
        await put(ledger, one)
        await put(ledger, two)
        async with ledger.transaction() as tx:
            first = await tx.outbox.take(limit=3)
            again = await tx.outbox.take(limit=9)
        assert again[:3] == first
        assert {entry.chunk_id for entry in again[:2]} == set(chunk_ids(one))
        assert {entry.chunk_id for entry in again} == set(chunk_ids(one, two))

    async def test_done_spares_an_entry_that_changed(self, ledger: Ledger) -> None:
        one = prepared()
        await put(ledger, one)
        async with ledger.transaction() as tx:
            taken = await tx.outbox.take(limit=9)
        async with ledger.transaction() as tx:
            await tx.documents.requeue([one.chunks[0].chunk_id])
        async with ledger.transaction() as tx:
            await tx.outbox.done(taken)
            (left,) = await tx.outbox.take(limit=9)
        assert left.chunk_id == one.chunks[0].chunk_id
        assert left.version > max(entry.version for entry in taken)
        async with ledger.transaction() as tx:
            await tx.outbox.done([left])
            await tx.outbox.done([left])
            assert await tx.outbox.take(limit=9) == []

    async def test_lag_counts_and_ages(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            assert await tx.outbox.lag() == (0, timedelta(0))
        await put(ledger, prepared())
        async with ledger.transaction() as tx:
            count, age = await tx.outbox.lag()
        assert count == 2
        assert timedelta(0) <= age < timedelta(minutes=1)
        await asyncio.sleep(0.3)
        await put(ledger, prepared("newer.md"))
        async with ledger.transaction() as tx:
            count, older = await tx.outbox.lag()
        assert count == 4
        assert age + timedelta(seconds=0.3) <= older < timedelta(minutes=1)

    async def test_work_keeps_the_order_of_the_question(self, ledger: Ledger) -> None:
        one = prepared()
        await put(ledger, one)
        asked = [*reversed(chunk_ids(one)), "chk_ghost"]
        async with ledger.transaction() as tx:
            found = await tx.outbox.work(asked)
        assert [work.chunk_id for work in found] == asked
        assert [work.row is None for work in found] == [False, False, True]
        assert [not work.vectors for work in found] == [False, False, True]

    async def test_vectors_are_kept_exactly_and_by_encoder(self, ledger: Ledger) -> None:
        vectors = {key: vector_of(key) for key in ("a", "b")}
        async with ledger.transaction() as tx:
            await tx.vectors.put(vectors, fingerprint="one")
            await tx.vectors.put({"a": vector_of("z")}, fingerprint="one")
            found = await tx.vectors.get(["a", "b", "c"], fingerprint="one")
            assert await tx.vectors.get(["a"], fingerprint="two") == {}
            assert await tx.vectors.known(["a", "b", "c"], fingerprint="one") == {"a", "b"}
            assert await tx.vectors.known(["a"], fingerprint="two") == set()
            with pytest.raises(InvalidRequest):
                await tx.vectors.known([], fingerprint="one")
        assert found.keys() == vectors.keys()
        for key, vector in vectors.items():
            assert found[key].dtype == np.float32
            assert found[key].tobytes() == vector.tobytes()

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    async def test_vectors_must_be_finite(self, ledger: Ledger, bad: float) -> None:
        async with ledger.transaction() as tx:
            with pytest.raises(InvalidRequest, match="key-7"):
                await tx.vectors.put(
                    {"key-7": np.array([bad, 0], dtype=np.float32)}, fingerprint="f"
                )

    async def test_a_lease_has_one_holder(self, ledger: Ledger) -> None:
        order: list[str] = []

        async def hold(name: str, entered: asyncio.Event, leave: asyncio.Event) -> None:
            async with ledger.lease("indexer") as lease:
                await lease.check()
                order.append(f"{name} in")
                entered.set()
                await leave.wait()
                order.append(f"{name} out")

        events = [asyncio.Event() for _ in range(3)]
        first = asyncio.create_task(hold("first", events[0], events[1]))
        await events[0].wait()
        second = asyncio.create_task(hold("second", events[2], events[1]))
        async with asyncio.timeout(10), ledger.lease("something else"):
            await asyncio.sleep(0.3)
        assert order == ["first in"]
        events[1].set()
        await asyncio.wait_for(asyncio.gather(first, second), timeout=10)
        assert order == ["first in", "first out", "second in", "second out"]

    async def test_a_run_from_start_to_end(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            await tx.runs.start(run())
            await tx.runs.update("run-1", state="running", counts={"parsed": 2}, now=LATER)
            running, _ = await tx.runs.get("acme", "run-1")
            await tx.runs.update(
                "run-1", state="failed", counts={"parsed": 3}, now=LATER, error="disk full \0"
            )
            failed, problems = await tx.runs.get("acme", "run-1")
        assert running == replace(run(), state="running", counts={"loaded": 1, "parsed": 2})
        assert failed == replace(
            run(),
            state="failed",
            counts={"loaded": 1, "parsed": 3},
            finished_at=LATER,
            error="disk full \\x00",
        )
        assert problems == []

    async def test_problems_are_noted_once_and_never_fail(self, ledger: Ledger) -> None:
        problem = ItemProblem(
            origin="file:///\udcff\0", stage="parse", outcome="skipped", kind="broken", reason="no"
        )
        other = replace(problem, stage="load", outcome="failed")
        async with ledger.transaction() as tx:
            await tx.runs.start(run())
            await tx.runs.add_problems("run-1", [problem, other])
            await tx.runs.add_problems("run-1", [replace(problem, reason="better")])
            _, found = await tx.runs.get("acme", "run-1")
        clean = "file:///\\udcff\\x00"
        assert found == [
            replace(problem, origin=clean, reason="better"),
            replace(other, origin=clean),
        ]

    async def test_runs_of_another_tenant_are_not_there(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            await tx.runs.start(run("a", minutes=1))
            await tx.runs.start(run("b", minutes=2))
            await tx.runs.start(run("c", tenant="other"))
            assert [one.run_id for one in await tx.runs.latest("acme", limit=9)] == ["b", "a"]
            assert [one.run_id for one in await tx.runs.latest("acme", limit=1)] == ["b"]
            for tenant, name in (("acme", "c"), ("acme", "ghost")):
                with pytest.raises(NotFound):
                    await tx.runs.get(tenant, name)
            with pytest.raises(NotFound):
                await tx.runs.update("ghost", state="running", counts={}, now=NOW)
            with pytest.raises(InvalidRequest, match="known"):
                await tx.runs.update("a", state="done", counts={}, now=NOW)

    async def test_uploads_wait_in_order(self, ledger: Ledger) -> None:
        content = bytes(range(256)) * 100
        async with ledger.transaction() as tx:
            await tx.uploads.put(
                "z", "acme", name="a\udcff", media_type=None, content=b"", arguments={"a": "b"}
            )
            await tx.uploads.put(
                "a", "acme", name="b.pdf", media_type="application/pdf", content=content,
                arguments={},
            )  # fmt: skip
            assert await tx.uploads.waiting() == ["z", "a"]
            assert await tx.uploads.get("z") == ("acme", "a\\udcff", None, b"", {"a": "b"})
            assert await tx.uploads.get("a") == ("acme", "b.pdf", "application/pdf", content, {})
            await tx.uploads.delete("z")
            await tx.uploads.delete("z")
            assert await tx.uploads.waiting() == ["a"]
            with pytest.raises(NotFound):
                await tx.uploads.get("z")

    async def test_only_a_running_run_is_interrupted(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            await tx.runs.start(run())
            interrupt = tx.runs.interrupt
            assert not await interrupt("run-1", now=LATER, error="gone")
            await tx.runs.update("run-1", state="running", counts={"parsed": 2}, now=NOW)
            assert await interrupt("run-1", now=LATER, error="gone")
            ended, _ = await tx.runs.get("acme", "run-1")
            assert (ended.state, ended.error, ended.finished_at) == ("interrupted", "gone", LATER)
            assert ended.counts == {"loaded": 1, "parsed": 2}
            await tx.runs.update("run-1", state="succeeded", counts={}, now=NOW)
            assert not await interrupt("run-1", now=LATER, error="gone")
            assert (await tx.runs.get("acme", "run-1"))[0].state == "succeeded"
            assert not await interrupt("ghost", now=LATER, error="gone")

    async def test_keys_are_found_until_revoked(self, ledger: Ledger) -> None:
        async with ledger.transaction() as tx:
            await tx.keys.put(api_key(), secret_sha256=sha256_hex("s1"))
            await tx.keys.put(api_key("k2", "other"), secret_sha256=sha256_hex("s2"))
            assert await tx.keys.find(sha256_hex("s1")) == api_key()
            assert await tx.keys.find("k1") is None
            assert await tx.keys.all_of("acme") == [api_key()]
            assert [key.key_id for key in await tx.keys.all_of(None)] == ["k1", "k2"]
            await tx.keys.revoke("k1", now=LATER)
            await tx.keys.revoke("k1", now=LATER + timedelta(hours=1))
            assert await tx.keys.find(sha256_hex("s1")) is None
            assert await tx.keys.all_of("acme") == [replace(api_key(), revoked_at=LATER)]
            with pytest.raises(NotFound):
                await tx.keys.revoke("ghost", now=LATER)
            with pytest.raises(InvalidRequest, match="in use"):
                await tx.keys.put(api_key("k3"), secret_sha256=sha256_hex("s2"))

    async def test_one_generation_is_active(self, ledger: Ledger) -> None:
        first = Generation(fingerprint="one", dim=8, recipe={"model": "m"})
        async with ledger.transaction() as tx:
            assert await tx.generations.active() is None
            await tx.generations.activate(first)
            await tx.generations.activate(first)
            assert await tx.generations.active() == first
            with pytest.raises(InvalidRequest, match="another encoder"):
                await tx.generations.activate(Generation(fingerprint="two", dim=8, recipe={}))
            assert await tx.generations.active() == first

    async def test_close_twice(self, ledger: Ledger) -> None:
        await ledger.close()
        await ledger.close()
