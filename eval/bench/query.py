"""How long does a question take over HTTP, stage by stage, at 1, 8 and 32 clients?

    python -m eval.bench.query [--chunks 20000] [--questions 200]

Needs the local stack (`palimpsest up`). Ingests made-up passages once, into the
tenant `bench-query`.
Prints medians and ratios: this says how the parts of one run compare, not how fast a machine is.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import httpx

from cluster.settings import Settings, load_settings
from eval.bench.corpus import sentence
from eval.bench.prepare import ingest_made_up, new_reader_key, visible_chunks

TENANT = "bench-query"


async def ask(client: httpx.AsyncClient, question: str) -> tuple[float, Mapping[str, float], bool]:
    """Milliseconds, stage timings, and whether a channel was missing."""
    started = time.perf_counter()
    answer = await client.post("/v1/search", json={"query": question, "deadline_ms": 30_000})
    took_ms = (time.perf_counter() - started) * 1000
    answer.raise_for_status()
    body = answer.json()
    return took_ms, body["timings_ms"], bool(body["failures"])


async def load(
    client: httpx.AsyncClient, questions: Sequence[str], *, clients: int
) -> tuple[list[float], dict[str, list[float]], float, float]:
    """Latencies in ms, stage timings in ms, answers per second, share of partial answers."""
    waiting = list(questions)
    latencies: list[float] = []
    stages: dict[str, list[float]] = defaultdict(list)
    partial = 0

    async def one_client() -> None:
        nonlocal partial
        while waiting:
            took_ms, timings, missing = await ask(client, waiting.pop())
            partial += missing
            latencies.append(took_ms)
            for stage, spent in timings.items():
                stages[stage].append(spent)

    started = time.perf_counter()
    await asyncio.gather(*(one_client() for _ in range(clients)))
    rate = len(latencies) / (time.perf_counter() - started)
    return latencies, stages, rate, partial / len(latencies)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def bench(settings: Settings, *, questions: int) -> None:
    key = await new_reader_key(settings, tenant=TENANT)
    rng = random.Random("questions")  # noqa: S311  # repeatable
    texts = [
        sentence(rng, language="zh" if number % 2 else "en", words=7) for number in range(questions)
    ]
    url = f"http://{settings.serve.host}:{settings.serve.port}"
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        await load(client, texts[:40], clients=1)  # warm up
        for clients in (1, 8, 32):
            latencies, stages, rate, partial = await load(client, texts, clients=clients)
            p50, p95 = statistics.median(latencies), percentile(latencies, 0.95)
            print(
                f"{clients:>3} clients: p50 {p50:6.1f} ms  p95 {p95:6.1f} ms  {rate:5.1f} answers/s"
                f"  {partial:4.0%} partial"
            )
            if clients == 1:
                report(stages, p50)


def report(stages: Mapping[str, Sequence[float]], p50: float) -> None:
    medians = {stage: statistics.median(values) for stage, values in sorted(stages.items())}
    for stage, median in medians.items():
        print(f"      {stage:<20} p50 {median:6.1f} ms  share of the whole {median / p50:5.2f}")
    slowest = max(value for stage, value in medians.items() if stage.startswith("channel:"))
    print(f"      whole − slowest channel = {p50 - slowest:.1f} ms (ratio {p50 / slowest:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=200)
    arguments = parser.parse_args()
    settings = load_settings()
    if asyncio.run(visible_chunks(settings, tenant=TENANT)) < arguments.chunks:
        ingest_made_up(settings, tenant=TENANT, count=arguments.chunks, words=24, salt="query")
    asyncio.run(bench(settings, questions=arguments.questions))


if __name__ == "__main__":
    main()
