"""Runs from start to end on the reference stores."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ingesting import CLOCK, NOW, TENANT, Bench, settings_for, write_pages

from cluster.errors import InvalidRequest, ModelError, NotFound, StackError, StoreUnavailable
from cluster.model import ItemProblem, Run, Scope, StoredPassage, TokenVectors, Vectors
from cluster.models.hashing import HashingEmbedder
from cluster.models.protocols import Embedder
from cluster.models.token_vectors import pack
from cluster.stores.memory.documents import MemoryDocuments
from cluster.stores.memory.ledger import MemoryLedger
from cluster.stores.protocols import Prepared, Transaction
from contract.samples import prepared
from ingest.embed import EmbedChunks
from ingest.link import LedgerLink
from ingest.loop import Once
from ingest.parse.dispatch import parse
from ingest.parse.parsed import Parsed
from ingest.progress import finished
from ingest.publish import Publish, Published
from ingest.run import (
    Unshown,
    is_running,
    mark_interrupted,
    this_process,
    wait_until_visible,
)
from ingest.worker import MAX_TRIES, Worker, serve


class CountingLink(LedgerLink):
    calls = 0

    def call(self, work: Callable[[Transaction], Awaitable[Any]]) -> Any:
        self.calls += 1
        return super().call(work)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.link.close()


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    write_pages(folder, 5, words=300)
    return folder


def run_of(bench: Bench, run_id: str) -> tuple[Run, list[ItemProblem]]:
    return bench.link.call(lambda tx: tx.runs.get(TENANT, run_id))


def test_a_second_run_parses_and_embeds_nothing(bench: Bench, pages: Path) -> None:
    first = bench.ingest(pages)
    assert (first.counts["parsed"], first.counts["published"]) == (5, 5)
    assert first.counts["embedded"] == first.counts["chunks"] == len(bench.embedder.encoded)
    before = bench.documents()
    bench.embedder.encoded.clear()
    bench.opened.unload()
    second = bench.ingest(pages)
    assert second.counts["unchanged"] == second.counts["loaded"] == 5
    assert second.counts.get("parsed", 0) == second.counts["embedded"] == 0
    assert bench.embedder.encoded == []
    assert bench.documents() == before


def test_one_edited_page_encodes_only_the_chunks_that_changed(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    bench.embedder.encoded.clear()
    page = pages / "page002.md"
    page.write_text(page.read_text(encoding="utf-8").replace("word2x2x5 ", "changed "), "utf-8")
    again = bench.ingest(pages)
    assert (again.counts["unchanged"], again.counts["parsed"]) == (4, 1)
    assert again.counts["embedded"] == 1
    assert again.counts["from_cache"] == again.counts["chunks"] - 1
    assert len(bench.embedder.encoded) == 1
    assert "changed" in bench.embedder.encoded[0]


def test_pages_of_two_sources_that_are_copies_find_each_other(bench: Bench, pages: Path) -> None:
    mirror = pages.parent / "mirror"
    mirror.mkdir()
    page = (pages / "page001.md").read_text(encoding="utf-8")
    (mirror / "same.md").write_text(page.replace("\n", "\n\n"), encoding="utf-8")
    for folder in (pages, mirror):
        bench.ingest(folder)

    chunk_ids = sorted(bench.indexed())

    async def alike(tx: Transaction) -> list[tuple[str, str]]:
        scope = Scope(tenant=TENANT)
        found = await tx.documents.visible(scope, chunk_ids)
        pairs = await tx.documents.alike(scope, chunk_ids, limit=9)
        return [
            (found[one].path, found[two].path) for one, others in pairs.items() for two in others
        ]

    met = set(bench.link.call(alike))
    assert met == {("page001.md", "same.md"), ("same.md", "page001.md")}


FINGERPRINT = HashingEmbedder(dim=64).fingerprint
sample = partial(prepared, fingerprint=FINGERPRINT)


def test_the_ledger_is_asked_once_for_the_vectors_of_many_chunks(bench: Bench) -> None:
    batch = [sample(f"{number}.md", f"text {number}") for number in range(20)]
    with (link := CountingLink(bench.open)):
        embed = EmbedChunks(link, fingerprint=FINGERPRINT, open_embedder=bench.opened)
        done = embed(batch)
        assert (done.embedded + done.from_cache, done.embedded > 20) == (40, True)
        assert link.calls == 2  # one to ask, one to put


@pytest.mark.parametrize("wanted", [True, False])
def test_token_vectors_come_with_the_vectors_of_the_same_texts(
    tmp_path: Path, wanted: bool
) -> None:
    write_pages(tmp_path, 3)
    settings = settings_for()
    encoder = settings.encoder.model_copy(update={"token_vectors": wanted})
    bench = Bench(settings.model_copy(update={"encoder": encoder}))
    bench.ingest(tmp_path)
    chunks = sorted(bench.indexed())
    scope = Scope(tenant=TENANT)

    async def ask(tx: Transaction) -> tuple[dict[str, StoredPassage], dict[str, bytes]]:
        found = await tx.vectors.tokens_of(scope, chunks, fingerprint=FINGERPRINT)
        return await tx.documents.visible(scope, chunks), found

    passages, found = bench.link.call(ask)
    bench.link.close()
    assert sorted(passages) == chunks
    assert sorted(found) == (chunks if wanted else [])
    for name, packed in found.items():
        passage = passages[name]
        _, (tokens,) = bench.embedder.embed_documents_with_tokens(
            [passage.chunk.indexed_text], languages=[passage.metadata.language]
        )
        assert len(tokens) > 1
        assert packed == pack(tokens, recipe=bench.embedder.token_recipe)


def publish_in(bench: Bench) -> Publish:
    embed = EmbedChunks(bench.link, fingerprint=FINGERPRINT, open_embedder=bench.opened)
    return Publish(bench.link, CLOCK, embed, lambda: None)


def test_what_the_ledger_refuses_spares_the_rest_of_its_batch(bench: Bench) -> None:
    batch = [sample(f"{number}.md", f"text {number}") for number in range(4)]
    bad = replace(batch[1], revision=replace(batch[1].revision, owner=""))
    EmbedChunks(bench.link, fingerprint=FINGERPRINT, open_embedder=bench.opened)(batch)
    done = publish_in(bench)([batch[0], bad, *batch[2:]])
    assert done.new == 3
    assert list(done.refused) == [1]
    assert "owner is empty" in done.refused[1]


def test_vectors_that_a_delete_took_are_made_again(bench: Bench) -> None:
    one, two = sample("one.md", "harbour words"), sample("two.md", "other words")
    EmbedChunks(bench.link, fingerprint=FINGERPRINT, open_embedder=bench.opened)([two])
    bench.embedder.encoded.clear()
    assert publish_in(bench)([one, two]) == Published(new=2, refused={}, forgotten={})
    assert sorted(bench.embedder.encoded) == sorted(each.indexed_text for each in one.chunks)


def test_an_item_that_the_ledger_refuses_is_told_and_the_run_goes_on(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pages(tmp_path, 3)
    put = MemoryDocuments.put

    async def picky(self: MemoryDocuments, batch: Sequence[Prepared], *, now: datetime) -> int:
        if any(each.revision.path == "page001.md" for each in batch):
            raise InvalidRequest("it belongs to another owner")
        return await put(self, batch, now=now)

    monkeypatch.setattr(MemoryDocuments, "put", picky)
    summary = bench.ingest(tmp_path)
    assert (summary.state, summary.counts["published"], summary.counts["failed"]) == (
        "succeeded", 2, 1,
    )  # fmt: skip
    (told,) = summary.problems
    assert (told.origin, told.kind) == ((tmp_path / "page001.md").as_uri(), "refused")
    assert told.reason == "it belongs to another owner"


def test_a_run_that_breaks_in_any_way_is_not_left_running(
    bench: Bench, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def burst(*_arguments: Any, **_named: Any) -> Iterator[Any]:
        raise OverflowError("too large")

    monkeypatch.setattr("ingest.stages.load", burst)
    with pytest.raises(OverflowError):
        bench.ingest(pages)
    (run,) = bench.link.call(lambda tx: tx.runs.latest(TENANT, limit=5))
    assert (run.state, run.error) == ("failed", "OverflowError('too large')")


def test_large_items_are_not_all_held_at_once(
    bench: Bench, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is loaded when those before it have been worked off."""
    asked: list[int] = []
    digests = MemoryDocuments.digests

    async def counted(self: MemoryDocuments, tenant: str, origins: Sequence[str]) -> dict[str, str]:
        asked.append(len(origins))
        return await digests(self, tenant, origins)

    monkeypatch.setattr(MemoryDocuments, "digests", counted)
    monkeypatch.setattr("ingest.stages._ASK_BYTES", 2000)
    assert bench.ingest(pages).counts["published"] == 5
    assert max(asked) <= 2


