"""Noise is of other sets and always the same; repeated passages are counted as such."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eval.duplicates import repeated
from eval.noise import with_noise
from eval.sets import read_folder


def write(data: Path, name: str, count: int) -> Path:
    place = data / name
    place.mkdir()
    lines = [{"doc_id": f"d{n}", "text": f"{name} {n}", "lang": "en"} for n in range(count)]
    (place / "corpus.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (place / "queries.jsonl").write_text('{"query_id": "q", "text": "which?"}\n')
    (place / "qrels.tsv").write_text("q\td0\t1\n")
    return place


def test_noise_is_of_other_sets_and_always_the_same(tmp_path: Path) -> None:
    (clean,) = read_folder(write(tmp_path, "scifact", 3))
    write(tmp_path, "drcd", 40)
    mixed = with_noise(clean, factor=5, data=tmp_path)
    assert mixed is not None
    assert mixed.corpus.lines is not None
    ids = [line["doc_id"] for line in mixed.corpus.lines]
    assert ids[:3] == ["d0", "d1", "d2"]
    assert len(ids) == len(set(ids)) == mixed.corpus.documents == 18
    assert all(each.startswith("noise/drcd/") for each in ids[3:])
    assert mixed.corpus.tenant == "eval-scifact-noise5"
    assert mixed.questions == clean.questions
    assert with_noise(clean, factor=5, data=tmp_path) == mixed


def test_no_more_noise_than_there_is(tmp_path: Path) -> None:
    (clean,) = read_folder(write(tmp_path, "scifact", 3))
    write(tmp_path, "drcd", 4)
    mixed = with_noise(clean, factor=5, data=tmp_path)
    assert mixed is not None
    assert mixed.corpus.documents == 7


def test_other_passages_cannot_disturb_a_conversation(tmp_path: Path) -> None:
    (clean,) = read_folder(write(tmp_path, "mine", 3))
    assert with_noise(clean, factor=5, data=tmp_path) is None


def test_what_was_shown_already_is_counted() -> None:
    text = "The lease of a task lasts thirty seconds and is renewed by its worker."
    assert repeated([text, text.upper(), "Something else entirely, about retries."]) == 1
    assert repeated([text, text.replace("thirty", "forty")], similar=0.99) == 0
    assert repeated([]) == 0


@given(st.lists(st.text(max_size=30), max_size=6))
def test_a_list_twice_is_repeated_at_least_once_for_each(texts: list[str]) -> None:
    assert repeated([*texts, *texts]) >= len(texts)
    assert repeated(texts) <= max(0, len(texts) - 1)
