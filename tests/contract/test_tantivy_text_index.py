"""Tantivy keeps the contract of `TextIndex`, and what a folder on a disk adds to it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tantivy import Index

from cluster.errors import InvalidRequest, StoreRejected, StoreUnavailable
from cluster.stores.protocols import TextRow
from cluster.stores.tantivy.index import TantivyTextIndex
from cluster.stores.tantivy.rows import build_schema, document
from contract.text_index import TextIndexContract, ids, row, scanned

WRITER = """
import asyncio, sys
from pathlib import Path
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.text_index import row

async def write():
    index = TantivyTextIndex.open(Path(sys.argv[1]))
    for batch in range(10_000):
        await index.upsert([row(f"b{batch:04d}-{n}", ["word", *map(str, range(n * 9))])
                            for n in range(20)])
        print(batch, flush=True)
        if len(sys.argv) > 2:
            sys.stdin.readline()

asyncio.run(write())
"""


def writer(path: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


class TestTantivyTextIndex(TextIndexContract):
    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncIterator[TantivyTextIndex]:
        index = TantivyTextIndex.open(tmp_path / "text", writer_heap_mb=16)
        yield index
        await index.close()

    async def test_refuses_a_value_that_is_not_of_its_field(self, index: TantivyTextIndex) -> None:
        for field, value in (("said_at", "2024"), ("authority", "1"), ("tags", "a"), ("path", 1)):
            with pytest.raises(InvalidRequest, match=f"c1.*{field}"):
                await index.upsert([row("c0"), row("c1", **{field: value})])  # type: ignore[arg-type]  # wrong on purpose
        assert await scanned(index) == {}

    async def test_lone_surrogate_in_a_field_is_held(self, index: TantivyTextIndex) -> None:
        await index.upsert([row("c1", path="a\udc80b")])
        assert await ids(index) == ["c1"]


async def test_rows_outlive_the_object(tmp_path: Path) -> None:
    first = TantivyTextIndex.open(tmp_path)
    await first.upsert([row("c1", version=4)])
    await first.close()
    second = TantivyTextIndex.open(tmp_path)
    assert await second.versions(["c1"]) == {"c1": 4}
    await second.upsert([row("c2")])
    assert await ids(second) == ["c1", "c2"]
    await second.close()


async def test_second_writer_is_told_where_and_what_to_do(tmp_path: Path) -> None:
    first = TantivyTextIndex.open(tmp_path)
    with pytest.raises(StoreUnavailable, match=rf"{tmp_path}.*another process") as caught:
        TantivyTextIndex.open(tmp_path)
    assert isinstance(caught.value.__cause__, ValueError)
    await first.close()
    await TantivyTextIndex.open(tmp_path).close()


async def test_reader_sees_each_commit_of_another_process(tmp_path: Path) -> None:
    reader = TantivyTextIndex.open(tmp_path / "text", read_only=True)
    with pytest.raises(StoreUnavailable, match="no index"):
        await ids(reader)
    process = writer(tmp_path / "text", "step by step")
    try:
        for batch in range(6):
            assert said(process) == str(batch)
            assert len(await ids(reader)) == 20 * (batch + 1)
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
    finally:
        end(process)
    with pytest.raises(StoreRejected, match="reading only"):
        await reader.upsert([row("c1")])
    with pytest.raises(StoreRejected, match="reading only"):
        await reader.delete(["c1"])
    await reader.close()


async def test_reader_follows_an_index_that_was_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    first = TantivyTextIndex.open(folder)
    await first.upsert([row("old")])
    reader = TantivyTextIndex.open(folder, read_only=True)
    assert await ids(reader) == ["old"]
    await first.close()
    folder.rename(tmp_path / "aside")
    second = TantivyTextIndex.open(folder)
    await second.upsert([row("new")])
    assert await ids(reader) == ["new"]
    await second.close()
    await reader.close()


async def test_killed_writer_leaves_whole_batches_and_no_lock(tmp_path: Path) -> None:
    process = writer(tmp_path)
    for batch in range(8):
        assert said(process) == str(batch)
    await asyncio.sleep(0.03)
    end(process)
    index = TantivyTextIndex.open(tmp_path)
    held = await scanned(index)
    per_batch = {name.partition("-")[0] for name in held}
    assert len(held) == 20 * len(per_batch)
    assert {f"b{batch:04d}" for batch in range(8)} <= per_batch
    await index.upsert([row("after")])
    assert len(await ids(index)) == len(held) + 1
    await index.close()


async def test_unfinished_segment_does_not_block(tmp_path: Path) -> None:
    index = TantivyTextIndex.open(tmp_path)
    await index.upsert([row("c1")])
    await index.close()
    for ending in ("idx", "term", "store", "fast"):
        (tmp_path / f"0123456789abcdef0123456789abcdef.{ending}").write_bytes(b"half")
    (tmp_path / ".tmpAbCdEf").write_bytes(b"{")
    again = TantivyTextIndex.open(tmp_path)
    await again.upsert([row("c2")])
    assert await ids(again) == ["c1", "c2"]
    await again.close()


@pytest.mark.parametrize("content", ["", "{", '{"segments": []}'])
async def test_damage_is_named_with_the_way_out(tmp_path: Path, content: str) -> None:
    index = TantivyTextIndex.open(tmp_path)
    await index.upsert([row("c1")])
    await index.close()
    (tmp_path / "meta.json").write_text(content)
    with pytest.raises(StoreRejected, match=rf"{tmp_path}.*rebuild"):
        TantivyTextIndex.open(tmp_path)
    reader = TantivyTextIndex.open(tmp_path, read_only=True)
    with pytest.raises(StoreRejected, match="rebuild"):
        await ids(reader)


async def test_lost_segment_is_an_error_not_an_empty_answer(tmp_path: Path) -> None:
    index = TantivyTextIndex.open(tmp_path)
    await index.upsert([row("c1")])
    await index.close()
    remove_terms(tmp_path)
    with pytest.raises(StoreRejected, match="rebuild"):
        await ids(TantivyTextIndex.open(tmp_path))


def remove_terms(folder: Path) -> None:
    for lost in folder.glob("*.term"):
        lost.unlink()


async def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="file"):
        TantivyTextIndex.open(tmp_path / "file" / "text")


def test_full_disk_is_named_and_costs_nothing(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can only be made by root")
    try:
        asyncio.run(fill(tmp_path))
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


async def fill(folder: Path) -> None:
    """Until it is full; then make room, and go on."""
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 200_000)
    index = TantivyTextIndex.open(folder / "text")
    written: list[str] = []
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await write_until_it_fails(index, written)
    assert written
    assert await ids(index) == written
    ballast.unlink()
    await index.upsert([row("after")])
    assert await ids(index, limit=1) == ["after"]
    assert await scanned(index) == dict.fromkeys([*written, "after"], 1)
    await index.close()


async def write_until_it_fails(index: TantivyTextIndex, written: list[str]) -> None:
    for batch in range(100):
        names = [f"c{batch:03d}-{number:02d}" for number in range(20)]
        words = [f"{batch}-{number}" for number in range(300)]
        await index.upsert(
            [row(name, ["word", *(name + word for word in words)]) for name in names]
        )
        written += names


@pytest.mark.parametrize("how", ["moved", "removed"])
async def test_the_writer_begins_anew_where_its_folder_went(tmp_path: Path, how: str) -> None:
    path = tmp_path / "text"
    writing = TantivyTextIndex.open(path, writer_heap_mb=16)
    await writing.upsert([row(f"old{number}") for number in range(50)])
    reading = TantivyTextIndex.open(path, read_only=True)
    assert len(await scanned(reading)) == 50
    if how == "moved":
        path.rename(tmp_path / "text.damaged-1")
    else:
        shutil.rmtree(path)
    assert await writing.versions(["old1"]) == {}
    await writing.upsert([row("new", version=3)])
    for _ in range(3):
        await writing.upsert([row("newer")])
    assert await scanned(reading) == await scanned(writing) == {"new": 3, "newer": 1}
    await writing.close()
    again = TantivyTextIndex.open(path)
    assert await again.versions(["new", "old1"]) == {"new": 3}
    await again.close()


async def test_rows_that_another_program_doubled_are_all_seen(tmp_path: Path) -> None:
    index = TantivyTextIndex.open(tmp_path)
    await index.upsert([row("a"), row("b"), row("c")])
    await index.close()
    double(tmp_path, row("b", version=7), times=3)
    index = TantivyTextIndex.open(tmp_path)
    assert await index.copies(["a", "b", "c", "d"]) == {"a": 1, "b": 4, "c": 1}
    assert (await index.versions(["a", "b", "c"])).keys() == {"a", "b", "c"}
    await index.upsert([row("b", version=9)])
    assert await index.copies(["b"]) == {"b": 1}
    assert await index.versions(["b"]) == {"b": 9}
    await index.close()


def double(path: Path, again: TextRow, *, times: int) -> None:
    """Add a row without removing what has its id, as no writer of ours does."""
    writer = Index(build_schema(), path=str(path), reuse=True).writer(num_threads=1)
    for _ in range(times):
        writer.add_document(document(again))
    writer.commit()
