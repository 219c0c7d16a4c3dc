"""Killed at any point, the same command finishes forgetting, and there is one receipt."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from forgetting import real_house
from serving import TENANT, fill, prepared

from cluster.forget.receipts import Signer, verify
from cluster.kill_points import FORGET
from cluster.model import Scope
from contract.milvus_lite import MilvusLite, milvus_lite
from contract.postgres import wipe

pytestmark = pytest.mark.stores

ROOT = Path(__file__).parents[2]
TEXT = "Marlene keeps the spare key of the boathouse under the third stone on the left."
ELSEWHERE = {"forget.lifted", "forget.collections_dropped"}
"""Points of other ways: lifting, and generations that are gone."""

KILLED = -9


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusLite]:
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as running:
        yield running


async def run(
    command: list[str], environ: dict[str, str], *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run, command, env=environ, capture_output=True, check=check, text=True
    )


@pytest.mark.parametrize("point", [one for one in FORGET if one not in ELSEWHERE])
async def test_killed_and_run_again(
    tmp_path: Path, module_database_url: str, milvus: MilvusLite, point: str
) -> None:
    wipe(module_database_url)
    one = prepared(f"{point}.md", f"{TEXT} Seen at {point}.")
    stays = prepared("stays.md", f"Something else, at {point}.")
    where = {"postgres_url": module_database_url, "milvus_uri": milvus.uri}
    async with real_house(tmp_path, **where) as house:
        await fill(house.stores, [one, stays])
    once = tmp_path / "once"
    once.mkdir()
    command = [
        *(sys.executable, "-m", "forget_driver", str(tmp_path)),
        *(module_database_url, milvus.uri, one.revision.document_id),
    ]
    environ = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
        "PALIMPSEST_TEST_KILL_AT": point,
        "PALIMPSEST_TEST_KILL_ONCE": str(once),
    }
    killed = await run(command, environ, check=False)
    assert killed.returncode == KILLED, killed.stderr
    done = await run(command, environ)
    async with real_house(tmp_path, **where) as house:
        again = await house.forget("document", one.revision.document_id)
        assert await house.receipt(again) == done.stdout
        assert verify(done.stdout, Signer(house.ground.receipt_key.make()).public_key) == []
        chunks = [chunk.chunk_id for each in (one, stays) for chunk in each.chunks]
        async with house.stores.ledger.transaction() as tx:
            shown = await tx.documents.visible(Scope(tenant=TENANT), chunks)
        assert list(shown) == [chunk.chunk_id for chunk in stays.chunks]
        found = await house.stores.vector_index.versions(chunks)
        assert list(found) == list(shown)
        assert list(await house.stores.text_index.versions(chunks)) == list(shown)
    with psycopg.connect(module_database_url) as connection:
        row = connection.execute("SELECT count(*) FROM receipts").fetchone()
    assert row == (1,)
