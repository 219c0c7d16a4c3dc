"""Which texts are so much alike that a look at both is worth it? Small sketches that tell.

MinHash over shingles (Broder 1997), in bands (Leskovec et al., Mining of Massive Datasets, ch. 3):
two texts that share 85 % of their shingles have a band in common in 99.9 of 100 cases, two that
share 30 % in 3 of 100. A sketch is the same on every machine and in every process.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.ids import digest
from cluster.text.shingles import SHINGLE_WORDS, words_of

BANDS = 12
ROWS = 5
MIN_WORDS = 8
"""Shorter texts have no sketch: they are alike too easily."""

Bands = tuple[int, ...]
"""One number of 63 bits for each band; each is of its own band, so that no two bands meet."""

_numbers = np.random.default_rng(20260501)
_FACTORS: NDArray[np.uint64] = _numbers.integers(
    1, 2**63, size=(BANDS * ROWS, 1), dtype=np.uint64
) | np.uint64(1)
_SHIFTS: NDArray[np.uint64] = _numbers.integers(0, 2**63, size=(BANDS * ROWS, 1), dtype=np.uint64)
_HIGH = np.uint64(32)


def bands_of(text: str, *, inside: str) -> Bands:
    """The sketch of a text; texts meet only `inside` the same (such as a tenant). Empty for a
    text with fewer than `MIN_WORDS` words."""
    words = words_of(text)
    if len(words) < MIN_WORDS:
        return ()
    least = ((_FACTORS * _hashes(words) + _SHIFTS) >> _HIGH).min(axis=1)
    return tuple(
        int.from_bytes(digest(inside, band, rows.tobytes())[:8], "big") >> 1
        for band, rows in enumerate(least.reshape(BANDS, ROWS).astype("<u8"))
    )


def _hashes(words: Sequence[str]) -> NDArray[np.uint64]:
    """Of the shingles, stable; a word's own hash is made once."""
    known = {word: zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in set(words)}
    single = np.array([known[word] for word in words], dtype=np.uint64)
    hashed = np.zeros(len(words) - SHINGLE_WORDS + 1, dtype=np.uint64)
    for at in range(SHINGLE_WORDS):
        hashed = hashed * np.uint64(0x100000001B3) ^ single[at : at + len(hashed)]
    return np.unique(hashed)[np.newaxis, :]
