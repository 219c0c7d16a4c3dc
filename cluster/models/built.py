"""Folders of files that are made once on this machine and then only read.

Such a folder is built under another name and renamed, under a lock, so it is whole or absent;
`manifest.json` holds the size and SHA-256 of every file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MANIFEST = "manifest.json"

_log = logging.getLogger(__name__)


def built_folder(folder: Path, *, read: Sequence[str], build: Callable[[Path], None]) -> Path:
    """`folder`, made by `build` if it is not there; `build` gets a path that is to be made.

    All files are checked by size, those named in `read` (what the caller is about to load)
    also by hash. A damaged folder is built again, with a notice. Raises `OSError` when there is
    no room, and what `build` raises.
    """
    if _damage(folder, read=read) is None:
        return folder
    with _locked(folder.parent):
        # Another process may have built it while this one waited.
        damage = _damage(folder, read=read)
        if damage is not None:
            if folder.exists():
                _log.warning("%s: %s; building it again", folder, damage)
            _build(folder, build)
    return folder


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _damage(folder: Path, *, read: Sequence[str]) -> str | None:
    """What is wrong with the folder, or None."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {str(name): entry for name, entry in manifest["files"].items()}
        for name, entry in files.items():
            if (folder / name).stat().st_size != entry["bytes"]:
                return f"{name} has another size than was written"
        for name in read:
            if _file_sha256(folder / name) != files[name]["sha256"]:
                return f"{name} has other bytes than were written"
    except OSError as error:
        return f"{Path(str(error.filename)).name}: {error.strerror}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{MANIFEST} cannot be read"
    return None


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    for leftover in folder.parent.glob(".building-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".building-") as name:
        fresh = Path(name) / "model"
        build(fresh)
        write_json(fresh / MANIFEST, {"files": dict(_entries(fresh))})
        if folder.exists():
            folder.rename(Path(name) / "damaged")
        fresh.rename(folder)


def _entries(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            entry = {"bytes": path.stat().st_size, "sha256": _file_sha256(path)}
            yield path.relative_to(folder).as_posix(), entry


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
