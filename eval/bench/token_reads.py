"""How long does it take to rank candidates by the token vectors that are stored?

    python -m eval.bench.token_reads --tenant TENANT [--candidates 60 600] [--times 50]

Needs the local stack with documents of that tenant. Draws candidates at random and prints, for
each number of them, how much is read and the milliseconds (best, p50 and p95) of the parts: reading
from the ledger, unpacking, MaxSim with a question of 12 tokens. The question's own encoding is
left out.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cluster.model import Generation, Scope, TokenVectors
from cluster.models.token_vectors import recipe_of, stack
from cluster.settings import load_settings
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Ledger
from rerank.late_interaction import highest_cosines

QUESTION_TOKENS = 12
CHUNKS = 20_000
"""No more chunk ids are drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Milliseconds of one ranking, and what it read."""

    read: float
    unpack: float
    score: float
    rows: int
    payload: int

    @property
    def total(self) -> float:
        return self.read + self.unpack + self.score


async def rank_once(
    ledger: Ledger,
    scope: Scope,
    chunk_ids: Sequence[str],
    question: TokenVectors,
    *,
    fingerprint: str,
) -> Took:
    began = time.perf_counter()
    async with ledger.transaction() as tx:
        packed = await tx.vectors.tokens_of(scope, chunk_ids, fingerprint=fingerprint)
    read = time.perf_counter()
    first = next(iter(packed.values()), b"")
    recipe = recipe_of(first) if first else ""
    found = stack([packed.get(one) for one in chunk_ids], dim=question.shape[1], recipe=recipe)
    unpacked = time.perf_counter()
    highest_cosines(question, found.rows, found.lengths)
    scored = time.perf_counter()
    return Took(
        read=(read - began) * 1000,
        unpack=(unpacked - read) * 1000,
        score=(scored - unpacked) * 1000,
        rows=len(found.rows),
        payload=sum(map(len, packed.values())),
    )


async def measure(
    ledger: Ledger,
    scope: Scope,
    chunk_ids: Sequence[str],
    generation: Generation,
    *,
    candidates: int,
    times: int,
) -> list[Took]:
    """Each time other candidates; the first two rankings are left out. `chunk_ids` are at least
    as many as `candidates`."""
    draw = np.random.default_rng(candidates)
    numbers = draw.normal(size=(QUESTION_TOKENS, generation.dim))
    question = (numbers / np.linalg.norm(numbers, axis=1, keepdims=True)).astype(np.float32)
    took = [
        await rank_once(
            ledger,
            scope,
            [str(one) for one in draw.choice(chunk_ids, candidates, replace=False)],
            question,
            fingerprint=generation.fingerprint,
        )
        for _ in range(times + 2)
    ]
    return took[2:]


def told(candidates: int, took: Sequence[Took]) -> str:
    parts = [
        f"{name} {min(values):.1f}/{statistics.median(values):.1f}/"
        f"{statistics.quantiles(values, n=20)[18]:.1f}"
        for name in ("read", "unpack", "score", "total")
        for values in [[float(getattr(one, name)) for one in took]]
    ]
    size = statistics.mean(one.payload for one in took) / candidates
    rows = statistics.mean(one.rows for one in took)
    return (
        f"{candidates:4d} candidates, {rows:6,.0f} tokens, {size:6,.0f} B each; "
        f"best/p50/p95 ms: {', '.join(parts)}"
    )


async def bench(tenant: str, *, candidates: Sequence[int], times: int) -> None:
    ledger = await open_ledger(load_settings())
    try:
        async with ledger.transaction() as tx:
            active = await tx.generations.active()
            rows = await tx.reconciling.page(after="", limit=CHUNKS)
            passages = await tx.documents.visible(Scope(tenant=tenant), [one for one, _ in rows])
        if active is None or not passages:
            raise SystemExit(f"there is nothing to be seen of tenant {tenant}")
        for count in candidates:
            took = await measure(
                ledger,
                Scope(tenant=tenant),
                sorted(passages),
                active,
                candidates=min(count, len(passages)),
                times=times,
            )
            print(told(count, took))
    finally:
        await ledger.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--candidates", type=int, nargs="+", default=[60, 600])
    parser.add_argument("--times", type=int, default=50)
    arguments = parser.parse_args()
    asyncio.run(bench(arguments.tenant, candidates=arguments.candidates, times=arguments.times))


if __name__ == "__main__":
    main()
