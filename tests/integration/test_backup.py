"""A backup is the whole ledger; a restored copy answers the same; what is not whole is refused."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import stat
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from serving import DIM, EMBEDDER, NOW, TENANT, encode, fill, prepared, views_of

from cluster.clock import FixedClock
from cluster.errors import InvalidRequest, StoreRejected
from cluster.ids import sha256_hex
from cluster.model import ApiKey, Generation, Metadata, Run, Scope, Turn
from cluster.settings import PostgresSettings, Settings
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.open import Stores
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.migrate import known_migrations
from cluster.stores.protocols import Ledger, Prepared
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.postgres import fresh_database
from eval.bench.corpus import passages
from lifecycle.backup import Manifest, backup, read_manifest, restore, restore_keys
from lifecycle.rebuild import rebuild
from lifecycle.reconcile import Side, reconcile
from serve.metrics import Metrics
from serve.plan.planner import Question
from serve.service import build_service

pytestmark = pytest.mark.stores

SETTINGS = PostgresSettings()
TAKEN = datetime(2026, 6, 1, tzinfo=UTC)
GENERATION = Generation(fingerprint=EMBEDDER.fingerprint, dim=DIM, recipe={"name": "hashing"})
HOSTILE = "tab\there, back\\slash, \\N, new\nline, quote ' and \", 中文 🙂, \x01 control"


@pytest.fixture
def other_url(postgres_url: str, ledger_template: str) -> Iterator[str]:
    with fresh_database(postgres_url, ledger_template) as url:
        yield url


@asynccontextmanager
async def house(url: str, folder: Path) -> AsyncIterator[Stores]:
    ledger = await PostgresLedger.open(url, SETTINGS)
    stores = Stores(
        ledger=ledger,
        vector_index=MemoryVectorIndex(DIM),
        text_index=TantivyTextIndex.open(folder, writer_heap_mb=16),
    )
    yield stores
    await stores.close()


def corpus() -> list[Prepared]:
    pages = [
        prepared(
            f"{one['doc_id']}.md",
            one["text"],
            metadata=Metadata(title=one["title"], language=one["language"], tags=("a", "b c")),
        )
        for one in passages(count=120, words=24, salt="backup")
    ]
    turn = Turn(conversation="c", session="s", ordinal=0, speaker="ann", said_at=NOW)
    return [
        *pages,
        prepared("hostile.md", HOSTILE, metadata=Metadata(title=HOSTILE, language="en")),
        prepared("mine.md", "what only ann may see", owner="ann"),
        prepared("other.md", "what another tenant has", tenant="globex"),
        prepared("turn", "what was said", turn=turn),
    ]


async def furnish(stores: Stores) -> None:
    """A ledger with something in most of its tables."""
    async with stores.ledger.transaction() as tx:
        await tx.generations.activate(GENERATION)
    await fill(stores, corpus())
    edited = prepared("hostile.md", HOSTILE + " edited", metadata=Metadata(title="t"))
    await fill(stores, [edited])
    async with stores.ledger.transaction() as tx:
        gone = prepared("other.md", "what another tenant has", tenant="globex")
        await tx.documents.delete(Scope(tenant="globex"), [gone.revision.document_id])
        await tx.keys.put(api_key("k_backup"), secret_sha256=sha256_hex("secret"))
        await tx.runs.start(a_run())
        await tx.uploads.put(
            "run-1", TENANT, name="a", media_type=None, content=bytes(range(256)), arguments={}
        )


def api_key(key_id: str) -> ApiKey:
    return ApiKey(
        key_id=key_id, tenant=TENANT, role="read", name="n", owner=None, agent=None, created_at=NOW
    )


def a_run() -> Run:
    return Run(
        run_id="run-1", tenant=TENANT, arguments={"名": HOSTILE}, state="queued", started_at=NOW,
        finished_at=None, counts={"loaded": 1},
    )  # fmt: skip


async def answers(stores: Stores) -> list[list[tuple[tuple[str, ...], float]]]:
    """Ids and scores of 500 questions, in order, as the API would give them."""
    service = build_service(
        settings=Settings.model_validate({"serve": {"channel_deadline_s": 5, "deadline_s": 20}}),
        stores=stores,
        encode=encode,
        fingerprint=EMBEDDER.fingerprint,
        clock=FixedClock(NOW),
        metrics=Metrics(),
    )
    rng = random.Random("questions")
    words = [word for page in corpus() for word in page.revision.text.split()]
    found = []
    for _ in range(500):
        text = " ".join(rng.sample(words, 4))[:200]
        question = Question(
            scope=Scope(tenant=TENANT, owner="ann"), text=text, limit=10, now=NOW, deadline_s=20.0
        )
        answer = await service.search(question)
        assert answer.failures == ()
        found.append([(one.citation.chunk_ids, one.score) for one in answer.passages])
    assert sum(map(len, found)) > 2000
    return found


def contents(manifest: Manifest) -> dict[str, tuple[int, str]]:
    return {table.name: (table.rows, table.sha256) for table in manifest.tables}


async def test_a_restored_copy_is_the_same_and_answers_the_same(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "ledger.backup"
    async with house(database_url, tmp_path / "zero") as stores:
        await furnish(stores)
    # Statistics of the text index count removed rows until it merges: compare without any.
    async with house(database_url, tmp_path / "one") as stores:
        await rebuilt(stores)
        before = await answers(stores)
    taken = await backup(database_url, file, now=TAKEN)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_manifest(file) == taken
    assert contents(taken)["revisions"][0] == 125
    assert contents(taken)["uploads"][0] == 1
    await restore(other_url, SETTINGS, file)
    again = await backup(other_url, tmp_path / "again", now=TAKEN)
    assert contents(again) == contents(taken)
    ahead = {name: again.sequences[name] - value for name, value in taken.sequences.items()}
    assert {name: by for name, by in ahead.items() if by} == {"row_versions": 1_000_000_000}
    async with house(other_url, tmp_path / "two") as stores:
        await rebuilt(stores)
        after = await answers(stores)
        sides = {"vectors": Side(index=stores.vector_index), "text": Side(index=stores.text_index)}
        agree = await reconcile(
            stores.ledger, sides, FixedClock(NOW), grace=timedelta(0), settle_s=0
        )
    assert agree.sound
    assert [[chunk for chunk, _ in one] for one in after] == [
        [chunk for chunk, _ in one] for one in before
    ]
    for one, other in zip(before, after, strict=True):
        assert [score for _, score in one] == pytest.approx([score for _, score in other], abs=1e-4)


async def rebuilt(stores: Stores) -> None:
    from cluster.indexer import Indexer

    stop = asyncio.Event()
    indexing = asyncio.create_task(
        Indexer(stores.ledger, views_of(stores), FixedClock(NOW)).run(stop)
    )
    done = await rebuild(stores.ledger, FixedClock(NOW))
    stop.set()
    await indexing
    assert (done.rows, done.left, done.bare) == (123, 0, 0)


async def test_a_backup_of_an_old_server_and_schema_goes_into_todays(
    oldest_postgres_url: str, oldest_template: str, other_url: str, tmp_path: Path
) -> None:
    with fresh_database(oldest_postgres_url, oldest_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
            first = known_migrations()[0]
            connection.execute(first.text.encode())
            connection.execute(
                "CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, "
                "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
            )
            connection.execute("INSERT INTO schema_migrations VALUES (1, '0001_ledger.sql')")
            connection.execute("INSERT INTO documents VALUES ('doc_a', 'acme', NULL)")
        await backup(url, tmp_path / "old", now=TAKEN)
    manifest = await restore(other_url, SETTINGS, tmp_path / "old")
    assert manifest.migrations == ("0001_ledger.sql",)
    with psycopg.connect(other_url) as connection:
        assert connection.execute("SELECT * FROM documents").fetchall() == [("doc_a", "acme", None)]
        applied = connection.execute("SELECT name FROM schema_migrations").fetchall()
    pre = {step.name for step in known_migrations() if step.step == "pre"}
    assert {name for (name,) in applied} == pre


async def test_only_an_empty_ledger_is_restored_into(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    async with house(database_url, tmp_path / "one") as stores:
        await furnish(stores)
    await backup(database_url, tmp_path / "file", now=TAKEN)
    with pytest.raises(StoreRejected, match="not empty"):
        await restore(database_url, SETTINGS, tmp_path / "file")
    ledger = await PostgresLedger.open(other_url, SETTINGS)
    async with ledger.transaction() as tx:  # what a stack writes when it starts
        await tx.generations.activate(replace(GENERATION, fingerprint="another"))
        await tx.keys.put(api_key("k_local"), secret_sha256=sha256_hex("local"))
    await ledger.close()
    await restore(other_url, SETTINGS, tmp_path / "file")
    assert await keys_and_encoder(other_url) == ({"k_backup", "k_local"}, EMBEDDER.fingerprint)


async def keys_and_encoder(url: str) -> tuple[set[str], str]:
    ledger = await PostgresLedger.open(url, SETTINGS)
    async with ledger.transaction() as tx:
        keys = await tx.keys.all_of(None)
        active = await tx.generations.active()
        await tx.generations.live()
    await ledger.close()
    assert active is not None
    return {key.key_id for key in keys}, active.fingerprint


def flip(file: Path) -> None:
    """Another content under the same manifest, in a sound zip."""
    changed = file.with_suffix(".changed")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if "documents" in name:
                content = content.replace(b"acme", b"evil")
            new.writestr(name, content)
    changed.replace(file)


def damage(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 3] ^= 0xFF
    file.write_bytes(bytes(raw))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200])


def drop_member(file: Path) -> None:
    changed = file.with_suffix(".changed")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            if "chunks" not in name:
                new.writestr(name, old.read(name))
    changed.replace(file)


async def test_a_write_under_way_is_waited_for_and_kept(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    async with house(database_url, tmp_path / "one") as stores:
        await furnish(stores)
    await backup(database_url, tmp_path / "file", now=TAKEN)
    with psycopg.connect(other_url) as writer:
        writer.execute("INSERT INTO documents VALUES ('doc_a', 'acme', NULL)")
        restoring = asyncio.create_task(restore(other_url, SETTINGS, tmp_path / "file"))
        await asyncio.sleep(1.0)
        writer.commit()
        with pytest.raises(StoreRejected, match="not empty"):
            await restoring
        assert writer.execute("SELECT document_id FROM documents").fetchall() == [("doc_a",)]


async def test_a_damaged_file_changes_nothing(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    async with house(database_url, tmp_path / "one") as stores:
        await furnish(stores)
    whole = tmp_path / "whole"
    await backup(database_url, whole, now=TAKEN)
    for harm in (flip, damage, cut, drop_member):
        file = tmp_path / harm.__name__
        shutil.copy(whole, file)
        harm(file)
        with pytest.raises(InvalidRequest, match=harm.__name__):
            await restore(other_url, SETTINGS, file)
        with psycopg.connect(other_url) as connection:
            counts = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM revisions)"
            assert connection.execute(counts).fetchone() == (0, 0)
    with pytest.raises(InvalidRequest, match="no complete backup"):
        read_manifest(tmp_path / "nothing")
    with pytest.raises(InvalidRequest, match="exists"):
        await backup(database_url, whole, now=TAKEN)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


async def test_a_backup_under_writes_is_one_state(database_url: str, tmp_path: Path) -> None:
    """Every chunk has its revision and every revision its chunks, whatever is written meanwhile."""
    ledger = await PostgresLedger.open(database_url, SETTINGS)
    stop = asyncio.Event()
    writing = asyncio.create_task(write(ledger, stop))
    for number in range(4):
        await asyncio.sleep(0.1)
        taken = await backup(database_url, tmp_path / f"{number}", now=TAKEN)
        with zipfile.ZipFile(tmp_path / f"{number}") as archive:
            chunks = table(archive, taken, "chunks")
            revisions = table(archive, taken, "revisions")
        assert {one["revision_id"] for one in chunks} == {one["revision_id"] for one in revisions}
        assert len(chunks) == 2 * len(revisions) > 0
    stop.set()
    await writing
    await ledger.close()


async def write(ledger: Ledger, stop: asyncio.Event) -> None:
    from contract.samples import prepared as sample
    from contract.samples import put

    number = 0
    while not stop.is_set():
        number += 1
        await put(ledger, sample(f"{number}.md", f"first part {number}. second part."))


def table(archive: zipfile.ZipFile, manifest: Manifest, name: str) -> list[dict[str, str]]:
    (shape,) = (one for one in manifest.tables if one.name == name)
    lines = archive.read(shape.member).decode().splitlines()
    return [dict(zip(shape.columns, line.split("\t"), strict=True)) for line in lines]


async def test_keys_come_along_when_asked(database_url: str, tmp_path: Path) -> None:
    key, place = tmp_path / "named-otherwise", tmp_path / "new" / "keys" / "tombstone.key"
    key.write_text("ab" * 32)
    await backup(database_url, tmp_path / "file", now=TAKEN, keys={"tombstone.key": key})
    assert restore_keys(tmp_path / "file", {"tombstone.key": place}) == [place]
    assert place.read_text() == "ab" * 32
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert restore_keys(tmp_path / "file", {"tombstone.key": place}) == []
    place.write_text("cd" * 32)
    with pytest.raises(InvalidRequest, match="another key"):
        restore_keys(tmp_path / "file", {"tombstone.key": place})
    assert place.read_text() == "cd" * 32
