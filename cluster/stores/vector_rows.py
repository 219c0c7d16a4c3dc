"""May these vectors be stored or asked for? The refusals and the order that every vector
index shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.errors import InvalidRequest, StoreRejected
from cluster.model import Vector
from cluster.stores.protocols import VectorRow

NORM_TOLERANCE = 0.01
MAX_ID_BYTES = 128
MAX_LIMIT = 16_384
"""As many as a Milvus server gives for one search."""

SCORE_DIGITS = 6
"""Cosines of float32 vectors mean nothing beyond this; cut there, equal vectors tie."""


def latest(rows: Sequence[VectorRow], *, dim: int, store: str) -> list[VectorRow]:
    """The rows with the last of each repeated id, or the refusal of all of them:
    `StoreRejected` that names the chunk, `InvalidRequest` for an empty batch."""
    if not rows:
        raise InvalidRequest("an empty list of rows; leave the call out instead")
    by_id = {row.row.chunk_id: row for row in rows}
    for chunk_id in by_id:
        if not 0 < len(chunk_id.encode("utf-8", "surrogatepass")) <= MAX_ID_BYTES:
            raise StoreRejected(store, f"chunk id {chunk_id!r} is empty or over {MAX_ID_BYTES} B")
    _check_vectors(list(by_id), [row.vector for row in by_id.values()], dim=dim, store=store)
    return list(by_id.values())


def check_query(vector: Vector, *, limit: int, dim: int, store: str) -> None:
    """`StoreRejected` for a vector that no row could be near to, `InvalidRequest` for a
    limit outside 1..16384."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidRequest(f"limit {limit}: it must be between 1 and {MAX_LIMIT}")
    _check_vectors(["of the query"], [vector], dim=dim, store=store)


def ranked(scored: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Best first, ties by chunk id."""
    rounded = ((chunk_id, round(score, SCORE_DIGITS)) for chunk_id, score in scored)
    return sorted(rounded, key=lambda pair: (-pair[1], pair[0]))


def _check_vectors(names: list[str], vectors: list[Vector], *, dim: int, store: str) -> None:
    for name, vector in zip(names, vectors, strict=True):
        if vector.shape != (dim,):
            raise StoreRejected(store, f"vector {name}: shape {vector.shape}, needed ({dim},)")
    stacked: NDArray[np.float32] = np.stack(vectors).astype(np.float32)
    norms = np.linalg.norm(stacked, axis=1)
    for position in np.flatnonzero(~(np.abs(norms - 1.0) <= NORM_TOLERANCE)):
        finite = bool(np.isfinite(stacked[position]).all())
        what = f"its length is {norms[position]:.4f}, not 1" if finite else "NaN or infinity"
        raise StoreRejected(store, f"vector {names[position]}: {what}")
