"""The part of the stack that finishes what was asked for over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forgetting import House, real_house
from serving import DIM, EMBEDDER, TENANT, fill, prepared

from cluster.errors import NotFound
from cluster.model import Generation
from contract.milvus_lite import milvus_lite
from contract.postgres import wipe

pytestmark = pytest.mark.stores

WITHIN_S = 120.0


async def signed(house: House, receipt_id: str) -> str:
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        async with house.stores.ledger.transaction() as tx:
            try:
                return await tx.forget_jobs.receipt(TENANT, receipt_id)
            except NotFound:
                await asyncio.sleep(0.2)
    raise AssertionError(f"no receipt within {WITHIN_S} s")


async def test_it_finishes_jobs_that_were_begun_before_and_after_its_start(
    tmp_path: Path, module_database_url: str
) -> None:
    wipe(module_database_url)
    first, second = prepared("a.md", "The first of both."), prepared("b.md", "And the second one.")
    with milvus_lite(tmp_path / "milvus") as milvus:
        environ = {
            **os.environ,
            "PALIMPSEST_HOME": str(tmp_path),
            "PALIMPSEST_CONFIG": os.devnull,
            "PALIMPSEST_POSTGRES__URL": module_database_url,
            "PALIMPSEST_MILVUS__URI": milvus.uri,
        }
        async with real_house(
            tmp_path, postgres_url=module_database_url, milvus_uri=milvus.uri
        ) as house:
            async with house.stores.ledger.transaction() as tx:
                generation = Generation(fingerprint=EMBEDDER.fingerprint, dim=DIM, recipe={})
                await tx.generations.activate(generation)
            await fill(house.stores, [first, second])
            before = await house.ask("document", first.revision.document_id)
            command = [sys.executable, "-m", "lifecycle.worker"]
            worker = await asyncio.to_thread(subprocess.Popen, command, env=environ)
            try:
                await house.drain()
                assert before.receipt_id in await signed(house, before.receipt_id)
                after = await house.ask("source", "tests")
                await house.drain()
                assert after.receipt_id in await signed(house, after.receipt_id)
            finally:
                worker.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(worker.wait, 60) == 0
