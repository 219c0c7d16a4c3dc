"""An encoder of a few kilobytes, in the file format of the wheel that holds the real one."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from cluster.models.e5_folder import config_files, torch_tensors
from cluster.models.e5_wheel import BLOCK, BLOCK_LAYOUT, WheelModel, parse_wheel_file
from cluster.models.unigram import unigram_tokenizer

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 128, 2, 4, 256, 64
LETTERS = "abcdefghijklmnopqrstuvwxyz<>/sé:. 世界"
PIECES = [
    *(("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)),
    *((letter, -4.0) for letter in dict.fromkeys(LETTERS.replace(" ", ""))),
    *(("▁passage", -3.0), ("▁query", -3.0), ("▁hello", -5.0), ("<mask>", 0.0)),
]
CHARMAP = {0xFF1C: "<", 0xFF1E: ">", 0xFF0F: "/", 0x3000: " ", 0x0A: " "}


def tiny_image() -> bytes:
    """The file; its weights are drawn by a fixed seed."""
    random = np.random.default_rng(7)
    parts = [b"E5S1", _head(), _vocabulary(), _charmap()]
    shapes = dict(_tensor_shapes())
    blobs = {name: _blob(random, name, shape) for name, shape in shapes.items()}
    table = sum(2 + len(name) + 21 for name in shapes) + 4
    offset = sum(map(len, parts)) + table
    parts.append(struct.pack("<i", len(shapes)))
    for name, shape in shapes.items():
        parts.append(struct.pack("<H", len(name)) + name.encode())
        size = len(blobs[name])
        parts.append(struct.pack("<BIQQ", int(_is_packed(name)), int(np.prod(shape)), offset, size))
        offset += size
    return b"".join([*parts, *blobs.values()])


def tiny_model() -> WheelModel:
    return parse_wheel_file(tiny_image())


def write_tiny_folder(folder: Path, **prompts: str) -> Path:
    """A sentence-transformers folder of the tiny model."""
    model = tiny_model()
    folder.mkdir(parents=True)
    for name, content in config_files(model.shape).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    limits = {"max_seq_length": POSITIONS, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(limits))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    unigram_tokenizer(model.pieces, model.charmap).save(str(folder / "tokenizer.json"))
    save_file(torch_tensors(model), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _head() -> bytes:
    sizes = (HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2)
    return struct.pack("<I7ifi", 1, *sizes, 1e-12, BLOCK)


def _vocabulary() -> bytes:
    texts = [text.encode() for text, _ in PIECES]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.array([score for _, score in PIECES], dtype="<f4")
    blob = b"".join(texts)
    head = struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
    return head + offsets.tobytes() + scores.tobytes() + blob


def _charmap() -> bytes:
    rows = [
        struct.pack("<IB", code_point, len(text))
        + b"".join(struct.pack("<I", ord(x)) for x in text)
        for code_point, text in CHARMAP.items()
    ]
    return struct.pack("<iI", len(rows), sum(map(len, rows))) + b"".join(rows)


def _tensor_shapes() -> list[tuple[str, tuple[int, ...]]]:
    shapes: list[tuple[str, tuple[int, ...]]] = [
        ("emb.word", (len(PIECES), HIDDEN)),
        ("emb.pos", (POSITIONS, HIDDEN)),
        ("emb.type", (2, HIDDEN)),
        ("emb.ln.w", (HIDDEN,)),
        ("emb.ln.b", (HIDDEN,)),
    ]
    for layer in range(LAYERS):
        widths = dict.fromkeys(("q", "k", "v", "ao"), (HIDDEN, HIDDEN))
        for part, shape in {**widths, "fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}.items():
            shapes += [(f"l{layer}.{part}.w", shape), (f"l{layer}.{part}.b", shape[:1])]
        for part in ("aln", "oln"):
            shapes += [(f"l{layer}.{part}.w", (HIDDEN,)), (f"l{layer}.{part}.b", (HIDDEN,))]
    return shapes


def _is_packed(name: str) -> bool:
    return name == "emb.word" or (name.endswith(".w") and "ln" not in name)


def _blob(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> bytes:
    count = int(np.prod(shape))
    if not _is_packed(name):
        mean = 1.0 if name.endswith("ln.w") else 0.0
        return random.normal(mean, 0.1, count).astype("<f4").tobytes()
    blocks = np.zeros(count // BLOCK, dtype=BLOCK_LAYOUT)
    blocks["scale"] = random.uniform(0.01, 0.04, len(blocks))
    blocks["nibbles"] = random.integers(0, 256, (len(blocks), BLOCK // 2))
    return blocks.tobytes()
