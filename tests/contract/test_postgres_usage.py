"""What only a server can show of usage and of the count of writes: many at once, and the plans."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import psycopg
import pytest

from cluster.model import Scope
from cluster.settings import PostgresSettings
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.statements import Statements
from cluster.stores.protocols import Ledger, Needles, Prepared, Selector, Shown, UsageReport
from contract.postgres import wipe
from contract.samples import NOW, chunk_ids, prepared, put, show

pytestmark = pytest.mark.stores

ACME = Scope(tenant="acme")
SEARCH = "srch_" + "a" * 26
SOON_S = 5.0
WHILE_S = 0.2
"""Long enough for a statement that waits for nobody."""

OTHER_INDEXES = """
SELECT i.indexrelid::regclass::text FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace
WHERE i.indexrelid::regclass::text <> %s
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
"""


@pytest.fixture
async def ledger(module_database_url: str) -> AsyncIterator[Ledger]:
    wipe(module_database_url)
    ledger = await PostgresLedger.open(module_database_url, PostgresSettings())
    yield ledger
    await ledger.close()


def shown(*batch: Prepared) -> list[Shown]:
    return [Shown(tenant="acme", owner=None, chunk_id=chunk) for chunk in chunk_ids(*batch)]


async def writes(ledger: Ledger) -> int:
    async with ledger.transaction() as tx:
        return (await tx.writes.standing("acme")).writes


async def test_writers_do_not_wait_for_one_another_and_every_commit_counts(ledger: Ledger) -> None:
    before = await writes(ledger)
    async with asyncio.timeout(SOON_S), ledger.transaction() as first:
        await first.writes.note(["acme"])
        for _ in range(3):
            async with ledger.transaction() as other:
                await other.writes.note(["acme"])
        assert await writes(ledger) == before + 3  # the first is not committed yet
        await first.writes.note(["acme"])
    assert await writes(ledger) == before + 5
    await asyncio.gather(*(_note(ledger) for _ in range(20)))
    assert await writes(ledger) == before + 25


async def test_a_write_that_is_rolled_back_does_not_count(ledger: Ledger) -> None:
    one = prepared()
    await put(ledger, one)
    before = await writes(ledger)
    with pytest.raises(ZeroDivisionError):
        await _publish_and_fail(ledger, one)
    assert await writes(ledger) == before


async def test_an_answer_counts_as_of_now_only_once_its_write_is_committed(ledger: Ledger) -> None:
    """The count is read before the documents: a write in between is in both or in neither."""
    one = prepared()
    await put(ledger, one)
    before = await writes(ledger)
    async with ledger.transaction() as tx:
        await tx.documents.publish([one.revision.revision_id], now=NOW)
        assert await writes(ledger) == before
        async with ledger.transaction() as reader:
            assert await reader.documents.visible(ACME, chunk_ids(one)) == {}
    assert await writes(ledger) > before


def test_no_column_is_made_for_a_question_or_a_content(module_database_url: str) -> None:
    with psycopg.connect(module_database_url) as connection:
        rows = connection.execute(
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name LIKE 'usage_%'"
        )
        columns = {row[0] for row in rows}
    assert columns == {
        *("event_id", "search_id", "chunk_id", "document_id", "tenant", "owner"),
        *("shown", "kind", "artifact", "reported_at"),
    }


async def test_a_standing_is_of_one_moment(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    rows = Statements.rows

    async def noted(
        self: Statements, name: str, parameters: Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        asked.append(name)
        return await rows(self, name, parameters)

    monkeypatch.setattr(Statements, "rows", noted)
    await writes(ledger)
    assert asked == ["standing"]


async def test_code_that_does_not_know_of_the_count_counts_too(
    ledger: Ledger, module_database_url: str
) -> None:
    await show(ledger, prepared())
    before = await writes(ledger)
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        connection.execute("UPDATE revisions SET state = 'superseded'")
        connection.execute("UPDATE revisions SET authority = 1 WHERE false")
    assert await writes(ledger) == before + 1


async def test_counting_waits_for_no_one_who_erases_and_leaves_nothing_behind(
    ledger: Ledger,
) -> None:
    one, other = prepared("a.md"), prepared("b.md", "Another page altogether.")
    await show(ledger, one, other)
    async with asyncio.timeout(SOON_S), ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])
        async with ledger.transaction() as counting:
            assert await counting.usage.add_shown(shown(one, other)) == len(other.chunks)


async def test_a_report_waits_for_who_erases_and_keeps_nothing_of_it(ledger: Ledger) -> None:
    one, other = prepared("a.md"), prepared("b.md", "Another page altogether.")
    await show(ledger, one, other)
    async with ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])
        reporting = asyncio.create_task(_report(ledger, one, other))
        await asyncio.sleep(WHILE_S)
        assert not reporting.done()
    assert await asyncio.wait_for(reporting, SOON_S) == set(chunk_ids(other))
    async with ledger.transaction() as tx:
        assert await tx.usage.of_document(ACME, one.revision.document_id) == []


async def test_a_report_during_a_publication_knows_its_passages(ledger: Ledger) -> None:
    old, new = prepared("a.md", "As it was."), prepared("a.md", "As it is.")
    await show(ledger, old)
    await put(ledger, new)
    async with ledger.transaction() as tx:
        await tx.documents.publish([new.revision.revision_id], now=NOW)
        reporting = asyncio.create_task(_report(ledger, old))
        await asyncio.sleep(WHILE_S)
    assert await asyncio.wait_for(reporting, SOON_S) == set(chunk_ids(old))


async def test_reports_publications_and_deletions_at_once_never_wait_in_a_circle(
    ledger: Ledger,
) -> None:
    """A circle is broken by the server with an error; what stays is known to every report."""
    batch = [prepared(f"{name}.md", f"Page {name} of many.") for name in "abcdef"]
    going = [prepared(f"{name}.md", f"Page {name} goes.") for name in "xyz"]
    await show(ledger, *batch, *going)

    async def publishing(turn: int) -> None:
        again = [prepared(f"{name}.md", f"Page {name}, {turn}.") for name in "abcdef"[turn % 3 :]]
        await show(ledger, *reversed(again))

    async def reporting(turn: int) -> None:
        order = batch[turn % 5 :] + batch[: turn % 5]
        kept = await _report(ledger, *going, *order, search_id=f"srch_{turn % 4:026}")
        assert kept >= set(chunk_ids(*batch))

    async with asyncio.timeout(4 * SOON_S), asyncio.TaskGroup() as group:
        for turn in range(8):
            group.create_task(publishing(turn))
            group.create_task(reporting(turn))
            group.create_task(reporting(turn + 8))
            group.create_task(_count(ledger, batch, turn))
        for one in going:
            group.create_task(_delete(ledger, one))
    async with ledger.transaction() as tx:
        assert await tx.usage.used_in(ACME, chunk_ids(*going), limit=1) == {}


async def test_who_erases_waits_for_what_is_being_counted_and_erases_it(ledger: Ledger) -> None:
    one = prepared()
    await show(ledger, one)
    async with ledger.transaction() as counting:
        await counting.usage.add_shown(shown(one))
        await counting.usage.report(
            ACME, UsageReport(search_id=SEARCH, used=tuple(chunk_ids(one))), now=NOW
        )
        deleting = asyncio.create_task(_delete(ledger, one))
        await asyncio.sleep(WHILE_S)
        assert not deleting.done()
    await asyncio.wait_for(deleting, SOON_S)
    async with ledger.transaction() as tx:
        assert await tx.usage.used_in(ACME, chunk_ids(one), limit=1) == {}
        assert await tx.usage.of_document(ACME, one.revision.document_id) == []


async def test_rows_of_what_older_code_erased_go_with_the_next_scrub(
    ledger: Ledger, module_database_url: str
) -> None:
    needles = Needles(ids=("doc_gone", "chk_gone"))
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO usage_counts (chunk_id, owner, document_id, tenant, shown) "
            "VALUES ('chk_gone', '', 'doc_gone', 'acme', 1)"
        )
    async with ledger.transaction() as tx:
        found = await tx.forgetting.residue("acme", needles)
        assert {one.place.split(".")[0] for one in found} == {"usage_counts"}
        selector = Selector(kind="document", value="doc_gone")
        await tx.forgetting.scrub("acme", needles, selector=selector, run_ids=(), uploads=False)
        assert await tx.forgetting.residue("acme", needles) == []


async def test_many_count_the_same_at_once(ledger: Ledger) -> None:
    batch = [prepared(f"{name}.md", f"Page {name} of many.") for name in "abcdef"]
    await show(ledger, *batch)
    await asyncio.gather(*(_count(ledger, batch, turn) for turn in range(12)))
    async with ledger.transaction() as tx:
        (first, *_) = await tx.usage.of_document(ACME, batch[0].revision.document_id)
    assert first.shown == 12


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (
            (
                "SELECT FROM chunks c WHERE cardinality(c.heading_path) > 0 AND folded_name("
                "c.heading_path[cardinality(c.heading_path)]) COLLATE \"C\" >= 'a'"
            ),
            "chunks_by_heading",
        ),
        (
            (
                "SELECT FROM revisions r WHERE r.tenant = 'acme' AND r.state = 'visible' "
                "AND title <> '' AND folded_name(r.title) COLLATE \"C\" >= 'a'"
            ),
            "revisions_by_title",
        ),
        (
            (
                "SELECT FROM revisions r WHERE r.state = 'visible' AND r.tags <> '{}' "
                "AND r.tags && '{a}'"
            ),
            "revisions_by_tag",
        ),
        (
            (
                "SELECT FROM revisions r WHERE r.state = 'visible' AND r.kind = 'turn' "
                "AND r.tenant = 'acme' AND hashtextextended(r.session, 0) = 1"
            ),
            "revisions_by_turn",
        ),
        ("SELECT FROM tenant_writes w WHERE w.tenant = 'acme'", "tenant_writes_pkey"),
        ("SELECT FROM usage_events e WHERE e.tenant = 'acme'", "usage_events_by_tenant"),
    ],
)
def test_look_ups_can_go_by_an_index(module_database_url: str, query: str, index: str) -> None:
    """Of empty tables the planner takes any index; here it has none but the one that is meant."""
    with psycopg.connect(module_database_url) as connection:
        others = connection.execute(OTHER_INDEXES, (index,)).fetchall()
        connection.execute(f"DROP INDEX {', '.join(row[0] for row in others)}".encode())
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = connection.execute(f"EXPLAIN {query}".encode()).fetchall()
        connection.rollback()
    assert index in "\n".join(row[0] for row in plan)


async def _publish_and_fail(ledger: Ledger, one: Prepared) -> None:
    async with ledger.transaction() as tx:
        await tx.documents.publish([one.revision.revision_id], now=NOW)
        raise ZeroDivisionError


async def _note(ledger: Ledger) -> None:
    async with ledger.transaction() as tx:
        await tx.writes.note(["acme"])


async def _delete(ledger: Ledger, one: Prepared) -> None:
    async with ledger.transaction() as tx:
        await tx.documents.delete(ACME, [one.revision.document_id])


async def _report(ledger: Ledger, *batch: Prepared, search_id: str = SEARCH) -> frozenset[str]:
    async with ledger.transaction() as tx:
        named = UsageReport(search_id=search_id, used=tuple(chunk_ids(*batch)), artifact="x")
        return await tx.usage.report(ACME, named, now=NOW)


async def _count(ledger: Ledger, batch: list[Prepared], turn: int) -> None:
    rows = shown(*batch)
    async with ledger.transaction() as tx:
        await tx.usage.add_shown(rows[turn % 3 :] + rows[: turn % 3])
