"""Does a vector index find what an exact search over the ledger's vectors finds?

Both sides are asked for the nearest neighbours of stored vectors, in the scope of the chunk each
belongs to. The ledger's vectors stream by in batches, so memory does not grow with their number.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster.model import Scope, Vector, Vectors
from cluster.stores.protocols import Ledger, VectorIndex

BATCH = 1000
TOP = 10
SAMPLES = 200
TIE = 1e-4
"""Cosines this close are equal: of equal vectors each side may list others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A batch of chunks that the indexes should have, with their vectors, `(n, dim)`."""

    tenants: Sequence[str]
    owners: Sequence[str | None]
    vectors: Vectors


async def recall_at_10(
    ledger: Ledger, index: VectorIndex, *, fingerprint: str, samples: int = SAMPLES
) -> float:
    """Mean share of the ten exact neighbours' scores that the index reaches, over `samples`
    chunks; 1.0 when there are none. The sample is the same for the same ids."""
    chosen = await _sample(ledger, fingerprint=fingerprint, samples=samples)
    if not chosen:
        return 1.0
    exact = Nearest([vector for _, vector in chosen], scopes=[scope for scope, _ in chosen])
    async for batch in stored(ledger, fingerprint=fingerprint):
        exact.see(batch)
    shares = []
    for at, (scope, vector) in enumerate(chosen):
        hits = await index.search(vector, scope=scope, where=None, limit=TOP)
        shares.append(reached_share([score for _, score in hits], exact=exact.scores(at)))
    return float(np.mean(shares))


def reached_share(found: Sequence[float], *, exact: Sequence[float]) -> float:
    """How many of the found scores are as good as the last of the exact ones, best first."""
    if not exact:
        return 1.0
    good = sum(score >= exact[-1] - TIE for score in found)
    return min(good, len(exact)) / len(exact)


class Nearest:
    """The best `TOP` cosines of each question, in one pass over batches."""

    def __init__(self, questions: Sequence[Vector], *, scopes: Sequence[Scope]) -> None:
        self._questions = np.stack(questions)
        self._scopes = scopes
        self._best: NDArray[np.float32] = np.full((len(scopes), TOP), -np.inf, dtype=np.float32)

    def see(self, batch: Stored) -> None:
        cosines = self._questions @ batch.vectors.T
        cosines[~self._in_scope(batch)] = -np.inf
        both = np.concatenate([self._best, cosines], axis=1)
        self._best = np.sort(both, axis=1)[:, ::-1][:, :TOP]

    def scores(self, at: int) -> list[float]:
        """Best first; fewer than `TOP` when there are no more."""
        return [float(score) for score in self._best[at] if np.isfinite(score)]

    def _in_scope(self, batch: Stored) -> NDArray[np.bool_]:
        tenants = np.array(batch.tenants, dtype=object)
        owners = np.array(batch.owners, dtype=object)
        shared = np.array([owner is None for owner in batch.owners], dtype=bool)
        rows = [
            (tenants == scope.tenant) & (shared | (owners == scope.owner)) for scope in self._scopes
        ]
        return np.stack(rows).astype(bool)


async def stored(ledger: Ledger, *, fingerprint: str) -> AsyncIterator[Stored]:
    """Every pending and visible chunk that has a vector, in batches."""
    after = ""
    while True:
        async with ledger.transaction() as tx:
            ids = await tx.generations.encoded(fingerprint, after=after, limit=BATCH)
            work = await tx.outbox.work(ids, fingerprints=[fingerprint]) if ids else []
        if not ids:
            return
        after = ids[-1]
        there = [(one.row.fields, one.vectors) for one in work if one.row and one.vectors]
        if there:
            yield Stored(
                tenants=[str(fields["tenant"]) for fields, _ in there],
                owners=[_owner(fields["owner"]) for fields, _ in there],
                vectors=np.stack([vectors[fingerprint] for _, vectors in there]),
            )


async def _sample(ledger: Ledger, *, fingerprint: str, samples: int) -> list[tuple[Scope, Vector]]:
    """Evenly from all, by reservoir."""
    rng = random.Random(fingerprint)  # noqa: S311  # repeatable, not secret
    kept: list[tuple[Scope, Vector]] = []
    seen = 0
    async for batch in stored(ledger, fingerprint=fingerprint):
        for tenant, owner, vector in zip(batch.tenants, batch.owners, batch.vectors, strict=True):
            seen += 1
            place = len(kept) if len(kept) < samples else rng.randrange(seen)
            if place < samples:
                kept[place : place + 1] = [(Scope(tenant=tenant, owner=owner), vector.copy())]
    return kept


def _owner(value: object) -> str | None:
    return None if value is None else str(value)
