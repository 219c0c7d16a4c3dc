"""`palimpsest reembed`: what it refuses before it starts anything."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from cli.main import build
from cluster.errors import InvalidRequest


@pytest.mark.parametrize(
    "arguments",
    [
        ["--status", "--abort"],
        ["--roll-back", "--finish"],
        ["--finish", "--no-centred"],
        ["--tokens", "--finish"],
        ["--tokens", "--backend", "hashing"],
        ["--roll-back", "--model", "other"],
        ["--dry-run", "--status"],
    ],
)
def test_one_action_at_a_time(arguments: list[str]) -> None:
    result = CliRunner().invoke(build(), ["reembed", *arguments])
    assert isinstance(result.exception, InvalidRequest)
    assert "one of its actions at a time" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--backend", "abacus"], "--backend"), (["--hashing-dim", "0"], "--hashing-dim")],
)
def test_a_wrong_encoder_is_refused_by_its_option(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], named: str
) -> None:
    servers = {"POSTGRES__URL": "postgresql://127.0.0.1:1/x", "MILVUS__URI": "http://127.0.0.1:1"}
    for name, value in servers.items():
        monkeypatch.setenv(f"PALIMPSEST_{name}", value)
    result = CliRunner().invoke(build(), ["reembed", "--dry-run", *arguments])
    assert isinstance(result.exception, InvalidRequest)
    assert named in str(result.exception)
    assert arguments[1] in str(result.exception)


def test_every_option_is_told() -> None:
    told = CliRunner().invoke(build(), ["reembed", "--help"], terminal_width=200).output
    actions = ("--dry-run", "--status", "--roll-back", "--finish", "--tokens", "--abort")
    for option in (*actions, "--grace"):
        assert option in told
