"""A start that failed for good is not tried again by every command that needs the stack."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cluster.errors import StackError
from cluster.settings import Settings
from cluster.stack import control
from cluster.stack.exits import PERMANENT
from cluster.stack.spec import Probe, ServiceSpec


def quiet(_line: str) -> None:
    """Not of interest here."""


def part(folder: Path, *, mended: bool = False, **env: str) -> ServiceSpec:
    """Counts its starts in a file; ends for good unless it is mended."""
    then = "import time; time.sleep(60)" if mended else f"print('no'); sys.exit({PERMANENT})"
    words = f"import sys; open({str(folder / 'starts')!r}, 'a').write('x'); {then}"
    probe = Probe(kind="alive")
    return ServiceSpec(name="serve", command=(sys.executable, "-c", words), probe=probe, env=env)


def test_only_someone_who_asks_for_it_tries_again(tmp_path: Path) -> None:
    settings, specs = Settings(home=tmp_path / "h"), [part(tmp_path)]

    def starts() -> int:
        return len((tmp_path / "starts").read_text())

    def ensure(parts: list[ServiceSpec]) -> str:
        with pytest.raises(StackError) as refused:
            control.ensure_up(settings, parts, say=quiet)
        return str(refused.value)

    assert "serve does not start: no" in ensure(specs)
    again = ensure(specs)
    assert "serve does not start: no" in again
    assert "`palimpsest up` tries again" in again
    assert starts() == 1
    with pytest.raises(StackError, match="does not start"):
        control.up(settings, specs, say=quiet)
    assert starts() == 2
    assert "tries again" not in ensure([part(tmp_path, PALIMPSEST_TENANT="other")])
    assert starts() == 3
    control.down(settings, say=quiet)
    assert "tries again" not in ensure([part(tmp_path, PALIMPSEST_TENANT="other")])
    assert starts() == 4


def test_a_mended_stack_is_forgiven(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "h")
    with pytest.raises(StackError, match="does not start"):
        control.ensure_up(settings, [part(tmp_path)], say=quiet)
    try:
        control.ensure_up(settings, [part(tmp_path, mended=True)], say=quiet)
        assert control.is_up(settings, [part(tmp_path, mended=True)])
        assert not (tmp_path / "h" / "run" / "refusal.json").exists()
    finally:
        control.down(settings, say=quiet)
