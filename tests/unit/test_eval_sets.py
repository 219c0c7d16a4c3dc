"""Each set in its own shape: inside its conversation, up to its moment, of one language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.filters import Eq, matches
from eval.sets import Asked, cut, half_of, read_folder, sample

Line = dict[str, Any]


def folder_of(
    place: Path, *, corpus: Sequence[Line], queries: Sequence[Line], qrels: Sequence[str]
) -> Path:
    place.mkdir()
    for name, lines in (("corpus", corpus), ("queries", queries)):
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        (place / f"{name}.jsonl").write_text(text, encoding="utf-8")
    judged = "".join(f"{line}\n" for line in qrels)
    (place / "qrels.tsv").write_text(f"query_id\tdoc_id\tscore\n{judged}", encoding="utf-8")
    return place


@pytest.fixture
def bilingual(tmp_path: Path) -> Path:
    return folder_of(
        tmp_path / "xquad_en_zh",
        corpus=[
            {"doc_id": "en-a", "text": "a fox", "lang": "en"},
            {"doc_id": "zh-a", "text": "狐狸", "lang": "zh"},
        ],
        queries=[
            {"query_id": "en-1", "text": "what?", "lang": "en"},
            {"query_id": "zh-1", "text": "什么？", "lang": "zh"},
        ],
        qrels=["en-1\ten-a\t2", "en-1\tzh-a\t1", "zh-1\tzh-a\t2", "zh-1\ten-a\t1"],
    )


def test_a_bilingual_corpus_is_asked_mixed_and_across(bilingual: Path) -> None:
    mixed, to_english, to_chinese = read_folder(bilingual)
    assert {each.question_id: dict(each.relevant) for each in mixed.questions} == {
        "en-1": {"en-a": 2, "zh-a": 1},
        "zh-1": {"zh-a": 2, "en-a": 1},
    }
    (asked,) = to_english.questions
    assert (to_english.name, asked.question_id, asked.relevant) == (
        "xquad_zh-en",
        "zh-1",
        {"en-a": 1},
    )
    assert asked.where == Eq("language", "en")
    assert [each.where for each in to_chinese.questions] == [Eq("language", "zh")]
    assert {each.corpus.tenant for each in (mixed, to_english, to_chinese)} == {"eval-xquad_en_zh"}


def test_both_wordings_of_a_question_are_in_one_half(bilingual: Path) -> None:
    mixed = read_folder(bilingual)[0]
    assert {half_of(each.group) for each in mixed.questions} in ({"tune"}, {"report"})


def test_turns_are_asked_for_inside_their_conversation_when_it_had_ended(tmp_path: Path) -> None:
    turn = {"text": "Ann: hi", "conversation": "c1", "session": "c1/S1", "speaker": "Ann"}
    place = folder_of(
        tmp_path / "locomo",
        corpus=[{"doc_id": "c1/D1:1", "timestamp": "2023-05-08T13:56:00", **turn}],
        queries=[
            {
                "query_id": "q",
                "text": "who?",
                "conversation": "c1",
                "category": "temporal",
                "ask_time": "2023-10-22T09:55:00",
            }
        ],
        qrels=["q\tc1/D1:1\t1"],
    )
    (read,) = read_folder(place)
    (asked,) = read.questions
    assert asked.where == Eq("conversation", "c1")
    assert asked.now == datetime(2023, 10, 22, 9, 55, tzinfo=UTC)
    assert asked.kind == "temporal"
    assert read.corpus.lines is None


@pytest.fixture
def records(tmp_path: Path) -> Path:
    def record(doc_id: str, timestamp: str) -> Line:
        kind = doc_id.split("/")[1]
        fields = {"conversation": "li", "kind": kind, "timestamp": timestamp}
        return {"doc_id": doc_id, "title": "", "text": doc_id, **fields}

    return folder_of(
        tmp_path / "lifebench_zh",
        corpus=[
            record("li/sms/2", "2025-02-01 00:00:00"),
            record("li/sms/1", "2025-01-31 23:59:59"),
            record("li/note/1", "2025-01-31"),
        ],
        queries=[{"query_id": "q", "text": "何时？", "conversation": "li", "ask_time": "2025-01"}],
        qrels=["q\tli/sms/1\t1"],
    )


def test_what_is_recorded_after_the_month_of_asking_is_not_found(records: Path) -> None:
    (read,) = read_folder(records)
    (asked,) = read.questions
    assert asked.where is not None
    moments = {
        "last": datetime(2025, 1, 31, 23, 59, 59, tzinfo=UTC),
        "next": datetime(2025, 2, 1, tzinfo=UTC),
    }
    rows: Mapping[str, Mapping[str, Any]] = {
        name: {"conversation": "li", "said_at": moment} for name, moment in moments.items()
    }
    assert {name: matches(asked.where, row) for name, row in rows.items()} == {
        "last": True,
        "next": False,
    }
    assert asked.now == moments["last"]
    assert not matches(asked.where, {"conversation": "wang", "said_at": moments["last"]})


def test_the_records_of_a_day_are_a_session_in_the_order_of_time(records: Path) -> None:
    (read,) = read_folder(records)
    lines = read.corpus.lines
    assert lines is not None
    assert [(line["doc_id"], line["session"]) for line in lines] == [
        ("li/note/1", "li/2025-01-31"),
        ("li/sms/1", "li/2025-01-31"),
        ("li/sms/2", "li/2025-02-01"),
    ]


def test_chats_with_an_assistant_are_scored_by_session(tmp_path: Path) -> None:
    place = tmp_path / "longmemeval_questions"
    place.mkdir()
    turn = {"role": "user", "content": "I like jazz.", "created_at": "2023-05-20T00:37:00"}
    instance = {
        "question_id": "7a",
        "question_type": "single-session-user",
        "sessions": [{"session_id": "s1", "turns": [turn, {**turn, "content": " "}]}],
        "queries": [{"input": "[2023/05/23 (Tue) 07:05] What do I like?"}],
        "answer_session_ids": ["s1"],
    }
    (place / "instances.jsonl").write_text(f"{json.dumps(instance)}\n" * 2, encoding="utf-8")
    (read,) = read_folder(place)
    assert read.unit == "session"
    assert read.questions == (
        Asked(
            question_id="7a",
            text="What do I like?",
            relevant={"7a/s1": 1},
            group="7a",
            kind="single-session-user",
            language="en",
            where=Eq("conversation", "7a"),
            now=datetime(2023, 5, 23, 7, 5, tzinfo=UTC),
        ),
    )
    assert read.corpus.lines is not None
    assert [line["doc_id"] for line in read.corpus.lines] == ["7a/s1/0"]


def test_no_label_of_a_passage_is_ingested(tmp_path: Path) -> None:
    place = folder_of(
        tmp_path / "ramdocs",
        corpus=[{"doc_id": "d1", "title": "", "text": "x"}],
        queries=[
            {"query_id": "q", "text": "x?", "documents": [{"doc_id": "d1", "type": "misinfo"}]}
        ],
        qrels=["q\td1\t1"],
    )
    (read,) = read_folder(place)
    assert read.corpus.lines is None
    assert "misinfo" not in read.corpus.file.read_text(encoding="utf-8")


@pytest.mark.data
def test_the_stored_corpus_of_conflicting_passages_has_no_labels(data_dir: Path) -> None:
    (read,) = read_folder(data_dir / "ramdocs")
    with read.corpus.file.open(encoding="utf-8") as file:
        assert {tuple(sorted(json.loads(line))) for line in file} == {("doc_id", "text", "title")}


def test_a_cut_keeps_what_can_still_be_answered(bilingual: Path) -> None:
    mixed = read_folder(bilingual)[0]
    part = cut(mixed, documents=["zh-a"], questions=["en-1"])
    assert part.corpus.tenant == "eval-xquad_en_zh-peer"
    assert part.corpus.lines is not None
    assert [line["doc_id"] for line in part.corpus.lines] == ["zh-a"]
    assert [(each.question_id, each.relevant) for each in part.questions] == [("en-1", {"zh-a": 1})]
    assert not cut(mixed, documents=["nowhere"], questions=["en-1"]).questions


@given(st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=60), st.integers(1, 60))
def test_a_sample_depends_on_the_ids_alone(ids: set[str], limit: int) -> None:
    asked = [Asked(question_id=each, text="", relevant={}, group=each) for each in sorted(ids)]
    chosen = sample(asked, limit=limit)
    assert sample(list(reversed(asked)), limit=limit) == chosen
    assert sample(asked, limit=limit + 1)[:limit] == chosen
    assert len(chosen) == min(limit, len(ids))


def test_about_half_of_the_questions_are_kept_for_the_report() -> None:
    halves = [half_of(f"q{number}") for number in range(2000)]
    assert 900 < halves.count("report") < 1100
