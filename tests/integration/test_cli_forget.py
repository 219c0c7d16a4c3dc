"""The commands forget, receipt and purge on real stores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from forgetting import House, real_house
from serving import DIM, EMBEDDER, TENANT, fill, prepared
from typer.testing import CliRunner, Result

from cli.main import build
from cluster.model import Generation
from contract.milvus_lite import MilvusLite, milvus_lite
from contract.postgres import wipe

pytestmark = pytest.mark.stores

TEXT = "Marlene keeps the spare key of the boathouse under the third stone on the left."
OTHER = "The ferry leaves at nine, and once more in the evening if enough people wait."

Act = Callable[[House], Awaitable[None]]


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusLite]:
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as running:
        yield running


@pytest.fixture
def act(tmp_path: Path, module_database_url: str, milvus: MilvusLite) -> Callable[[Act], None]:
    """Do something in the stores while no command has them open."""
    wipe(module_database_url)

    async def inside(what: Act) -> None:
        async with real_house(
            tmp_path, postgres_url=module_database_url, milvus_uri=milvus.uri
        ) as house:
            await what(house)

    return lambda what: asyncio.run(inside(what))


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module_database_url: str, milvus: MilvusLite
) -> Callable[..., Result]:
    for name, value in {
        "HOME": str(tmp_path),
        "TENANT": TENANT,
        "CONFIG": "/dev/null",
        "POSTGRES__URL": module_database_url,
        "MILVUS__URI": milvus.uri,
    }.items():
        monkeypatch.setenv(f"PALIMPSEST_{name}", value)

    def run(*words: str, answer: str = "") -> Result:
        return CliRunner().invoke(build(), list(words), input=answer)

    return run


def test_from_dry_run_to_verified_receipt(
    act: Callable[[Act], None], call: Callable[..., Result], tmp_path: Path
) -> None:
    one, stays = prepared("a.md", TEXT), prepared("b.md", OTHER)
    document = one.revision.document_id

    async def begin(house: House) -> None:
        async with house.stores.ledger.transaction() as tx:
            generation = Generation(fingerprint=EMBEDDER.fingerprint, dim=DIM, recipe={})
            await tx.generations.activate(generation)
        await fill(house.stores, [one, stays])

    act(begin)
    dry = call("forget", "document", document, "--dry-run")
    assert dry.exit_code == 0
    assert "1 documents: 1 revisions, 1 chunks" in dry.output
    assert "tests:a.md@" in dry.output
    told = json.loads(call("forget", "document", document, "--dry-run", "--json").output)
    assert (told["documents"], told["plan"]["named"]) == (1, [document])
    refused = call("forget", "document", document, answer="n\n")
    assert refused.exit_code == 1
    assert call("forget", "document", "doc_none", "--yes").exit_code == 1

    asked = call("forget", "document", document, "--yes", "--no-wait", "--json")
    job = json.loads(asked.output)
    assert (asked.exit_code, job["state"], job["counts"]["chunks"]) == (0, "draining", 1)
    waits = call("forget", "resume", "--within-s", "1")
    assert waits.exit_code == 1
    assert "the indexes: 1 rows to be removed" in waits.output
    blocked = call("purge")
    assert isinstance(blocked.exception, Exception)
    assert "forget resume" in str(blocked.exception)

    async def drain(house: House) -> None:
        await house.drain()

    act(drain)
    assert call("forget", "resume").exit_code == 0
    twice = call("forget", "document", document)
    assert (twice.exit_code, job["receipt_id"] in twice.output) == (0, True)

    valid = call("receipt", "verify", job["receipt_id"])
    assert (valid.exit_code, valid.output.startswith("valid, signed by key ")) == (0, True)
    shown = call("receipt", "show", job["receipt_id"]).output
    key = tmp_path / "key.pem"
    key.write_text(call("receipt", "public-key").output)
    kept = tmp_path / "receipt.json"
    kept.write_text(shown)
    assert call("receipt", "verify", str(kept), "--public-key", str(key)).exit_code == 0
    kept.write_text(shown.replace('"documents":1', '"documents":2'))
    changed = call("receipt", "verify", str(kept), "--json")
    assert (changed.exit_code, json.loads(changed.output)["wrong"]) == (
        1,
        ["counts: changed since it was signed"],
    )
    assert (tmp_path / "keys" / "receipt.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys" / "tombstone.key").stat().st_mode & 0o777 == 0o600

    lifted = call("forget", "lift", job["receipt_id"], "--json")
    assert json.loads(lifted.output) == {"receipt_id": job["receipt_id"], "tombstones": 2}
    purged = json.loads(call("purge", "--json").output)
    assert "chunks" in purged["database"]["tables"]
    assert purged["vectors"].startswith("1 collections compacted")
