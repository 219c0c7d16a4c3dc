"""One log file per part, bounded in size whoever writes it."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 8 * 2**20
LAST_LINES = 6
LAST_BYTES = 8192


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def bound(path: Path) -> bool:
    """Keep a file that grew over its limit as `<name>.1` and empty it. The part goes on
    writing at its end, because it was opened for appending. True when that was done."""
    if size(path) <= MAX_BYTES:
        return False
    with path.open("rb") as file:
        file.seek(-MAX_BYTES // 2, 2)
        path.with_name(path.name + ".1").write_bytes(file.read())
    with path.open("r+b") as file:
        file.truncate(0)
    return True


def last_lines(path: Path, *, since: int = 0, lines: int = LAST_LINES) -> str:
    """The last lines that are not blank, written after byte `since`."""
    try:
        with path.open("rb") as file:
            file.seek(max(since, size(path) - LAST_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    written = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(written[-lines:])
