"""How do token vectors lie beside a chunk? Neighbours joined, 8 bits a coordinate.

A packed value says what it is: the layout, the recipe that its token vectors were made by, the
number of coordinates; then one row after another. Rows have unit length when they are read, so
their scale is not kept.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster.errors import ModelError
from cluster.model import TokenVectors

INT8 = 1
"""Layout: signed bytes, the largest coordinate of each row at 127."""

POOLED = 2
"""Neighbouring tokens that share a row."""

_HEAD = struct.Struct("<B4sH")
_NO_RECIPE = bytes(4)
_STEPS = 127


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stack:
    """Token vectors of several texts below each other. `rows`: `(sum(lengths), dim)`, float32,
    unit length; `lengths[i]` of them belong to text `i`, none where it had none to read."""

    rows: TokenVectors
    lengths: NDArray[np.int64]


def pack(tokens: TokenVectors, *, recipe: str = "", pooled: int = POOLED) -> bytes:
    """`tokens` has rows of unit length, or none; `recipe` is `Embedder.token_recipe`."""
    joined = _joined(tokens, pooled)
    largest = np.abs(joined).max(axis=1, keepdims=True, initial=np.float32(1e-6))
    codes: NDArray[np.int8] = np.rint(joined * (_STEPS / largest)).astype(np.int8)
    head = _HEAD.pack(INT8, bytes.fromhex(recipe) or _NO_RECIPE, tokens.shape[1])
    return head + codes.tobytes()


def unpack(data: bytes) -> TokenVectors:
    """Fewer rows than were packed, of unit length. `ModelError` when it was not packed here."""
    return _unit(_codes(data).astype(np.float32))


def head_of(recipe: str) -> bytes:
    """What every value begins with that is packed now by this recipe."""
    return bytes([INT8]) + (bytes.fromhex(recipe) or _NO_RECIPE)


def recipe_of(data: bytes) -> str:
    _, recipe, _ = _read_head(data)
    return "" if recipe == _NO_RECIPE else recipe.hex()


def stack(packed: Sequence[bytes | None], *, dim: int, recipe: str = "") -> Stack:
    """What of another recipe or another dimension was packed counts as not there."""
    codes = [
        None if data is None or not _usable(data, dim, recipe) else _codes(data) for data in packed
    ]
    there = [one for one in codes if one is not None]
    rows = np.concatenate(there) if there else np.empty((0, dim), dtype=np.int8)
    lengths = np.array([0 if one is None else len(one) for one in codes], dtype=np.int64)
    return Stack(rows=_unit(rows.astype(np.float32)), lengths=lengths)


def _usable(data: bytes, dim: int, recipe: str) -> bool:
    _, made_by, columns = _read_head(data)
    return columns == dim and made_by == (bytes.fromhex(recipe) or _NO_RECIPE)


def _joined(tokens: TokenVectors, pooled: int) -> TokenVectors:
    """Sums of `pooled` neighbours each; the last one of what is left."""
    if pooled == 1 or not len(tokens):
        return tokens
    starts = np.arange(0, len(tokens), pooled)
    sums: TokenVectors = np.add.reduceat(tokens, starts, axis=0)
    return sums


def _codes(data: bytes) -> NDArray[np.int8]:
    _, _, columns = _read_head(data)
    body = np.frombuffer(data, dtype=np.int8, offset=_HEAD.size)
    if not columns or body.size % columns:
        raise ModelError(f"{len(data)} bytes are no rows of {columns} coordinates")
    return body.reshape(-1, columns)


def _read_head(data: bytes) -> tuple[int, bytes, int]:
    if len(data) < _HEAD.size or data[0] != INT8:
        raise ModelError("these bytes are not token vectors of a known layout")
    layout: int
    recipe: bytes
    columns: int
    layout, recipe, columns = _HEAD.unpack_from(data)
    return layout, recipe, columns


def _unit(rows: TokenVectors) -> TokenVectors:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scaled: TokenVectors = rows / np.maximum(lengths, 1e-6)[:, None]
    return scaled
