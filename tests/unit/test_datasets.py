from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.errors import InvalidRequest
from eval.datasets import RetrievalSet, read_set

DOCUMENTS: list[dict[str, Any]] = [
    {"doc_id": "d1", "title": "Title", "text": "one\u2028line", "lang": "en"},
    {"doc_id": "d2", "text": "第二"},
]
QUERIES: list[dict[str, Any]] = [
    {"query_id": "q1", "text": "which?", "split": "dev"},
    {"query_id": "q2", "text": "unjudged"},
]
QRELS = "query_id\tdoc_id\tscore\nq1\td1\t2\nq1\td2\t0\n"


def write_set(folder: Path, **changed: str) -> Path:
    folder.mkdir()
    texts = {
        "corpus.jsonl": "\n".join(json.dumps(line, ensure_ascii=False) for line in DOCUMENTS),
        "queries.jsonl": "\n".join(json.dumps(line) for line in QUERIES) + "\n\n",
        "qrels.tsv": QRELS,
    }
    for name, text in texts.items():
        (folder / name).write_text(changed.get(name.split(".")[0], text), encoding="utf-8")
    return folder


def test_a_set(tmp_path: Path) -> None:
    found: RetrievalSet = read_set(write_set(tmp_path / "small"))
    assert found.name == "small"
    assert [document.doc_id for document in found.documents] == ["d1", "d2"]
    assert found.documents[0].full_text == "Title\none\u2028line"
    assert found.documents[0].fields == {"lang": "en"}
    assert found.documents[1].full_text == "第二"
    assert found.queries[0].fields == {"split": "dev"}
    assert found.qrels == {"q1": {"d1": 2, "d2": 0}}
    assert [query.query_id for query in found.judged] == ["q1"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus": '{"doc_id": "d1"}'}, r"corpus\.jsonl:1: no text under 'text'"),
        ({"corpus": '{"doc_id": 1, "text": ""}'}, r"corpus\.jsonl:1: no text under 'doc_id'"),
        ({"corpus": "[]"}, r"corpus\.jsonl:1: not a JSON object"),
        ({"queries": "\n{"}, r"queries\.jsonl:2: not valid JSON"),
        ({"corpus": '{"doc_id": "d1", "text": ""}\n' * 2}, "'d1' stands there twice"),
        ({"qrels": "q1\td1\n"}, r"qrels\.tsv:1: three columns"),
        ({"qrels": "q1\td9\t1\n"}, "'d9' is in no other file"),
        ({"qrels": "q1\td1\tyes\n"}, "'yes' is no whole number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        read_set(write_set(tmp_path / "set", **changed))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"corpus\.jsonl cannot be read"):
        read_set(tmp_path / "nowhere")


@pytest.mark.data
def test_the_bilingual_set(data_dir: Path) -> None:
    found = read_set(data_dir / "xquad_en_zh")
    assert len(found.documents) == 480
    assert len(found.judged) == 1206
    assert {score for scores in found.qrels.values() for score in scores.values()} == {1, 2}
