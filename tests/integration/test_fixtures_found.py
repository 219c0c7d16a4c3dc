"""Every awkward file, once ingested, is found by a line of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingesting import TENANT, Bench

from cluster.model import Scope
from cluster.stores.protocols import DocumentSummary, Transaction
from cluster.text.terms import content_terms, document_terms, query_terms

SCOPE = Scope(tenant=TENANT)
LINE_CHARS = 240
BEST = 5
DISTINCT = 3


def texts_of(bench: Bench, documents: list[DocumentSummary]) -> dict[str, str]:
    async def ask(tx: Transaction) -> dict[str, str]:
        return {
            each.document_id: await tx.documents.text(SCOPE, each.revision_id) for each in documents
        }

    return bench.link.call(ask)


def own_line(text: str) -> str:
    """The line with the most different terms."""
    lines = [line.strip()[:LINE_CHARS] for line in text.splitlines() if line.strip()]
    return max(lines, key=lambda line: (len({term.term for term in query_terms(line)}), line))


def found_for(bench: Bench, line: str, *, limit: int) -> set[str]:
    async def ask() -> set[str]:
        hits = await bench.texts.search(query_terms(line), scope=SCOPE, where=None, limit=limit)
        async with bench.ledger.transaction() as tx:
            visible = await tx.documents.visible(SCOPE, [chunk_id for chunk_id, _ in hits])
        return {passage.document_id for passage in visible.values()}

    return asyncio.run(ask())


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    with bench.link:
        yield bench


def test_every_ingested_file_is_found_by_a_line_of_its_own(bench: Bench, data_dir: Path) -> None:
    summary = bench.ingest(data_dir / "parse_fixtures")
    assert summary.counts.get("failed", 0) == 0
    assert summary.counts["skipped"] <= 15
    assert all(problem.reason for problem in summary.problems)
    files = [each for each in bench.documents() if "/" in each.path]  # not the records of JSONL
    texts = texts_of(bench, files)
    terms = {document_id: set(document_terms(text)) for document_id, text in texts.items()}
    assert len(files) > 200
    lost: list[tuple[str, str]] = []
    unremarkable: list[str] = []  # "Some text" is a line of many files
    for each in files:
        line = own_line(texts[each.document_id])
        words = {term.term for term in query_terms(line)}
        if len(content_terms(query_terms(line))) < DISTINCT:
            unremarkable.append(each.path)
            continue
        twins = sum(words <= known for known in terms.values())
        if each.document_id not in found_for(bench, line, limit=twins + BEST):
            lost.append((each.path, line))
    assert lost == []
    assert len(unremarkable) <= len(files) // 10
