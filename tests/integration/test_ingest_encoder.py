"""Runs take the ledger's encoder, and what was re-encoded is not ingested anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from ingesting import CLOCK, DIM, TENANT, Bench, write_pages

from cluster.errors import EncoderChanged
from cluster.model import Generation
from cluster.models.hashing import HashingEmbedder
from cluster.models.open import describe
from cluster.settings import ChunkSettings, EncoderSettings
from cluster.stores.protocols import Backlog, Transaction
from ingest.encoder import activate, encoder_of


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.link.close()


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    write_pages(folder, 3, words=100)
    return folder


def test_another_encoder_is_refused_with_the_way_out(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    other = replace(describe(bench.settings), fingerprint="other@1")
    with pytest.raises(EncoderChanged, match=r"hashing-64@1.*other@1.*run it again"):
        activate(bench.link, other)


def test_the_ledger_says_which_encoder_a_run_uses(bench: Bench, pages: Path) -> None:
    named = bench.settings.model_copy(
        update={"encoder": EncoderSettings(backend="hashing", hashing_dim=32, threads=3)}
    )
    before, generation = encoder_of(bench.link, named)
    assert (before.encoder.hashing_dim, generation.fingerprint) == (32, "hashing-32@1")
    bench.ingest(pages)
    settings, generation = encoder_of(bench.link, named)
    assert (settings.encoder.hashing_dim, generation.fingerprint) == (DIM, f"hashing-{DIM}@1")
    assert settings.encoder.threads == 3


def reencoded(bench: Bench) -> Generation:
    """The ledger of `bench` switched to another encoder, with nothing left to catch up."""
    to = replace(
        describe(bench.settings),
        fingerprint="other@1",
        recipe={"chunked_as": f"hashing-{DIM}@1"},
    )

    async def switch(tx: Transaction) -> Backlog:
        await tx.generations.begin(to, now=CLOCK.now())
        texts = await tx.generations.missing(to.fingerprint, limit=1000)
        made = HashingEmbedder(DIM).embed_documents(
            ["x"] * len(texts), languages=["en"] * len(texts)
        )
        vectors = {one.vector_key: row for one, row in zip(texts, made, strict=True)}
        await tx.vectors.put(vectors, fingerprint=to.fingerprint)
        return await tx.generations.switch(to.fingerprint, now=CLOCK.now(), grace=timedelta(days=1))

    assert not bench.link.call(switch)
    return to


def test_what_was_re_encoded_is_unchanged_for_the_next_run(bench: Bench, pages: Path) -> None:
    first = bench.ingest(pages)
    before = bench.documents()
    again = bench.ingest(pages, generation=reencoded(bench))
    assert again.counts["unchanged"] == first.counts["loaded"] > 0
    assert again.counts["published"] == 0
    assert bench.documents() == before


def test_a_run_ends_when_the_encoder_was_changed_under_it(
    bench: Bench, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ingest(pages)
    reencoded(bench)
    monkeypatch.setattr("ingest.run.activate", lambda *_: None)
    (pages / "later.md").write_text("# Later\n\nSaid after the switch.", encoding="utf-8")
    with pytest.raises(EncoderChanged, match="run it again"):
        bench.ingest(pages)
    runs = bench.link.call(lambda tx: tx.runs.latest(TENANT, limit=9))
    (failed,) = (run for run in runs if run.state == "failed")
    assert "other@1" in (failed.error or "")


def test_another_chunking_supersedes_what_was_there(bench: Bench, pages: Path) -> None:
    bench.ingest(pages)
    before = bench.documents()
    bench.settings = bench.settings.model_copy(
        update={"chunk": ChunkSettings(max_tokens=32, target_tokens=16)}
    )
    bench.ingest(pages)
    after = bench.documents()
    assert [one.document_id for one in after] == [one.document_id for one in before]
    assert not {one.revision_id for one in before} & {one.revision_id for one in after}
    assert sum(one.chunk_count for one in after) > sum(one.chunk_count for one in before)
    assert bench.counts()["chunks"] == sum(one.chunk_count for one in after) == len(bench.indexed())