def test_uploads_of_two_owners_of_one_page_of_a_product_live_side_by_side(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = worker_of(bench, monkeypatch)
    for owner in ("ada", "bo"):
        words = f"# Note\n\nWords of {owner}.\n".encode()
        run_id = upload(
            bench, "note.md", words, owner=owner, product="nimbus", product_version="2.0"
        )
        worker.step()
        assert run_of(bench, run_id)[0].state == "succeeded"
    assert bench.counts()["documents"] == 2


def test_the_same_text_on_other_pages_is_another_revision(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("some words of a page", encoding="utf-8")
    bench.ingest(file)
    (before,) = bench.documents()

    def moved(content: bytes, **how: Any) -> Parsed:
        parsed = parse(content, **how)
        return replace(parsed, blocks=tuple(replace(each, page=7) for each in parsed.blocks))

    monkeypatch.setattr("ingest.prepare.parse", moved)
    other = Bench()
    other.ingest(file)
    (after,) = other.documents()
    other.link.close()
    assert (before.document_id, before.text_sha256) == (after.document_id, after.text_sha256)
    assert before.revision_id != after.revision_id


def test_a_page_that_shrinks_leaves_no_chunk_behind(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    many = len(bench.indexed())
    (pages / "page000.md").write_text("# Page 0\n\nshort.\n", encoding="utf-8")
    bench.ingest(pages)
    counts = bench.counts()
    assert counts["documents"] == 5
    assert counts["chunks"] == len(bench.indexed()) < many


def test_a_page_that_is_gone_is_retired_only_when_asked_for(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    (pages / "page004.md").unlink()
    bench.ingest(pages)
    assert len(bench.documents()) == 5
    retired = bench.ingest(pages, retire_missing=True)
    assert retired.counts["retired"] == 1
    assert [each.path for each in bench.documents()].count("page004.md") == 0
    assert len(bench.documents()) == 4


def test_of_one_product_in_two_roots_only_what_was_listed_is_retired(
    bench: Bench, tmp_path: Path
) -> None:
    for place in ("one", "one2"):
        folder = tmp_path / place / "nimbus" / "v2.0"
        folder.mkdir(parents=True)
        for name in ("kept", "gone"):
            page = f"# {name} {place}\n\nThe page {name} of {place}.\n"
            (folder / f"{name}-{place}.md").write_text(page, encoding="utf-8")
    bench.ingest(tmp_path / "one")
    bench.ingest(tmp_path / "one2")
    assert {each.source for each in bench.documents()} == {"nimbus"}
    (tmp_path / "one" / "nimbus" / "v2.0" / "gone-one.md").unlink()
    retired = bench.ingest(tmp_path / "one", retire_missing=True)
    assert retired.counts["retired"] == 1
    names = sorted(each.path.rpartition("/")[2] for each in bench.documents())
    assert names == ["gone-one2.md", "kept-one.md", "kept-one2.md"]


def test_a_product_that_is_gone_as_a_whole_is_retired(bench: Bench, tmp_path: Path) -> None:
    for product in ("nimbus", "stratus"):
        folder = tmp_path / product / "v2.0"
        folder.mkdir(parents=True)
        text = f"# {product}\n\nThe page of {product}.\n"
        (folder / "page.md").write_text(text, encoding="utf-8")
    bench.ingest(tmp_path)
    assert {each.source for each in bench.documents()} == {"nimbus", "stratus"}
    (tmp_path / "stratus" / "v2.0" / "page.md").unlink()
    assert bench.ingest(tmp_path, retire_missing=True).counts["retired"] == 1
    assert {each.source for each in bench.documents()} == {"nimbus"}


@pytest.mark.parametrize("target", ["page000.md", "page00[0-2].md"])
def test_naming_files_or_a_pattern_retires_nothing_beside_them(
    bench: Bench, pages: Path, target: str
) -> None:
    bench.ingest(pages)
    summary = bench.ingest(pages / target, retire_missing=True)
    assert summary.counts["unchanged"] >= 1
    assert summary.counts.get("retired", 0) == 0
    assert len(bench.documents()) == 5


def test_a_record_that_left_its_corpus_is_retired(bench: Bench, tmp_path: Path) -> None:
    lines = [json.dumps({"id": each, "text": f"the text of {each}"}) for each in "abcd"]
    (tmp_path / "c.jsonl").write_text("\n".join(lines[:2]), encoding="utf-8")
    (tmp_path / "c.jsonl.old.jsonl").write_text("\n".join(lines[2:]), encoding="utf-8")
    bench.ingest(tmp_path, source="notes")
    assert len(bench.documents()) == 4
    (tmp_path / "c.jsonl").write_text(lines[0], encoding="utf-8")
    bench.ingest(tmp_path / "c.jsonl", source="notes", retire_missing=True)
    assert sorted(each.path for each in bench.documents()) == ["a", "c", "d"]


def test_a_page_whose_language_or_source_changed_leaves_no_ghost(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    page = pages / "page001.md"
    before = page.read_text(encoding="utf-8")
    page.write_text("# 指南\n\n这一页现在是用中文写的，讲的是怎样安装和使用。\n", "utf-8")
    bench.ingest(pages)
    shown = {each.path: each.language for each in bench.documents()}
    assert len(bench.documents()) == 5
    assert shown["page001.md"] == "zh"
    page.write_text(before, encoding="utf-8")
    bench.ingest(pages)
    assert {each.path: each.language for each in bench.documents()}["page001.md"] != "zh"
    bench.ingest(pages, source="wiki")
    assert {each.source for each in bench.documents()} == {"wiki"}
    assert bench.counts()["documents"] == 5
    assert len(bench.indexed()) == bench.counts()["chunks"]


def test_one_checkout_under_two_versions_gives_two_editions(bench: Bench, pages: Path) -> None:
    for version in ("1.0", "2.0"):
        bench.ingest(pages, flags={"product": "nimbus", "product_version": version})
    editions = sorted((each.path, each.edition) for each in bench.documents())
    assert editions == [(f"page{n:03}.md", v) for n in range(5) for v in ("1.0", "2.0")]


def test_records_and_turns_of_one_file_stay_side_by_side(bench: Bench, tmp_path: Path) -> None:
    page = {"id": "guide", "project": "nimbus", "version": "1"}
    talk = [
        {"role": "user", "content": "Where do you live?"},
        {"role": "user", "content": "我住在上海，你呢？"},
    ]
    texts = [("en", "how to set it up"), ("zh", "怎样安装")]
    records = [{**page, "lang": lang, "text": text} for lang, text in texts]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    sessions = [{"session_id": name, "turns": talk} for name in ("s1", "s2")]
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, sessions)), "utf-8")
    for _ in range(2):
        summary = bench.ingest(tmp_path)
        assert summary.problems == ()
        assert (bench.counts()["documents"], bench.counts()["turns"]) == (2, 4)
    assert summary.counts["unchanged"] == 6
    records[0]["text"] = "how to set it up, step by step"
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    bench.ingest(tmp_path)
    assert (bench.counts()["documents"], bench.counts()["turns"]) == (2, 4)


def test_two_records_of_one_name_are_told_and_the_first_stays(bench: Bench, tmp_path: Path) -> None:
    texts = ("This page tells how to set it up.", "这一页讲的是怎样安装和使用。")
    lines = [json.dumps({"id": 7, "text": text}) for text in texts]
    (tmp_path / "c.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for _ in range(2):
        (problem,) = bench.ingest(tmp_path / "c.jsonl").problems
        assert (problem.kind, problem.outcome) == ("duplicate", "failed")
        assert problem.origin.endswith("#7 (L2)")
        assert "same name as" in problem.reason
        assert [each.language for each in bench.documents()] == ["en"]


def test_nothing_is_retired_when_the_source_could_not_be_read_whole(
    bench: Bench, pages: Path
) -> None:
    bench.ingest(pages)
    (pages / "page004.md").unlink()
    (pages / "page003.md").unlink()
    (pages / "page003.md").symlink_to(pages / "nowhere")
    summary = bench.ingest(pages, retire_missing=True)
    assert summary.counts.get("retired", 0) == 0
    assert len(bench.documents()) == 5


def test_a_dry_run_says_what_would_happen_and_writes_nothing(bench: Bench, pages: Path) -> None:
    summary = bench.ingest(pages, dry_run=True)
    assert (summary.counts["parsed"], summary.counts["published"]) == (5, 5)
    assert bench.documents() == []
    assert bench.link.call(lambda tx: tx.runs.latest(TENANT, limit=5)) == []
    assert bench.link.call(lambda tx: tx.generations.active()) is None


def test_the_same_page_from_two_places_comes_once_and_the_other_is_told(
    bench: Bench, tmp_path: Path
) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "nimbus" / "v2.0").mkdir(parents=True)
        page = tmp_path / place / "nimbus" / "v2.0" / "guide.md"
        page.write_text(f"# Guide\n\nThis is the guide of {place}.\n", encoding="utf-8")
    for _ in range(2):
        summary = bench.ingest(tmp_path / "one", tmp_path / "two")
        (problem,) = summary.problems
        assert (problem.kind, problem.outcome) == ("duplicate", "failed")
        assert "/two/" in problem.origin
        assert "/one/" in problem.reason
        assert "--source" in problem.reason
    (kept,) = bench.documents()
    assert (kept.source, kept.path, kept.edition) == ("nimbus", "nimbus/guide.md", "2.0")
    apart = bench.ingest(tmp_path / "two", source="second")
    assert not apart.problems
    assert len(bench.documents()) == 2


def test_items_that_cannot_be_read_are_told_and_the_rest_comes_through(
    bench: Bench, pages: Path
) -> None:
    (pages / "empty.md").write_bytes(b"")
    (pages / "nul.md").write_bytes(b"# Zero\n\nbefore\0after \xf0\x9f\x91\xa9\xe2\x80\x8d words\n")
    summary = bench.ingest(pages)
    assert summary.state == "succeeded"
    told, problems = run_of(bench, summary.run_id)
    assert told.counts["skipped"] == 1
    assert [(each.kind, each.origin.rsplit("/", 1)[-1]) for each in problems] == [
        ("empty", "empty.md")
    ]
    assert len(bench.documents()) == 6


def test_an_item_that_takes_too_long_is_given_up(
    pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(content: bytes, *, name: str, **limits: Any) -> Any:
        if name == "page001.md":
            time.sleep(1.0)
        return parse(content, name=name, **limits)

    bench = Bench(settings_for(parse_timeout_s=0.3))
    monkeypatch.setattr("ingest.prepare.parse", slow)
    summary = bench.ingest(pages)
    (problem,) = summary.problems
    assert (problem.kind, problem.origin.rsplit("/", 1)[-1]) == ("unreadable", "page001.md")
    assert "parse_timeout_s, 0.3 s" in problem.reason
    assert summary.counts["published"] == 4
    bench.link.close()


def test_a_run_in_which_every_item_failed_has_failed(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text("{broken\n{too\n", encoding="utf-8")
    summary = bench.ingest(tmp_path / "c.jsonl")
    assert summary.state == "failed"
    assert summary.counts["failed"] == finished(summary.counts) == 2
    assert run_of(bench, summary.run_id)[0].state == "failed"


def test_turns_are_kept_one_by_one_with_speaker_and_time(bench: Bench, tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ada", "text": "I moved to Lisbon.", "session": "s1", "time": "2024-05-01"},
        {"speaker": "Bo", "text": "你喜欢那里吗？", "session": "s1", "time": "2024-05-01"},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(json.dumps(turn) for turn in turns), encoding="utf-8")
    bench.ingest(file)
    assert bench.counts()["turns"] == 2
    kinds = {(each.kind, each.source_type, each.quote_policy) for each in bench.documents()}
    assert kinds == {("turn", "conversation", "citable")}
    assert sorted(bench.embedder.encoded) == sorted(turn["text"] for turn in turns)


class Breaking:
    """An embedder that breaks after some calls."""

    def __init__(self, bench: Bench, calls: int) -> None:
        self._inner = bench.embedder
        self._calls = calls
        self.dim, self.fingerprint = self._inner.dim, self._inner.fingerprint
        self.max_tokens = self._inner.max_tokens
        self.count_tokens = self._inner.count_tokens
        self.embed_queries = self._inner.embed_queries
        self.encode_queries = self._inner.encode_queries
        self.token_recipe = self._inner.token_recipe

    def embed_documents(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        vectors, _ = self.embed_documents_with_tokens(texts, languages=languages)
        return vectors

    def embed_documents_with_tokens(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> tuple[Vectors, list[TokenVectors]]:
        self._calls -= 1
        if self._calls < 0:
            raise ModelError("the weights are damaged")
        return self._inner.embed_documents_with_tokens(texts, languages=languages)


def test_a_run_that_broke_goes_on_where_it_stopped(tmp_path: Path) -> None:
    write_pages(tmp_path, 12)
    whole, broken = (Bench(settings_for(block_items=4)) for _ in range(2))
    whole.ingest(tmp_path)
    broken.opened = _once(Breaking(broken, 1))
    with pytest.raises(ModelError, match="damaged"):
        broken.ingest(tmp_path)
    (run,) = broken.link.call(lambda tx: tx.runs.latest(TENANT, limit=5))
    assert (run.state, run.error) == ("failed", "the weights are damaged")
    broken.opened = _once(broken.embedder)
    again = broken.ingest(tmp_path)
    assert (again.counts["unchanged"], again.counts["parsed"]) == (4, 8)
    assert broken.documents() == whole.documents()
    assert broken.indexed() == whole.indexed()
    for each in (whole, broken):
        each.link.close()


def test_runs_whose_process_is_gone_are_interrupted(bench: Bench) -> None:
    gone = "{}:{}:{}".format(*this_process().split(":")[:1], 2**22 + 1, 1.0)
    for name, process in (("run_a", gone), ("run_b", this_process())):
        run = Run(
            run_id=name, tenant=TENANT, arguments={"process": process}, state="running",
            started_at=NOW, finished_at=None, counts={"loaded": 3},
        )  # fmt: skip
        bench.link.call(lambda tx, run=run: tx.runs.start(run))  # type: ignore[misc]
    mark_interrupted(bench.link, TENANT, CLOCK)
    assert run_of(bench, "run_a")[0].state == "interrupted"
    assert run_of(bench, "run_a")[0].counts == {"loaded": 3}
    assert run_of(bench, "run_b")[0].state == "running"
    assert is_running(this_process())


def test_an_indexer_that_does_not_move_is_told_with_its_lag(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    page = pages / "page000.md"
    page.write_text("# Page 0\n\nnew words.\n", encoding="utf-8")
    bench.index = lambda: None  # type: ignore[method-assign]
    run_id = bench.ingest(pages).run_id
    left = wait_until_visible(bench.link, TENANT, run_id, stuck_after_s=0.0, sleep=lambda _s: None)
    assert left is not None
    assert (left.count, left.origins) == (1, (page.as_uri(),))
    assert re.search(r"1 documents wait.*owes 1 entries", left.reason)


def test_a_run_waits_only_for_what_it_wrote(bench: Bench, pages: Path) -> None:
    mine = bench.ingest(pages)
    bench.index = lambda: None  # type: ignore[method-assign]
    other = pages.parent / "other"
    other.mkdir()
    write_pages(other, 1, words=20)
    bench.ingest(other)
    assert bench.counts()["pending"] == 1
    assert wait_until_visible(bench.link, TENANT, mine.run_id, sleep=_never) is None


def test_only_fewer_than_ever_is_progress(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision that goes back and forth between indexer and outbox is stuck."""
    seen = iter([3, 2, 3, 2, 3, 2, 3, 2, 0])

    async def unshown(*_arguments: Any) -> Unshown:
        return Unshown(count=next(seen), origins=(), owed=next(owed), lag_s=1.0)

    owed, now = itertools.count(), itertools.count(step=10)
    monkeypatch.setattr("ingest.run._unshown", unshown)
    monkeypatch.setattr("ingest.run.time.monotonic", lambda: float(next(now)))
    left = wait_until_visible(bench.link, TENANT, "r", stuck_after_s=25, sleep=lambda _s: None)
    assert left is not None
    assert left.count in (2, 3)


@pytest.mark.parametrize("stuck", [1, 5])
def test_a_document_that_is_not_shown_is_a_problem_of_its_own(
    bench: Bench, pages: Path, stuck: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    origins = tuple(f"file:///{number}" for number in range(stuck))
    left = Unshown(count=stuck, origins=origins, owed=0, lag_s=0.0)
    monkeypatch.setattr("ingest.run.wait_until_visible", lambda *_a: left)
    bench.waits = True
    if stuck == 5:
        with pytest.raises(StackError, match="5 documents wait"):
            bench.ingest(pages)
    else:
        assert bench.ingest(pages).state == "succeeded"
    (run,) = bench.link.call(lambda tx: tx.runs.latest(TENANT, limit=5))
    _, problems = run_of(bench, run.run_id)
    assert [each.origin for each in problems] == list(origins)
    assert (run.counts["published"], run.counts["not_visible"]) == (5, stuck)
    assert run.state == ("failed" if stuck == 5 else "succeeded")


def _never(_seconds: float) -> None:
    raise AssertionError("nothing of this run is pending")


def upload(bench: Bench, name: str, content: bytes, **arguments: str) -> str:
    run_id = f"run_{name}"
    run = Run(
        run_id=run_id, tenant=TENANT, arguments={}, state="queued", started_at=NOW,
        finished_at=None, counts={},
    )  # fmt: skip

    async def put(tx: Transaction) -> None:
        await tx.runs.start(run)
        await tx.uploads.put(
            run_id, TENANT, name=name, media_type=None, content=content, arguments=arguments
        )

    bench.link.call(put)
    return run_id


def worker_of(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker beside an indexer that is at once done."""
    monkeypatch.setattr("ingest.worker.wait_until_visible", lambda *_a, **_k: bench.index())
    return Worker(bench.settings, bench.link, bench.opened, CLOCK)


def test_uploads_are_worked_off_and_leave(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = worker_of(bench, monkeypatch)
    good = upload(
        bench, "note.md", b"# Note\n\nSome words.\n", title="Mine", tags='["a", "b"]', owner="ada"
    )
    bad = upload(bench, "empty.txt", b"  \n")
    lines = upload(bench, "c.jsonl", b'{"id": 1, "text": "one"}\n{broken\n')
    assert worker.step() == 3
    assert run_of(bench, good)[0].state == "succeeded"
    failed, problems = run_of(bench, bad)
    assert (failed.state, [each.kind for each in problems]) == ("failed", ["empty"])
    corpus, problems = run_of(bench, lines)
    assert (corpus.state, corpus.counts["parsed"], len(problems)) == ("succeeded", 1, 1)
    with pytest.raises(NotFound):
        bench.link.call(lambda tx: tx.uploads.get(good))
    assert worker.step() == 0


def test_an_upload_replaces_its_former_one_unless_it_is_said_to_be_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = worker_of(bench, monkeypatch)
    upload(bench, "note.md", b"# Note\n\nSome words about the harbour.\n")
    worker.step()
    upload(bench, "note.md", "# 笔记\n\n这是关于港口的几句话。\n".encode())
    worker.step()
    assert [each.language for each in bench.documents()] == ["zh"]
    for source in ("a", "b"):
        upload(bench, "note.md", b"# Note\n\nSome words about the harbour.\n", source=source)
        worker.step()
    assert sorted(each.source for each in bench.documents()) == ["a", "b", "upload"]


def test_an_upload_that_always_breaks_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def burst(*_arguments: Any, **_named: Any) -> None:
        raise RuntimeError("boom")

    worker = worker_of(bench, monkeypatch)
    run_id = upload(bench, "note.md", b"# Note\n\nSome words.\n")
    monkeypatch.setattr("ingest.worker.from_upload", burst)
    ended = [worker.step() for _ in range(MAX_TRIES + 1)]
    assert ended == [0] * MAX_TRIES + [1]
    run, _ = run_of(bench, run_id)
    assert run.state == "failed"
    assert run.error == f"given up after {MAX_TRIES} tries; the last one: RuntimeError: boom"


def test_a_ledger_out_of_reach_is_no_try_of_an_upload(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_arguments: Any, **_named: Any) -> None:
        raise StoreUnavailable("postgres", "no route")

    worker = worker_of(bench, monkeypatch)
    run_id = upload(bench, "note.md", b"# Note\n\nSome words.\n")
    with monkeypatch.context() as outage:
        outage.setattr("ingest.worker.from_upload", lost)
        assert [worker.step() for _ in range(MAX_TRIES + 1)] == [0] * (MAX_TRIES + 1)
    assert run_of(bench, run_id)[0].counts["tries"] == 1
    assert worker.step() == 1
    assert run_of(bench, run_id)[0].state == "succeeded"


def test_the_worker_stops_without_a_word(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def opened(_settings: object) -> MemoryLedger:
        return bench.ledger

    async def stopping() -> None:
        asyncio.get_running_loop().call_later(0.3, os.kill, os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(serve(bench.settings), timeout=20)

    monkeypatch.setattr("ingest.worker.open_ledger", opened)
    asyncio.run(stopping())


def _once(embedder: Embedder) -> Once:
    return Once(lambda: embedder)
