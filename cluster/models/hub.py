"""What does a sentence-transformers folder or hub model say of itself? Reads its JSON only."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.errors import ModelError

_WEIGHTS = ("*.safetensors", "*.bin")
_CONFIG = ["*.json", "*/*.json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """`folder` has at least the JSON files. `location` is what the loader gets: a folder, or a
    hub name with `revision`. `weights` identifies the weights: the commit, or a digest of the
    files of a local folder."""

    folder: Path
    location: str
    revision: str | None
    weights: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """`location`, `revision` and `weights` as in `FoundModel`."""

    location: str
    revision: str | None
    weights: str
    dim: int
    max_length: int
    query_prompt: str
    document_prompt: str


def read_card(model: str, *, revision: str | None) -> ModelCard:
    """As `find_model` finds it. Raises `ModelError`."""
    return _card(find_model(model, revision=revision, setting="encoder.model"))


def find_model(model: str, *, revision: str | None, setting: str) -> FoundModel:
    """`model` is an existing folder, else a hub name; only then is a hub asked, and not if its
    files are already on this machine. `setting` is what names it. Raises `ModelError`."""
    path = Path(model).expanduser()
    if path.is_dir():
        return FoundModel(
            folder=path, location=str(path), revision=None, weights=_weights_digest(path)
        )
    if path.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"{setting} names the folder {model}, which is not there")
    snapshot = _snapshot(model, revision=revision, setting=setting)
    commit = snapshot.name
    return FoundModel(folder=snapshot, location=model, revision=commit, weights=commit)


def _snapshot(model: str, *, revision: str | None, setting: str) -> Path:
    import httpx
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        try:
            found = snapshot_download(model, revision=revision, local_files_only=True)
        except LocalEntryNotFoundError:
            found = snapshot_download(model, revision=revision, allow_patterns=_CONFIG)
    except (OSError, httpx.HTTPError, HFValidationError) as error:
        raise ModelError(
            f"{setting} {model!r} is neither a folder nor a model that the hub gave "
            f"({type(error).__name__}); check the name and the network, download it beforehand "
            f"(hf download), or unset {setting}"
        ) from error
    return Path(found)


def _card(found: FoundModel) -> ModelCard:
    prompts = read_json(found.folder / "config_sentence_transformers.json").get("prompts") or {}
    config = read_json(found.folder / "config.json")
    return ModelCard(
        location=found.location,
        revision=found.revision,
        weights=found.weights,
        dim=_dim(found.folder, config),
        max_length=_max_length(found.folder, config),
        query_prompt=str(prompts.get("query") or ""),
        document_prompt=str(prompts.get("document") or prompts.get("passage") or ""),
    )


def _dim(folder: Path, config: dict[str, Any]) -> int:
    """The last module with a width of its own decides."""
    dim = config.get("hidden_size")
    for path in sorted(folder.glob("[0-9]*_*/config.json")):
        module = read_json(path)
        for key in ("out_features", "embedding_dimension", "word_embedding_dimension"):
            if key in module:
                dim = module[key]
                break
    if not isinstance(dim, int):
        raise ModelError(f"{folder} does not say how long its vectors are; is it an encoder?")
    return dim


def _max_length(folder: Path, config: dict[str, Any]) -> int:
    stated = [
        read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        read_json(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    ]
    limits = [limit for limit in stated if isinstance(limit, int) and 0 < limit < 1 << 20]
    if not limits:
        raise ModelError(f"{folder} does not say how many tokens it takes (max_seq_length)")
    return min(limits)


def read_json(path: Path) -> dict[str, Any]:
    """Of a file that is not there, nothing."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path} is not valid JSON: {error}") from error
    return content if isinstance(content, dict) else {}


def _weights_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    files = sorted(path for pattern in _WEIGHTS for path in folder.rglob(pattern))
    if not files:
        raise ModelError(f"{folder} has no weights (*.safetensors)")
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
