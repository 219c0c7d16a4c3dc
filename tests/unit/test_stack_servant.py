"""With which rights does the embedded server run when root starts it?"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.stack import postgres_process
from cluster.stack.postgres_process import as_servant

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Open to everyone, with a program in place of the server's that is, too."""
    with tempfile.TemporaryDirectory(prefix="pv-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setattr(postgres_process, "program", lambda _name: Path("/bin/true"))
        yield folder


def allowed(prefix: list[str], *command: str) -> bool:
    done = subprocess.run([*prefix, *command], check=False, capture_output=True, cwd="/")
    return done.returncode == 0


def test_nothing_more_than_nobodys_where_the_way_is_open(room: Path) -> None:
    (room / "closed").mkdir(mode=0o700)
    prefix = as_servant(room)
    assert allowed(prefix, "stat", f"{room}/.")
    assert not allowed(prefix, "ls", f"{room}/closed")


def test_a_closed_way_is_passed_and_nothing_is_written(room: Path) -> None:
    closed = room / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").write_text("before")
    prefix = as_servant(closed)
    assert allowed(prefix, "stat", str(closed / "file"))
    assert not allowed(prefix, "touch", str(closed / "new"))
    assert not allowed(prefix, "sh", "-c", f"echo after > {closed / 'file'}")
    assert (closed / "file").read_text() == "before"


def test_a_program_behind_a_closed_way_is_reached(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = room / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "server"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o755)
    monkeypatch.setattr(postgres_process, "program", lambda _name: program)
    assert allowed(as_servant(room), str(program))
