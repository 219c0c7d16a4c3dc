"""Every store call and every commit of the writing paths has a point at which a test can kill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaos.points import index_verbs, look_through, python_files
from cluster import kill_points
from cluster.kill_points import POINTS

ROOT = Path(__file__).parents[2]
VERBS = index_verbs((ROOT / "cluster/stores/protocols/indexes.py").read_text(encoding="utf-8"))
# All of `ingest` but `ingest/link.py`, through which the others call.
WRITING_PATHS = (
    "cluster/indexer.py",
    "cluster/indexing/*.py",
    "cluster/forget/*.py",
    "ingest/[!l]*.py",
    "ingest/l[!i]*.py",
    "lifecycle/*.py",
    "serve/api/documents.py",
    "serve/api/forget.py",
    "serve/api/uploads.py",
    "serve/api/usage.py",
)


def problems(source: str) -> tuple[str, ...]:
    return look_through(source, path="x", index_verbs=VERBS).missing


def test_no_store_call_is_without_a_point() -> None:
    found = [
        look_through(path.read_text(encoding="utf-8"), path=str(path.relative_to(ROOT)),
                     index_verbs=VERBS)
        for path in python_files(ROOT, WRITING_PATHS)
    ]  # fmt: skip
    assert [missing for each in found for missing in each.missing] == []


def test_every_point_is_registered_and_used() -> None:
    folders = ("cluster", "ingest", "lifecycle", "serve", "cli")
    used: list[str] = []
    for path in python_files(ROOT, [f"{folder}/**/*.py" for folder in folders]):
        source = path.read_text(encoding="utf-8")
        if path.name != "kill_points.py" and "reached" in source:
            used += look_through(source, path=str(path), index_verbs=VERBS).used
    assert sorted(set(used)) == sorted(POINTS)
    assert len(POINTS) == len(set(POINTS))


def test_points_are_named_after_their_path() -> None:
    for name in dir(kill_points):
        points = getattr(kill_points, name)
        if name.isupper() and name != "POINTS" and isinstance(points, tuple):
            assert set(points) <= set(POINTS), f"{name} is not in POINTS"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("async with ledger.transaction() as tx:\n  await tx.documents.put(x)\nreached('a')", None),
        ("async with ledger.transaction() as tx:\n  await tx.documents.put(x)", "a commit"),
        ("async with ledger.transaction() as t:\n  await t.runs.update(x)\nf()", "a commit"),
        ("async with ledger.transaction() as tx:\n  await tx.documents.page(x)", None),
        (
            "async with ledger.transaction() as tx:\n  await tx.a.put()\n  return 1\nreached('a')",
            "a return that leaves",
        ),
        ("async with ledger.transaction() as tx:\n  await unknown(tx)", "a commit"),
        ("async with a, ledger.transaction() as tx:\n  n = await tx.uploads.put()", "a commit"),
        ("await self._vectors.upsert(rows)", "self._vectors.upsert"),
        ("await self._vectors.upsert(rows)\nreached('a')", None),
        ("await self._write(rows, self._texts.upsert)", "self._texts.upsert"),
        ("if await stores.text_index.delete(ids):\n  reached('a')", "stores.text_index.delete"),
        ("if x:\n  await vectors.flush()\nreached('a')", "vectors.flush"),
        ("try:\n  f()\nexcept E:\n  await texts.delete(x)", "texts.delete"),
        ("await self._vectors.search(v)", None),
        ("await tx.vectors.delete(v)", None),
        ("async def put(tx):\n  await tx.a.put()\nlink.call(put)", "through a link"),
        ("async def put(tx):\n  await tx.a.put()\nlink.call(put)\nreached('a')", None),
        ("async def put(tx):\n  await tx.a.put()\nreturn self._link.call(put)", "through a link"),
        ("async def ask(tx):\n  return await tx.a.known()\nlink.call(ask)", None),
        ("link.call(lambda tx: tx.runs.latest())", None),
        ("link.call(lambda tx: tx.runs.start())", "through a link"),
    ],
)
def test_the_check_sees(code: str, told: str | None) -> None:
    body = "\n".join(f"  {line}" for line in code.splitlines())
    found = problems(f"async def f():\n{body}\n")
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_help_is_followed() -> None:
    reads = "async def ask(tx):\n  return await tx.a.get()\n"
    writes = "async def ask(n, tx):\n  return await tx.a.put()\n"
    used = "async def f():\n  async with l.transaction() as tx:\n    await ask({})\n"
    assert problems(reads + used.format("tx")) == ()
    assert len(problems(writes + used.format("1, tx"))) == 1


def test_a_point_kills_once_at_the_wanted_time(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.mkdir()
    code = (
        "from cluster.kill_points import reached\n"
        "for at in range(4):\n  print(at, flush=True); reached('indexer.done')"
    )
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={
                "PALIMPSEST_TEST_KILL_AT": "indexer.done:3",
                "PALIMPSEST_TEST_KILL_ONCE": str(marker),
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        said.append((done.returncode, done.stdout.split()))
    assert said == [(-9, ["0", "1", "2"]), (0, ["0", "1", "2", "3"])]


def test_without_a_wish_nothing_happens() -> None:
    for point in POINTS:
        kill_points.KillPoint({}).reached(point)
