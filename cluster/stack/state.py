"""What the supervisor says about the parts, in a file that is whole at every moment."""

from __future__ import annotations

import errno
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cluster.errors import StackError
from cluster.stack.processes import Identity

PADDED_BYTES = 16_384
"""The file keeps this size, so that it can be written in place when the disk is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """`started_at`: seconds since 1970 at which its process was started."""

    name: str
    phase: str
    identity: Identity | None
    started_at: float | None
    restarts: int
    error: str
    endpoint: str
    log: str
    digest: str
    permanent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """`boot` names the run of the machine; process ids of another one mean nothing."""

    boot: str
    supervisor: Identity
    parts: tuple[PartState, ...]

    @property
    def identities(self) -> list[Identity]:
        return [part.identity for part in self.parts if part.identity is not None]


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read_state(path: Path) -> StackState | None:
    """`None` when there is none, when it is damaged, or from before the machine was booted."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        state = StackState(
            boot=row["boot"],
            supervisor=Identity(**row["supervisor"]),
            parts=tuple(_part(part) for part in row["parts"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return state if state.boot == boot_id() else None


def write_state(path: Path, state: StackState) -> None:
    """Replaces the file as a whole; on a full disk, writes over the old one."""
    text = json.dumps(asdict(state)).ljust(PADDED_BYTES).encode()
    aside = path.with_suffix(".new")
    try:
        aside.write_bytes(text)
        aside.replace(path)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        aside.unlink(missing_ok=True)
        with path.open("r+b") as file:
            file.write(text)


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock on `path`; the system frees it when the process ends, however it ends.

    Without `wait`, yields False when somebody else holds it.
    """
    try:
        with path.open("a", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):
            raise
        raise StackError(
            f"the file system of {path} cannot lock files; point PALIMPSEST_HOME at a local disk"
        ) from error


def _part(row: dict[str, Any]) -> PartState:
    identity = row["identity"]
    return PartState(**{**row, "identity": Identity(**identity) if identity else None})
