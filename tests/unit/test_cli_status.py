"""`palimpsest status`: what is not as it should be is told, with the command that mends it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.stack import _print_contents
from cluster.stack.contents import Contents

WELL = Contents(
    counts={"documents": 2},
    owed=0,
    lag_s=0.0,
    set_aside=0,
    encoder="hashing-384@1",
    compared_at="2026-01-01T00:00:00+00:00",
    sound=True,
    drift=0,
)


def told(held: Contents, capsys: pytest.CaptureFixture[str]) -> str:
    _print_contents(held)
    return capsys.readouterr().out


def test_what_is_well_takes_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "ledger: 2 documents\nindexes: up to date; encoder hashing-384@1\n"
    assert told(WELL, capsys) == expected


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (
            replace(WELL, sound=False, drift=1234),
            "not in step with the ledger at 2026-01-01T00:00:00+00:00, 1,234 rows differed; ",
        ),
        (replace(WELL, rebuilding=True), "a rebuild is not finished; `palimpsest rebuild` goes on"),
        (replace(WELL, set_aside=3), "3 rows are refused and set aside; `palimpsest outbox list`"),
        (replace(WELL, named="other"), "`palimpsest reembed` changes to it"),
    ],
)
def test_what_is_wrong_names_its_command(
    wrong: Contents, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in told(wrong, capsys)
