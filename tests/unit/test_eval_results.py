"""Kept answers: nothing is asked twice under one key, and a cut line is as if it never was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import InvalidRequest
from cluster.settings import Settings
from eval.floors import met
from eval.records import Given, Record
from eval.results import (
    About,
    ResultFile,
    Results,
    code_digest,
    data_digest,
    read_results,
    shaping_settings,
    write_corpus,
)
from eval.scores import score
from eval.sets import Asked, Corpus, EvalSet

ABOUT = About(dataset="tiny", data="d", fingerprint="f", settings={"top_k": 10}, code="c")


def record(question_id: str, shown: tuple[str, ...], *, half: str = "report") -> Record:
    listed = tuple((f"chk_{unit}", unit, 1.0 / place) for place, unit in enumerate(shown, start=1))
    return Record(
        question_id=question_id,
        kind="fact",
        language="en",
        half=half,
        relevant={"good": 1},
        stages={"keyword": listed[:1], "final": listed},
        channels={"keyword": Given(listed=(("chk_good", 2.5),), floor=0.0)},
        failures=(),
        notes=("a note",),
        timings_ms={"total": 1.5},
    )


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    file = ResultFile(tmp_path, ABOUT)
    file.start()
    kept = [record("q1", ("good",)), record("q2", ("bad", "good"))]
    for each in kept:
        file.add(each)
    assert file.read() == Results(about=ABOUT, records=tuple(kept))
    assert read_results(file.path) == file.read()


def test_a_line_that_was_cut_off_is_asked_again(tmp_path: Path) -> None:
    file = ResultFile(tmp_path, ABOUT)
    file.start()
    file.add(record("q1", ("good",)))
    with file.path.open("a") as stream:
        stream.write('{"question_id": "q2", "ki')
    assert [each.question_id for each in file.read().records] == ["q1"]
    file.start()
    file.add(record("q3", ("good",)))
    assert [each.question_id for each in file.read().records] == ["q1", "q3"]


def test_an_answer_that_lacks_something_is_asked_again(tmp_path: Path) -> None:
    file = ResultFile(tmp_path, ABOUT)
    file.start()
    file.add(replace(record("q1", ()), failures=("rerank: late",)))
    file.add(record("q2", ("good",)))
    assert file.read().sound == {"q2"}
    file.add(record("q1", ("good",)))
    assert file.read().sound == {"q1", "q2"}
    assert [each.failures for each in file.read().of(["q2", "q1"]).records] == [(), ()]


@pytest.mark.parametrize("field", ["dataset", "data", "fingerprint", "code"])
def test_what_shapes_an_answer_makes_another_key(field: str) -> None:
    changed = {field: "another"}
    assert replace(ABOUT, **changed).key != ABOUT.key  # type: ignore[arg-type]  # all are texts
    assert replace(ABOUT, settings={"top_k": 11}).key != ABOUT.key


def test_commit_and_moment_do_not_make_another_key() -> None:
    assert replace(ABOUT, commit="x", command="y", began="z").key == ABOUT.key


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(InvalidRequest, match="holds no results"):
        read_results(tmp_path / "x.jsonl")


def test_the_code_is_told_by_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "serve").mkdir()
    path = tmp_path / "serve" / "a.py"
    path.write_text("x = 1\n")
    before = code_digest(tmp_path)
    (tmp_path / "serve" / "notes.md").write_text("no code")
    assert code_digest(tmp_path) == before
    path.write_text("x = 2\n")
    assert code_digest(tmp_path) != before


def test_no_address_or_password_is_kept() -> None:
    settings = Settings.model_validate(
        {
            "text_index": {
                "backend": "elasticsearch",
                "url": "https://elastic.example:9200",
                "user": "reader",
                "password": "secret-word",
            }
        }
    )
    told = repr(shaping_settings(settings))
    assert "secret-word" not in told
    assert "elastic.example" not in told


def test_a_corpus_in_another_shape_is_written_once(tmp_path: Path) -> None:
    corpus = Corpus(name="tiny", file=tmp_path / "x", documents=1, lines=({"doc_id": "d"},))
    path = write_corpus(corpus, tmp_path / "made")
    assert path.read_text() == '{"doc_id":"d"}\n'
    stamp = path.stat().st_mtime_ns
    assert write_corpus(corpus, tmp_path / "made") == path
    assert path.stat().st_mtime_ns == stamp
    assert write_corpus(replace(corpus, lines=None), tmp_path / "made") == tmp_path / "x"


def test_a_judgement_that_changes_is_other_data(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("corpus")
    asked = Asked(question_id="q", text="?", relevant={"d": 1}, group="q")
    corpus = Corpus(name="tiny", file=tmp_path / "x", documents=1)
    one = EvalSet(name="tiny", corpus=corpus, questions=(asked,))
    other = replace(one, questions=(replace(asked, relevant={"d": 2}),))
    assert data_digest(one, tmp_path / "x") != data_digest(other, tmp_path / "x")


def test_the_half_that_is_reported_is_told_apart() -> None:
    records = (
        record("q1", ("good",)),
        record("q2", ("bad", "bad", "good"), half="tune"),
        record("q3", (), half="report"),
    )
    scores = score(Results(about=ABOUT, records=records))
    report = scores.figure("final", "mrr@10", of=lambda each: each.half == "report")
    tune = scores.figure("final", "mrr@10", of=lambda each: each.half == "tune")
    assert (report.value, report.questions) == (0.5, 2)
    assert (tune.value, tune.error) == (0.5, 0.0)  # `bad` stands there once, in place 1
    assert report.error == pytest.approx(0.5)
    assert scores.figure("final", "recall@10").value == pytest.approx(2 / 3)
    name, best = scores.best_channel("mrr@10")
    assert name == "keyword"
    assert best == pytest.approx(1 / 3)


def test_a_floor_is_met_within_the_error_on_small_sets_only() -> None:
    assert met("scifact", "ndcg@10", value=0.74, error=0.02) is True
    assert met("scifact", "ndcg@10", value=0.72, error=0.02) is False
    assert met("drcd", "ndcg@10", value=0.95, error=0.02) is False
    assert met("drcd", "ndcg@10", value=0.961, error=0.0) is True
    assert met("cisi", "ndcg@10", value=0.1, error=0.0) is None


def test_what_others_measured_on_all_questions_is_held_against_all() -> None:
    records = (record("q1", ("good",), half="tune"), record("q2", ()))
    (told,) = score(Results(about=replace(ABOUT, dataset="locomo-peer"), records=records)).floors()
    assert told[2].questions == 2
    assert told[3] is True
    own = score(Results(about=replace(ABOUT, dataset="locomo"), records=records)).floors()
    assert [(floor[2].questions, floor[3]) for floor in own] == [(1, False), (1, False)]
