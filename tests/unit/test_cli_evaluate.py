"""What `palimpsest eval` refuses and what it writes; no stack runs, no question is asked."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import evaluate, ingest
from cli.main import build
from cluster.errors import InvalidRequest, StackError
from cluster.stack import control
from eval.measure import Request
from eval.records import Record
from eval.results import About, Results
from eval.sets import EvalSet
from ingest.progress import Summary


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of one document and one question."""
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "corpus.jsonl").write_text('{"doc_id": "d", "text": "x"}\n')
    (place / "queries.jsonl").write_text('{"query_id": "q", "text": "x"}\n')
    (place / "qrels.tsv").write_text("query_id\tdoc_id\tscore\nq\td\t1\n")
    return place


@pytest.fixture
def no_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Neither started nor asked; `state` is how the ingest ends."""
    told: dict[str, Any] = {"state": "succeeded"}

    @contextmanager
    def nowhere(_settings: object) -> Iterator[None]:
        yield None

    def run(*_args: object) -> Summary:
        return Summary(
            run_id="run_1",
            state=told["state"],
            counts={"loaded": 1},
            problems=(),
            problem_count=0,
            elapsed_s=1.0,
        )

    def results(of: EvalSet, _settings: object, request: Request, **_named: object) -> Results:
        told["fusion"] = request.fusion
        about = About(dataset=of.name, data="d", fingerprint="f", settings={}, code="c")
        shown = {"final": (("chk_1", "d", 1.0),)}
        record = Record(
            question_id="q", kind="", language="en", half="tune", relevant={"d": 1}, stages=shown
        )
        return Results(about=about, records=(record,))

    monkeypatch.setattr(control, "ensure_up", lambda *_args, **_named: None)
    monkeypatch.setattr(evaluate, "ensure_up", lambda *_args, **_named: None)
    monkeypatch.setattr(ingest, "open_surroundings", nowhere)
    monkeypatch.setattr(ingest, "run_ingest", run)
    monkeypatch.setattr(signal, "signal", lambda *_args: None)
    monkeypatch.setattr(evaluate, "_ask", results)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    return told


def test_for_machines_there_is_one_value(folder: Path, no_stack: dict[str, Any]) -> None:
    done = CliRunner().invoke(
        build(), ["eval", str(folder), "--json", "--fusion", "reciprocal_rank"]
    )
    assert done.exit_code == 0, done.output
    (told,) = json.loads(done.stdout)
    assert told["dataset"] == "tiny"
    assert told["values"]["final"]["ndcg@10"] == {"all": 1, "tune": 1, "report": 0, "error": 0}
    assert no_stack["fusion"] == "reciprocal_rank"


def test_an_unknown_fusion_is_refused(folder: Path, no_stack: dict[str, Any]) -> None:
    done = CliRunner().invoke(build(), ["eval", str(folder), "--fusion", "rrf"])
    assert done.exit_code == 2
    assert "reciprocal_rank" in done.output
    assert "fusion" not in no_stack


def test_nothing_is_measured_on_what_did_not_come_in(
    folder: Path, no_stack: dict[str, Any]
) -> None:
    no_stack["state"] = "failed"
    done = CliRunner().invoke(build(), ["eval", str(folder), "--json"])
    assert isinstance(done.exception, StackError)
    assert "palimpsest runs show run_1 --tenant eval-tiny" in str(done.exception)
    assert done.stdout == ""


def test_noise_the_report_and_the_gate(
    tmp_path: Path, folder: Path, no_stack: dict[str, Any]
) -> None:
    (folder.parent / "scifact").mkdir()
    for file in folder.iterdir():
        shutil.copy(file, folder.parent / "scifact" / file.name)
    shutil.copytree(folder, folder.parent / "drcd")
    words = ["eval", "--data", str(folder.parent), "--baselines", str(tmp_path / "kept")]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        build(), [*words, "--noise", "5", "--report", str(page), "--write-baseline"]
    )
    assert done.exit_code == 0, done.output
    assert "scifact: 1 questions" in done.stdout
    assert "scifact-noise5: 1 questions, 0 documents" in done.stdout
    assert "passages of other sets added" in done.stdout
    assert page.read_text().startswith("<!doctype html>")
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"scifact.json", "drcd.json"}
    assert CliRunner().invoke(build(), [*words, "--gate"]).exit_code == 0
    kept = tmp_path / "kept" / "drcd.json"
    kept.write_text(kept.read_text().replace(":1.0", ":1.1"))
    fell = CliRunner().invoke(build(), [*words, "--gate"])
    assert fell.exit_code == 1
    assert "FELL  drcd: -10.00 points" in fell.output


def test_a_place_without_known_sets_is_told(tmp_path: Path, no_stack: dict[str, Any]) -> None:
    done = CliRunner().invoke(build(), ["eval", "--data", str(tmp_path)])
    assert isinstance(done.exception, InvalidRequest)
    assert "no set is known in" in str(done.exception)
