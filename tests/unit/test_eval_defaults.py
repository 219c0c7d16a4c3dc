"""What counts as the right answer to "the default of X in V"."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serving import fill, memory_stores, prepared, service_on

from cluster.model import Metadata
from eval.defaults import (
    DefaultQuestion,
    Fact,
    ask_all,
    corpus_of,
    questions_of,
    read_facts,
    shares,
)
from serve.service import Service

ROWS = [
    {
        "variable": "tidb_a",
        "changed": True,
        "defaults": {"7.1": "`OFF`", "7.5": "`ON`", "6.5": "`OFF` before", "5.0": None},
    },
    {"variable": "tidb_b", "changed": False, "defaults": {"7.1": "`1`"}},
    {"variable": "tidb_c", "changed": True, "defaults": {"7.1": "none"}},
]


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_only_changed_settings_with_one_literal_are_asked(tmp_path: Path) -> None:
    facts = read_facts(lines(tmp_path / "facts.jsonl", ROWS))
    assert facts == [Fact(name="tidb_a", literals={"7.1": "OFF", "7.5": "ON"})]
    asked = questions_of(facts, newest="7.5")
    kinds = [question.kind for question in asked]
    assert (kinds.count("version"), kinds.count("newest"), kinds.count("missing")) == (8, 2, 6)
    assert asked[0] == DefaultQuestion(
        kind="version", text="default of tidb_a in 7.1", name="tidb_a", version="7.1", literal="OFF"
    )


def test_the_corpus_is_cut_to_the_named_pages(tmp_path: Path) -> None:
    rows = [
        {"doc_id": "1", "project": "tidb", "path": "a.md", "text": "x"},
        {"doc_id": "2", "project": "tidb", "path": "b.md", "text": "x"},
        {"doc_id": "3", "project": "other", "path": "a.md", "text": "x"},
    ]
    docs = lines(tmp_path / "docs.jsonl", rows)
    assert [line["doc_id"] for line in corpus_of(docs, pages=("a.md",)).lines or ()] == ["1"]
    assert [line["doc_id"] for line in corpus_of(docs).lines or ()] == ["1", "2"]


def page(version: str, value: str) -> Any:
    about = Metadata(title="V", language="en", product="tidb", product_version=version)
    text = f"## `tidb_a`\n\n- Default: `{value}`\n"
    return prepared("variables.md", text, edition=version, metadata=about)


@pytest.fixture
async def service() -> Service:
    stores = memory_stores()
    await fill(stores, [page("7.1", "OFF"), page("7.5", "ON")])
    return service_on(stores)


async def test_the_served_answers_are_judged(service: Service) -> None:
    fact = Fact(name="tidb_a", literals={"7.1": "OFF", "7.5": "ON"})
    verdicts = await ask_all(questions_of([fact], newest="7.5"), service, tenant="acme")
    assert [each.why for each in verdicts if not each.right] == []
    assert shares(verdicts) == {"version": (8, 8), "newest": (2, 2), "missing": (6, 6)}


async def test_a_wrong_edition_literal_or_silence_is_seen(service: Service) -> None:
    question = DefaultQuestion(
        kind="version", text="default of tidb_a in 7.1", name="tidb_a", version="7.1", literal="OFF"
    )
    (right,) = await ask_all([question], service, tenant="acme")
    assert right.right
    (wrong,) = await ask_all([replace(question, literal="ON")], service, tenant="acme")
    assert wrong.why == "no `ON` in the first passage"
    (edition,) = await ask_all([replace(question, version="7.5")], service, tenant="acme")
    assert edition.why == "editions shown: 7.1"
    (silent,) = await ask_all([replace(question, kind="missing")], service, tenant="acme")
    assert silent.why == "not said to be missing"


async def test_an_empty_answer_is_wrong(service: Service) -> None:
    question = DefaultQuestion(
        kind="version", text="default of tidb_a in 7.1", name="tidb_a", version="7.1", literal="OFF"
    )
    (verdict,) = await ask_all([question], service, tenant="globex")
    assert verdict.why == "nothing found"
