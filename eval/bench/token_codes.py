"""The ways to keep token vectors that `eval.bench.token_vectors` compares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster.model import TokenVectors

FITTED_ON = 20_000
"""Rows of other sets that the axes are read off."""

Content = NDArray[np.bool_]
Restored = Callable[[TokenVectors, Content], TokenVectors]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """`restored` gives the rows as they are read back, to be multiplied with the question's
    vectors; each takes `row_bytes` at rest."""

    name: str
    row_bytes: int
    restored: Restored


def codings(others: TokenVectors) -> Iterator[Coding]:
    """Axes are those of `others`, token vectors of other sets."""
    dim = others.shape[1]
    axes = _axes(others)
    yield _coding("fp16", dim * 2, _as_they_are)
    for name, pool in _POOLS.items():
        yield _coding(f"int8{name}", dim, pool, _steps(127))
    for name in ("", ", pooled by 2", ", at most 64 rows", ", 2 if over 32"):
        yield _coding(f"4 bits{name}", dim // 2, _POOLS[name], _steps(7))
    for bits in (3, 2, 1):
        for name in ("", ", content words only"):
            coded = _levels(bits)
            yield _coding(f"{bits} bits{name}", dim * bits // 8, _POOLS[name], coded)
            yield _coding(
                f"{bits} bits, turned{name}", dim * bits // 8, _POOLS[name], _turned(coded, dim)
            )
    for kept in (128, 192):
        yield _coding(f"{kept} axes, int8", kept, _as_they_are, _projected(axes, kept))
    for name in ("", ", pooled by 2"):
        yield _coding(f"256 axes, signs{name}", 32, _POOLS[name], _signs(others, axes, 256))


def _coding(
    name: str,
    row_bytes: int,
    pool: Restored,
    coded: Callable[[TokenVectors], TokenVectors] = lambda rows: rows,
) -> Coding:
    return Coding(
        name=name, row_bytes=row_bytes, restored=lambda rows, content: coded(pool(rows, content))
    )


def unit(rows: TokenVectors) -> TokenVectors:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scaled: TokenVectors = rows / np.maximum(lengths, 1e-6)[:, None]
    return scaled


def _as_they_are(rows: TokenVectors, _: Content) -> TokenVectors:
    return rows


def _content_only(rows: TokenVectors, content: Content) -> TokenVectors:
    return rows[content] if content.any() else rows


def _by(size: int) -> Restored:
    def pooled(rows: TokenVectors, _: Content) -> TokenVectors:
        if size == 1 or not len(rows):
            return rows
        sums: TokenVectors = np.add.reduceat(rows, np.arange(0, len(rows), size), axis=0)
        return unit(sums)

    return pooled


def _at_most(count: int) -> Restored:
    """Neighbours share a row as far as is needed to be so few."""
    return lambda rows, content: _by(max(1, -(-len(rows) // count)))(rows, content)


def _if_over(length: int, size: int) -> Restored:
    return lambda rows, content: _by(size if len(rows) > length else 1)(rows, content)


_POOLS: dict[str, Restored] = {
    "": _as_they_are,
    ", pooled by 2": _by(2),
    ", pooled by 3": _by(3),
    ", 2 if over 32": _if_over(32, 2),
    ", at most 128 rows": _at_most(128),
    ", at most 64 rows": _at_most(64),
    ", at most 32 rows": _at_most(32),
    ", content words only": _content_only,
    ", content words, pooled by 2": lambda rows, content: _by(2)(
        _content_only(rows, content), content
    ),
}


def _steps(most: int) -> Callable[[TokenVectors], TokenVectors]:
    """The largest coordinate of each row at `most`."""

    def coded(rows: TokenVectors) -> TokenVectors:
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=1e-6)
        steps: TokenVectors = np.rint(rows * (most / largest)).astype(np.float32)
        return unit(steps)

    return coded


_BEST_LEVELS: dict[int, tuple[float, ...]] = {
    1: (0.7979,),
    2: (0.4528, 1.5104),
    3: (0.2451, 0.7560, 1.3439, 2.1520),
}
"""Of each sign, in standard deviations: best for a normal distribution (Max, 1960)."""


def _levels(bits: int) -> Callable[[TokenVectors], TokenVectors]:
    levels = np.array(_BEST_LEVELS[bits], dtype=np.float32)
    bounds = (levels[1:] + levels[:-1]) / 2

    def coded(rows: TokenVectors) -> TokenVectors:
        spread = np.sqrt((rows**2).mean(axis=1, keepdims=True))
        codes = np.digitize(np.abs(rows) / np.maximum(spread, 1e-6), bounds)
        return unit((np.sign(rows) * levels[codes]).astype(np.float32))

    return coded


def _turned(
    coded: Callable[[TokenVectors], TokenVectors], dim: int
) -> Callable[[TokenVectors], TokenVectors]:
    """By the same random rotation, so that all coordinates are about as wide."""
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(dim, dim)))
    turn = turn.astype(np.float32)
    return lambda rows: coded(rows @ turn) @ turn.T


def _axes(others: TokenVectors) -> TokenVectors:
    """Columns, the widest first."""
    _, vectors = np.linalg.eigh(others.T @ others)
    axes: TokenVectors = vectors[:, ::-1].astype(np.float32)
    return axes


def _projected(axes: TokenVectors, kept: int) -> Callable[[TokenVectors], TokenVectors]:
    def coded(rows: TokenVectors) -> TokenVectors:
        restored: TokenVectors = _steps(127)(rows @ axes[:, :kept]) @ axes[:, :kept].T
        return restored

    return coded


def _signs(
    others: TokenVectors, axes: TokenVectors, kept: int
) -> Callable[[TokenVectors], TokenVectors]:
    """One bit for each axis, all axes made equally wide; the question stays in full."""
    width = (others @ axes[:, :kept]).std(axis=0)

    def coded(rows: TokenVectors) -> TokenVectors:
        signs = np.sign(rows @ axes[:, :kept]) / np.float32(kept**0.5)
        restored: TokenVectors = (signs / width) @ axes[:, :kept].T
        return restored

    return coded
