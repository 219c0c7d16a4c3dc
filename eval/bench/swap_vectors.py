"""Does it matter which vector index is behind the seam? Milvus Lite and a server, compared.

    python -m eval.bench.swap_vectors SET… --lite http://127.0.0.1:8732 \
        --milvus http://127.0.0.1:19530 [--questions 500] [--hashing]

The documents of all SETs go whole into a new collection of an Milvus Lite server and of
the other one, each as the product makes it (exact scan, HNSW); both are removed again. Exits with
1 when the mean overlap of the first ten is below 0.99.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cluster.filters import FIELDS
from cluster.model import Generation, IndexRow, Scope, Vectors
from cluster.models.open import open_embedder
from cluster.settings import EncoderSettings, MilvusSettings, Settings
from cluster.stores.milvus.collections import MilvusCollections
from cluster.stores.milvus.index import MilvusVectorIndex
from cluster.stores.protocols import VectorIndex, VectorRow
from eval.datasets import read_set, sample

WANTED = 0.99
DEPTH = 10
SCOPE = Scope(tenant="swap")
BATCH_ROWS = 1000
LOOKS = 100
PAUSE_S = 0.2


async def fill(index: VectorIndex, names: Sequence[str], vectors: Vectors) -> list[float]:
    """Milliseconds of each write of 1,000 rows; returns when searches find all."""
    took = []
    fields = {**dict.fromkeys(FIELDS), "tags": (), "tenant": SCOPE.tenant}
    rows = [
        VectorRow(row=IndexRow(chunk_id=name, version=1, fields=fields), vector=vector)
        for name, vector in zip(names, vectors, strict=True)
    ]
    for start in range(0, len(rows), BATCH_ROWS):
        began = time.perf_counter()
        await index.upsert(rows[start : start + BATCH_ROWS])
        took.append((time.perf_counter() - began) * 1000)
    await index.flush()
    for _ in range(LOOKS):
        if len(await index.versions(names)) == len(names):
            break
        await asyncio.sleep(PAUSE_S)
    return took


async def ask(index: VectorIndex, questions: Vectors) -> tuple[list[set[str]], float]:
    """The first ten of each question, and the median in milliseconds."""
    found, took = [], []
    for vector in questions:
        began = time.perf_counter()
        hits = await index.search(vector, scope=SCOPE, where=None, limit=DEPTH)
        took.append((time.perf_counter() - began) * 1000)
        found.append({name for name, _ in hits})
    return found, statistics.median(took)


def overlap(left: Sequence[set[str]], right: Sequence[set[str]]) -> list[float]:
    """Of each question, the share of the first ten that both have."""
    return [len(one & other) / max(1, len(one)) for one, other in zip(left, right, strict=True)]


async def compare(
    uris: tuple[str, str], names: Sequence[str], documents: Vectors, questions: Vectors
) -> float:
    answers = []
    generation = Generation(
        fingerprint=f"swap-{uuid.uuid4().hex}", dim=documents.shape[1], recipe={}
    )
    for uri in uris:
        settings = MilvusSettings(timeout_s=60.0)
        index = await MilvusVectorIndex.open(
            uri, token=None, generation=generation, settings=settings
        )
        try:
            writes = await fill(index, names, documents)
            found, median_ms = await ask(index, questions)
        finally:
            await index.close()
            await MilvusCollections(uri=uri, token=None, settings=settings).drop([generation])
        answers.append(found)
        print(
            f"{uri}: {len(names)} rows; medians: a write of {BATCH_ROWS} rows "
            f"{statistics.median(writes):.0f} ms, a search {median_ms:.1f} ms"
        )
    shares = overlap(*answers)
    print(
        f"{len(shares)} questions: mean overlap of the first {DEPTH} "
        f"{statistics.mean(shares):.4f}, {sum(share == 1 for share in shares)} the same, "
        f"lowest {min(shares):.1f}"
    )
    return statistics.mean(shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--milvus", required=True, metavar="URI")
    parser.add_argument("--lite", required=True, metavar="URI", help="of a Milvus Lite server")
    parser.add_argument("--questions", type=int, default=500, help="of all sets together")
    parser.add_argument("--hashing", action="store_true", help="without the encoder: quick")
    chosen = parser.parse_args()
    encoder = EncoderSettings(backend="hashing" if chosen.hashing else "auto")
    embedder = open_embedder(Settings(encoder=encoder))
    found = [read_set(folder) for folder in chosen.sets]
    share = -(-chosen.questions // len(found))
    texts = [document.full_text for one in found for document in one.documents]
    names = [f"{one.name}-{document.doc_id}"[:120] for one in found for document in one.documents]
    asked = [query.text for one in found for query in sample(one.queries, limit=share)]
    documents = np.vstack(
        [embedder.embed_documents([text[:2000]], languages=["und"]) for text in texts]
    )
    questions = np.vstack([embedder.embed_queries([text], languages=["und"]) for text in asked])
    mean = asyncio.run(compare((chosen.lite, chosen.milvus), names, documents, questions))
    sys.exit(mean < WANTED)


if __name__ == "__main__":
    main()
