"""How do token vectors lie beside a chunk? Two bits a coordinate.

A coordinate is kept as one of four levels, the best ones for a normal distribution (Max, IRE
Transactions 1960). A packed value says what it is: the layout, the recipe that its token vectors
were made by, the number of coordinates; then one row after another. Rows have unit length when
they are read, so no scale is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster.errors import ModelError
from cluster.model import TokenVectors

TWO_BITS = 2
"""Layout: four coordinates a byte, the first one lowest; codes 0 to 3 from the lowest level on."""

_HEAD = struct.Struct("<B4sH")
_NO_RECIPE = bytes(4)
_PER_BYTE = 4
_SHIFTS = np.arange(0, 8, 2, dtype=np.uint8)
_BOUND = 0.9816
"""Between the levels of one sign, in standard deviations of a coordinate."""

_LEVELS = np.array([-1.5104, -0.4528, 0.4528, 1.5104], dtype=np.float32)
_OF_BYTE: NDArray[np.float32] = _LEVELS[(np.arange(256)[:, None] >> _SHIFTS) & 3]

Codes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stack:
    """Token vectors of several texts below each other. `rows`: `(sum(lengths), dim)`, float32,
    unit length; `lengths[i]` of them belong to text `i`, none where it had none to read."""

    rows: TokenVectors
    lengths: NDArray[np.int64]


def pack(tokens: TokenVectors, *, recipe: str = "") -> bytes:
    """`tokens` has rows of unit length, or none; `recipe` is `Embedder.token_recipe`."""
    count, dim = tokens.shape
    bound = np.float32(_BOUND / dim**0.5)
    codes = np.zeros((count, _row_bytes(dim) * _PER_BYTE), dtype=np.uint8)
    for level in (-bound, 0, bound):
        codes[:, :dim] += tokens > level
    quarters = codes.reshape(count, _row_bytes(dim), _PER_BYTE) << _SHIFTS
    body: Codes = np.bitwise_or.reduce(quarters, axis=2)
    return _HEAD.pack(TWO_BITS, _recipe_bytes(recipe), dim) + body.tobytes()


def unpack(data: bytes) -> TokenVectors:
    """As many rows as were packed, of unit length. `ModelError` when it was not packed here."""
    layout, _, dim = _read_head(data)
    if layout != TWO_BITS:
        raise ModelError("these bytes are not token vectors of a known layout")
    return _rows(_codes(data, dim), dim)


def head_of(recipe: str) -> bytes:
    """What every value begins with that is packed now by this recipe."""
    return bytes([TWO_BITS]) + _recipe_bytes(recipe)


def recipe_of(data: bytes) -> str:
    _, recipe, _ = _read_head(data)
    return "" if recipe == _NO_RECIPE else recipe.hex()


def stack(packed: Sequence[bytes | None], *, dim: int, recipe: str = "") -> Stack:
    """What was packed in another layout, by another recipe or in another dimension counts as
    not there."""
    wanted = (TWO_BITS, _recipe_bytes(recipe), dim)
    codes = [
        None if data is None or _read_head(data) != wanted else _codes(data, dim) for data in packed
    ]
    there = [one for one in codes if one is not None]
    rows = _rows(np.concatenate(there), dim) if there else np.empty((0, dim), dtype=np.float32)
    lengths = np.array([0 if one is None else len(one) for one in codes], dtype=np.int64)
    return Stack(rows=rows, lengths=lengths)


def _recipe_bytes(recipe: str) -> bytes:
    return bytes.fromhex(recipe) or _NO_RECIPE


def _rows(codes: Codes, dim: int) -> TokenVectors:
    coordinates = np.take(_OF_BYTE, codes, axis=0)
    rows = coordinates.reshape(len(codes), _row_bytes(dim) * _PER_BYTE)[:, :dim]
    rows *= 1 / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows


def _codes(data: bytes, dim: int) -> Codes:
    body = np.frombuffer(data, dtype=np.uint8, offset=_HEAD.size)
    if not dim or body.size % _row_bytes(dim):
        raise ModelError(f"{len(data)} bytes are no rows of {dim} coordinates")
    return body.reshape(-1, _row_bytes(dim))


def _row_bytes(dim: int) -> int:
    return -(-dim // _PER_BYTE)


def _read_head(data: bytes) -> tuple[int, bytes, int]:
    """Layout, recipe, dimension; a value too short for them is of no layout."""
    if len(data) < _HEAD.size:
        return 0, _NO_RECIPE, 0
    layout: int
    recipe: bytes
    dim: int
    layout, recipe, dim = _HEAD.unpack_from(data)
    return layout, recipe, dim
