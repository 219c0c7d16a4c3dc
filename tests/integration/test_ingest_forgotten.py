"""Ingest meets what was forgotten: it is skipped by name, costs nothing, and comes back when
that is lifted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingesting import CLOCK, NOW, TENANT, Bench

from cluster.forget.key_files import KeyFile
from cluster.forget.request import Wish, forget, plan_of
from cluster.ids import vector_key
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.protocols import ForgetJob, Prepared, Selector, Transaction
from cluster.stores.protocols.forgetting import SelectorKind
from ingest.embed import EmbedChunks
from ingest.prepare import Plan
from ingest.publish import Publish
from ingest.rules import load_rules
from ingest.sources import Listing
from ingest.stages import Prepare

ENGLISH = "# Boathouse\n\nMarlene keeps the spare key under the third stone on the left.\n"
CHINESE = "# 船屋\n\n玛琳把备用钥匙放在左边第三块石头下面，除了她的姐姐没有人知道。\n"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    key = KeyFile(tmp_path / "keys" / "tombstone.key", setting="tests")
    made = Bench(ledger=MemoryLedger(tombstone_key=key))
    made_keys[id(made)] = key
    yield made
    made.link.close()


made_keys: dict[int, KeyFile] = {}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "key.md").write_text(ENGLISH, encoding="utf-8")
    (folder / "钥匙.md").write_text(CHINESE, encoding="utf-8")
    (folder / "ferry.md").write_text("# Ferry\n\nIt leaves at nine.\n", encoding="utf-8")
    return folder


def forgotten(bench: Bench, kind: SelectorKind, value: str) -> ForgetJob:
    wish = Wish(tenant=TENANT, selector=Selector(kind=kind, value=value))

    async def ask(tx: Transaction) -> ForgetJob:
        return await forget(tx, wish, key_file=made_keys[id(bench)], now=NOW)

    job = bench.link.call(ask)
    bench.index()
    return job


def titles(bench: Bench) -> set[str]:
    return {one.title for one in bench.documents()}


@pytest.mark.parametrize(("name", "title"), [("key.md", "Boathouse"), ("钥匙.md", "船屋")])
def test_what_was_forgotten_is_skipped_by_name_until_lifted(
    bench: Bench, pages: Path, name: str, title: str
) -> None:
    assert bench.ingest(pages).counts["published"] == 3
    one = next(each for each in bench.documents() if each.title == title)
    job = forgotten(bench, "document", one.document_id)
    encoded = len(bench.embedder.encoded)
    again = bench.ingest(pages)
    assert again.state == "succeeded"
    assert (again.counts["skipped"], again.counts.get("published", 0)) == (1, 0)
    (skipped,) = again.problems
    assert (skipped.outcome, skipped.kind) == ("skipped", "forgotten")
    assert skipped.origin == (pages / name).as_uri()
    assert f"forgotten on 2026-05-01, receipt {job.receipt_id}" in skipped.reason
    assert len(bench.embedder.encoded) == encoded
    assert title not in titles(bench)

    async def lift(tx: Transaction) -> int:
        return await tx.forgetting.lift(TENANT, job.receipt_id, now=NOW)

    assert bench.link.call(lift) > 0
    assert bench.ingest(pages).counts["published"] == 1
    assert title in titles(bench)


def test_a_copy_elsewhere_is_skipped_too(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    one = next(each for each in bench.documents() if each.title == "Boathouse")
    forgotten(bench, "item", one.document_id)
    copy = pages / "copy.txt"
    copy.write_text(ENGLISH.upper().replace("\n\n", "\n  \n"), encoding="utf-8")
    cleaned = pages / "key.md"
    cleaned.write_text("# Boathouse\n\nNothing to be said about keys.\n", encoding="utf-8")
    summary = bench.ingest(pages)
    assert [Path(each.origin).name for each in summary.problems] == ["copy.txt"]
    assert summary.counts["published"] == 1


def test_vectors_of_what_was_forgotten_meanwhile_are_dropped(bench: Bench, pages: Path) -> None:
    """Between the look and the put: as when another process forgets just then."""
    bench.ingest(pages)
    one = next(each for each in bench.documents() if each.title == "Boathouse")
    drafts = _drafts(bench, pages / "key.md")
    forgotten(bench, "document", one.document_id)
    embed = EmbedChunks(
        bench.link, fingerprint=bench.embedder.fingerprint, open_embedder=lambda: bench.embedder
    )
    embed(drafts)
    done = Publish(bench.link, CLOCK, embed, lambda: None)(drafts)
    assert (done.new, done.refused, list(done.forgotten)) == (0, {}, [0])
    keys = [vector_key("en", chunk.indexed_text) for one in drafts for chunk in one.chunks]

    async def known(tx: Transaction) -> set[str]:
        return await tx.vectors.known(keys, fingerprint=bench.embedder.fingerprint)

    assert bench.link.call(known) == set()


def test_records_tell_what_they_are_made_of(bench: Bench, pages: Path, tmp_path: Path) -> None:
    bench.ingest(pages)
    origins = {one.title: f"file://{pages}/{one.path}" for one in bench.documents()}
    ids = {one.title: one.document_id for one in bench.documents()}
    notes = [
        {"id": "n1", "text": "The key lies under a stone.", "derived_from": [ids["Boathouse"]]},
        {"id": "n2", "text": "摘要：钥匙在石头下面。", "derived_from": origins["Boathouse"]},
        {"id": "n3", "text": "Key and ferry.", "derived_from": [ids["Boathouse"], ids["Ferry"]]},
    ]
    corpus = tmp_path / "notes.jsonl"
    lines = (json.dumps(note, ensure_ascii=False) for note in notes)
    corpus.write_text("\n".join(lines), encoding="utf-8")
    bench.ingest(corpus)
    by_path = {one.path: one.document_id for one in bench.documents()}
    wish = Wish(tenant=TENANT, selector=Selector(kind="document", value=ids["Boathouse"]))

    async def ask(tx: Transaction) -> tuple[tuple[str, ...], tuple[str, ...]]:
        plan = await plan_of(tx, wish)
        return plan.derived, plan.recompute

    derived, recompute = bench.link.call(ask)
    assert set(derived) == {by_path["n1"], by_path["n2"]}
    assert recompute == (by_path["n3"],)


def _drafts(bench: Bench, path: Path) -> list[Prepared]:
    plan = Plan(
        settings=bench.settings,
        run_id="run_late",
        tenant=TENANT,
        rules=load_rules(),
        fingerprint=bench.embedder.fingerprint,
        chunked_as=bench.embedder.fingerprint,
        flags={"license": "new"},
    )
    listing = Listing(
        targets=(str(path),), rules=plan.rules, block_items=64, max_item_bytes=1 << 20
    )
    prepare = Prepare(plan, bench.link, bench.opened)
    return [
        draft.prepared
        for unit in listing.units()
        for bundle in prepare(unit)
        for draft in bundle.drafts
    ]
