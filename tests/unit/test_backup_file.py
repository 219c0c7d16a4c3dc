"""Where a backup cannot be written, that is said; nothing of it is left."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.errors import InvalidRequest
from lifecycle.backup import backup

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "postgresql://127.0.0.1:1/none"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"none/x\.backup cannot be written: No such file"):
        asyncio.run(backup(NOWHERE, tmp_path / "none" / "x.backup", now=NOW))


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "x.backup"
    file.write_text("of yesterday")
    with pytest.raises(InvalidRequest, match="exists; name another file"):
        asyncio.run(backup(NOWHERE, file, now=NOW))
    assert [path.name for path in tmp_path.iterdir()] == ["x.backup"]
    assert file.read_text() == "of yesterday"
