"""What a waiting person reads."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from cluster.model import ItemProblem
from ingest.progress import (
    Bar,
    Lines,
    Summary,
    duration,
    print_summary,
    progress_line,
    watcher,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_rate_and_the_time_left_follow_from_what_is_done() -> None:
    line = progress_line({"loaded": 250, "chunks": 1000}, total=1000, elapsed_s=50)
    assert line == "250 of 1,000 items, 1,000 chunks, 20.0 chunks/s, 2 min 30 s left"
    assert progress_line({}, total=10, elapsed_s=5).endswith("0 s left")


def test_a_pipe_gets_lines_and_a_terminal_a_bar() -> None:
    assert isinstance(watcher(Console(file=StringIO())), Lines)
    assert isinstance(watcher(Console(file=StringIO(), force_terminal=True)), Bar)


def test_the_summary_counts_stages_and_names_problems_up_to_a_bound() -> None:
    problems = [
        ItemProblem(
            origin=f"file:///[{number}].pdf",
            stage="parse",
            outcome="skipped",
            kind="scanned",
            reason="no text layer",
        )
        for number in range(40)
    ]
    out = StringIO()
    summary = Summary(
        run_id="run_x",
        state="succeeded",
        counts={"loaded": 1040, "chunks": 5000, "skipped": 40},
        problems=problems,
        problem_count=40,
        elapsed_s=100.0,
    )
    print_summary(Console(file=out, width=200), summary)
    text = out.getvalue()
    assert "1,040" in text
    assert "run run_x: succeeded after 1 min 40 s, 50.0 chunks/s" in text
    assert "skipped (scanned)  file:///[0].pdf: no text layer" in text
    assert "file:///[15].pdf" not in text
    assert "25 more; palimpsest runs show run_x lists them all" in text
