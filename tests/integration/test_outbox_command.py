"""`palimpsest outbox`: what the indexes refuse is listed and tried again."""

from __future__ import annotations

import asyncio
import json

import pytest
from typer.testing import CliRunner

from cli.main import build
from cluster.settings import PostgresSettings
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.protocols import Failure
from contract.samples import NOW, chunk_ids, prepared, put

pytestmark = pytest.mark.stores


async def refuse_all(url: str) -> list[str]:
    """Two documents of two tenants, of each the first chunk set aside; their ids."""
    ledger = await PostgresLedger.open(url, PostgresSettings())
    try:
        batch = [prepared("one.md"), prepared("two.md", tenant="globex")]
        for one in batch:
            await put(ledger, one)
        ids = [chunk_ids(one)[0] for one in batch]
        async with ledger.transaction() as tx:
            entries = await tx.outbox.take(limit=99)
            refused = [
                Failure(entry=entry, reason="the title is too long", not_before=None)
                for entry in entries
                if entry.chunk_id in ids
            ]
            await tx.outbox.failed(refused, now=NOW)
        return ids
    finally:
        await ledger.close()


def test_list_and_retry(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_POSTGRES__URL", database_url)
    monkeypatch.setenv("COLUMNS", "200")

    def said(*words: str) -> str:
        answer = CliRunner().invoke(build(), ["outbox", *words], catch_exceptions=False)
        assert answer.exit_code == 0
        return answer.stdout

    assert said("list") == "nothing is set aside; 0 entries are owed\n"
    ids = asyncio.run(refuse_all(database_url))
    table = said("list")
    assert all(chunk in table for chunk in ids)
    assert "one.md (pending)" in table
    assert "the title is too long" in table
    assert "2 set aside, 2 owed" in table
    told = json.loads(said("list", "--tenant", "globex", "--json"))
    assert (told["owed"], told["set_aside"]) == (2, 1)
    assert [(one["chunk_id"], one["path"]) for one in told["entries"]] == [(ids[1], "two.md")]
    assert json.loads(said("list", "--limit", "1", "--json"))["set_aside"] == 2
    assert said("retry", "chk_other").startswith("none of these is set aside;")
    assert json.loads(said("retry", ids[0], "--json")) == {"retried": 1}
    assert said("retry", "--all") == "1 entries are owed again\n"
    assert "4 entries are owed" in said("list")


@pytest.mark.parametrize("words", [["retry"], ["retry", "chk", "--all"]])
def test_retry_wants_chunks_or_all(words: list[str]) -> None:
    answer = CliRunner().invoke(build(), ["outbox", *words])
    assert answer.exit_code == 1
    assert "--all" in str(answer.exception)
