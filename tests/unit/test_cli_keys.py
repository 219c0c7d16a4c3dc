"""Which keys are not made at all? Refused before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import build


@pytest.mark.parametrize("option", ["--tenant", "--owner", "--agent"])
@pytest.mark.parametrize("blank", ["", " "])
def test_a_key_of_nobody_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, blank: str
) -> None:
    home = tmp_path / "none"
    monkeypatch.setenv("PALIMPSEST_HOME", str(home))
    monkeypatch.setenv("PALIMPSEST_POSTGRES__URL", "postgresql://127.0.0.1:1/none")
    done = CliRunner().invoke(build(), ["keys", "create", option, blank])
    assert done.exit_code == 2, done.output
    assert option in done.output
    assert "blank" in done.output
    assert not home.exists()
