from __future__ import annotations

import json
from pathlib import Path

import httpx
from rich.console import Console

from eval.bench.corpus import write_conversation
from eval.bench.query import Load, load, questions_of, table_of
from ingest.records import decode_record, entries
from ingest.rules import load_rules


async def test_each_question_is_asked_once_and_every_stage_is_noted() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content)["query"])
        late = [{"channel": "semantic", "reason": "late"}] if len(asked) == 1 else []
        return httpx.Response(200, json={"timings_ms": {"rerank": 5.0}, "failures": late})

    questions = questions_of(count=9, salt="a")
    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        found = await load(client, questions, clients=4)
    assert sorted(asked) == sorted(questions)
    assert found.stages == {"rerank": [5.0] * 9}
    assert found.partial == {"semantic": 1}
    assert len(found.latencies) == 9


def test_questions_of_another_load_are_other_ones() -> None:
    assert not set(questions_of(count=20, salt="a")) & set(questions_of(count=20, salt="b"))


def test_stages_are_told_by_number_of_clients() -> None:
    one = Load(latencies=[10.0, 20.0, 30.0], rate=2.0)
    one.stages["rerank"] = [1.0, 2.0, 3.0]
    console = Console(width=120, record=True)
    console.print(table_of({1: one, 8: Load(latencies=[40.0])}))
    told = console.export_text()
    assert "20.0 / 30.0" in told
    assert "2.0 / 3.0" in told
    assert "8 clients" in told


def test_a_made_up_conversation_is_turns_in_order(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    write_conversation(path, turns=4, name="bench-4")
    rules = load_rules()
    turns = [
        entry.turn
        for raw in path.read_bytes().splitlines()
        for entry in entries(decode_record(raw), rules, position="L1")
    ]
    assert [turn.ordinal for turn in turns if turn] == [0, 1, 2, 3]
    assert {turn.conversation for turn in turns if turn} == {"bench-4"}
