"""How much of what is shown was shown already?"""

from __future__ import annotations

from collections.abc import Sequence

SIMILAR = 0.85
_SHINGLE = 3


def shingles(text: str) -> frozenset[str]:
    """Every run of three characters, case and space aside."""
    plain = "".join(text.casefold().split())
    return frozenset(plain[at : at + _SHINGLE] for at in range(max(1, len(plain) - _SHINGLE + 1)))


def similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard."""
    both = len(left | right)
    return len(left & right) / both if both else 1.0


def repeated(texts: Sequence[str], *, similar: float = SIMILAR) -> int:
    """How many are more than `similar` to one before them."""
    known: list[frozenset[str]] = []
    count = 0
    for text in texts:
        own = shingles(text)
        count += any(similarity(own, other) > similar for other in known)
        known.append(own)
    return count
