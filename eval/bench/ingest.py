"""How much of the bare encoder's rate does a whole ingest reach? In one run, on the same texts.

    python -m eval.bench.ingest [--chunks 5000] [--words 96]

Needs the local stack (`palimpsest up`). Ingests made-up passages that no cache can know into
the tenant `bench-ingest`, from the first byte until the last chunk can be found, then encodes
the same texts with nothing around. Prints rates and their ratio; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

from cluster.clock import SystemClock
from cluster.models.open import open_embedder
from cluster.settings import Settings, load_settings
from eval.bench.corpus import passages
from eval.bench.prepare import ingest_made_up
from ingest.progress import Silent

TENANT = "bench-ingest"
BATCH = 512


class Stopwatch(Silent):
    """Notes when the first chunks were written, so that start-up can be left out."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.first: tuple[float, int] | None = None

    def advanced(self, counts: Mapping[str, int]) -> None:
        if self.first is None and counts.get("chunks", 0):
            self.first = (time.perf_counter(), counts["chunks"])


def bench(settings: Settings, *, count: int, words: int) -> None:
    salt = f"ingest-{SystemClock().now():%Y%m%d%H%M%S}"
    watch = Stopwatch()
    summary = ingest_made_up(
        settings, tenant=TENANT, count=count, words=words, salt=salt, watching=watch
    )
    ended = time.perf_counter()
    chunks = summary.counts["chunks"]
    if watch.first is None or summary.counts["embedded"] != chunks:
        raise SystemExit(f"the texts were not all new: {dict(summary.counts)}")
    first_at, first_chunks = watch.first
    steady = (chunks - first_chunks) / (ended - first_at)
    print(f"ingest, from start to visible     {chunks / (ended - watch.began):6.1f} chunks/s")
    print(f"ingest, start-up left out         {steady:6.1f} chunks/s")
    bare = bare_rate(settings, count=count, words=words, salt=salt)
    print(f"bare encoder, the same texts      {bare:6.1f} chunks/s")
    print(f"ratio                             {steady / bare:6.2f}")


def bare_rate(settings: Settings, *, count: int, words: int, salt: str) -> float:
    """Chunks per second of `embed_documents` alone, warm."""
    records = list(passages(count=count, words=words, salt=salt))
    texts = [f"{record['title']}\n{record['text']}" for record in records]
    languages = [record["language"] for record in records]
    embedder = open_embedder(settings)
    embedder.embed_documents(texts[:32], languages=languages[:32])
    began = time.perf_counter()
    for at in range(0, len(texts), BATCH):
        embedder.embed_documents(texts[at : at + BATCH], languages=languages[at : at + BATCH])
    return len(texts) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=5000)
    parser.add_argument("--words", type=int, default=96)
    arguments = parser.parse_args()
    bench(load_settings(), count=arguments.chunks, words=arguments.words)


if __name__ == "__main__":
    main()
