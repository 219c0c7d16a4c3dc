"""Where everything local lives, and whether that place can be used at all."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from cluster.errors import StackError
from cluster.settings import Settings

ROOM_FOR_FIRST_START = 400 * 2**20
"""Bytes: a new PostgreSQL cluster, the default encoder's weights, and some air."""

ROOM_FOR_START = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Home:
    """The data directory by its rooms. Nothing here touches the disk."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def milvus(self) -> Path:
        return self.root / "milvus"

    @property
    def state_file(self) -> Path:
        return self.run / "state.json"

    @property
    def specs_file(self) -> Path:
        return self.run / "specs.json"

    @property
    def refusal_file(self) -> Path:
        return self.run / "refusal.json"

    @property
    def supervisor_lock(self) -> Path:
        return self.run / "supervisor.lock"

    @property
    def command_lock(self) -> Path:
        return self.run / "command.lock"

    def log_of(self, part: str) -> Path:
        return self.logs / f"{part}.log"

    def beat_of(self, part: str) -> Path:
        return self.run / f"{part}.beat"


def home_of(settings: Settings) -> Home:
    return Home(settings.data_dir)


def local_key_path(settings: Settings) -> Path:
    """Where the key of the local administrator lies (mode 0600); who makes keys writes it."""
    return home_of(settings).secrets / "local.key"


def postgres_password_path(home: Home) -> Path:
    return home.secrets / "postgres.password"


def ray_token_path(home: Home) -> Path:
    return home.secrets / "ray.token"


def prepare_home(home: Home) -> None:
    """Make the data directory usable for this user alone, with its secrets.

    Raises `StackError` with the way out: not writable, read-only, of another user, not a
    directory, or too little room left.
    """
    _make(home.root)
    check_owner(home.root)
    _check_room(home)
    for folder in (home.run, home.logs, home.secrets):
        _make(folder)
    _check_writable(home)
    for path in (postgres_password_path(home), ray_token_path(home)):
        _make_secret(path)


def check_owner(root: Path) -> None:
    """Raises `StackError` when the data directory is another user's."""
    owner = root.stat().st_uid
    if owner != os.geteuid():
        raise StackError(
            f"{root} belongs to {_user(owner)}, and you are {_user(os.geteuid())}; run as "
            f"{_user(owner)}, or give yourself a home of your own with PALIMPSEST_HOME"
        )


def was_used(home: Home) -> bool:
    """Whether a stack was ever started there. Raises `StackError` when it is not ours to see."""
    try:
        used = home.run.is_dir()
    except PermissionError as error:
        raise StackError(_unusable(home.root, error)) from error
    if used:
        check_owner(home.root)
    return used


def room(path: Path) -> int:
    """Bytes that this user can still write below `path`."""
    return shutil.disk_usage(path).free


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid == os.geteuid() and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise StackError(_unusable(folder, error)) from error


def _unusable(folder: Path, error: OSError) -> str:
    return (
        f"cannot use {folder}: {error.strerror or error}; make it writable for "
        f"{_user(os.geteuid())}, or point PALIMPSEST_HOME at a folder that is"
    )


def _check_room(home: Home) -> None:
    needed = ROOM_FOR_START if home.postgres.exists() else ROOM_FOR_FIRST_START
    free = room(home.root)
    if free < needed:
        raise StackError(
            f"the disk of {home.root} is full: {free / 2**20:.0f} MB free, "
            f"{needed / 2**20:.0f} MB needed to start; make room there, or point "
            f"PALIMPSEST_HOME at a larger disk. Nothing was started"
        )


def _check_writable(home: Home) -> None:
    trial = home.run / f".trial-{os.getpid()}"
    try:
        trial.write_bytes(b"x")
        trial.unlink()
    except OSError as error:
        raise StackError(_unusable(home.run, error)) from error


def _make_secret(path: Path) -> None:
    """A crash between the two steps leaves no half-written secret."""
    if path.exists():
        return
    trial = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(24))
    trial.replace(path)


def _user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name!r}"
    except KeyError:
        return f"user id {uid}"
