"""Does it matter which store is behind a seam? The same rows and questions on both, compared.

    python -m eval.bench.swap SET… --elasticsearch http://127.0.0.1:9200 [--questions 500]

Each SET is a folder as `eval.datasets` reads it. The documents go whole into a new embedded index
and into a new index of the server, which is removed again; the embedded one is in a
temporary folder. Exits with 1 when a ranking differs by more than ties.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.filters import FIELDS
from cluster.model import IndexRow, Scope
from cluster.settings import TextIndexSettings
from cluster.stores.protocols import TextIndex, TextRow
from cluster.text.terms import document_terms, query_terms
from eval.datasets import RetrievalSet, read_set, sample

TOLERANCE = 1e-4
"""Scores that differ by less, relatively, are a tie."""

DEPTH = 50
SCOPE = Scope(tenant="swap")
BATCH_ROWS = 1000

Ranking = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """`largest_difference` of a score is relative; `differing` are the questions whose rankings
    differ by more than ties."""

    dataset: str
    rows: int
    questions: int
    same_order: int
    differing: tuple[str, ...]
    largest_difference: float
    ms: tuple[float, float]


def same_ranking(left: Ranking, right: Ranking, *, tolerance: float = TOLERANCE) -> bool:
    """Whether both hold the same ids with the same scores, up to `tolerance`, so that only
    ties may stand in another order or fall off the end."""
    scores, others = dict(left), dict(right)
    if len(scores) != len(others):
        return False
    ends = (min(scores.values(), default=0.0), min(others.values(), default=0.0))
    for chunk_id in scores.keys() | others.keys():
        if not _close(scores.get(chunk_id, ends[0]), others.get(chunk_id, ends[1]), tolerance):
            return False
    return True


def largest_difference(left: Ranking, right: Ranking) -> float:
    """Of the scores of an id that both hold, relative to the larger."""
    others = dict(right)
    both = [(score, others[name]) for name, score in left if name in others]
    return max((abs(one - other) / max(one, other) for one, other in both), default=0.0)


async def compare_text(
    dataset: RetrievalSet, left: TextIndex, right: TextIndex, *, questions: int
) -> Swap:
    """Both indexes are empty before, and hold the documents of the set afterwards."""
    rows = [_row(document.doc_id, document.full_text) for document in dataset.documents]
    for index in (left, right):
        for start in range(0, len(rows), BATCH_ROWS):
            await index.upsert(rows[start : start + BATCH_ROWS])
    asked = {query.query_id: query.text for query in sample(dataset.queries, limit=questions)}
    one = {name: await _ask(left, text) for name, text in asked.items()}
    other = {name: await _ask(right, text) for name, text in asked.items()}
    pairs = {name: (one[name].ranking, other[name].ranking) for name in asked}
    return Swap(
        dataset=dataset.name,
        rows=len(rows),
        questions=len(asked),
        same_order=sum(_ids(left) == _ids(right) for left, right in pairs.values()),
        differing=tuple(name for name, pair in pairs.items() if not same_ranking(*pair)),
        largest_difference=max(largest_difference(*pair) for pair in pairs.values()),
        ms=(_median_ms(one.values()), _median_ms(other.values())),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    ranking: Ranking
    took_ms: float


async def _ask(index: TextIndex, text: str) -> _Answer:
    """A question without terms finds nothing, in no store."""
    terms = query_terms(text)
    started = time.perf_counter()
    hits = await index.search(terms, scope=SCOPE, where=None, limit=DEPTH) if terms else []
    return _Answer(hits, (time.perf_counter() - started) * 1000)


def _ids(ranking: Ranking) -> list[str]:
    return [name for name, _ in ranking]


def _median_ms(answers: Iterable[_Answer]) -> float:
    return statistics.median(answer.took_ms for answer in answers)


def _row(doc_id: str, text: str) -> TextRow:
    fields = {**dict.fromkeys(FIELDS), "tags": (), "tenant": SCOPE.tenant}
    return TextRow(
        row=IndexRow(chunk_id=doc_id, version=1, fields=fields), terms=document_terms(text)
    )


def _close(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


@asynccontextmanager
async def _both(url: str) -> AsyncIterator[tuple[TextIndex, TextIndex]]:
    """Empty ones: embedded and server."""
    from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
    from cluster.stores.elasticsearch.replacement import removed
    from cluster.stores.tantivy.index import TantivyTextIndex

    name = f"palimpsest-swap-{uuid.uuid4().hex[:8]}"
    settings = TextIndexSettings(backend="elasticsearch", url=url, index=name, timeout_s=60.0)
    with tempfile.TemporaryDirectory() as folder:
        embedded = await asyncio.to_thread(TantivyTextIndex.open, Path(folder))
        server = await ElasticsearchTextIndex.open(settings)
        try:
            yield embedded, server
        finally:
            await server.close()
            await embedded.close()
            await removed(settings)


async def _main(folders: Sequence[Path], *, url: str, questions: int) -> bool:
    share = -(-questions // len(folders))
    right = True
    for folder in folders:
        async with _both(url) as (embedded, server):
            swap = await compare_text(read_set(folder), embedded, server, questions=share)
        print(
            f"{swap.dataset}: {swap.rows} rows, {swap.questions} questions, top {DEPTH}: "
            f"{swap.questions - len(swap.differing)} equal up to ties, {swap.same_order} in the "
            f"very same order; largest difference of a score {swap.largest_difference:.1e}; "
            f"median {swap.ms[0]:.1f} ms embedded, {swap.ms[1]:.1f} ms server"
        )
        if swap.differing:
            print(f"  differing: {', '.join(swap.differing)}")
        right = right and not swap.differing
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--elasticsearch", required=True, metavar="URL")
    parser.add_argument("--questions", type=int, default=500, help="of all sets together")
    chosen = parser.parse_args()
    sys.exit(
        not asyncio.run(_main(chosen.sets, url=chosen.elasticsearch, questions=chosen.questions))
    )


if __name__ == "__main__":
    main()
