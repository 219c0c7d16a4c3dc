"""How long does a question take over HTTP, stage by stage, at 1, 8 and 32 clients?

    python -m eval.bench.query [--chunks 20000] [--questions 200] [--turns 600]

Needs the local stack (`palimpsest up`). Ingests made-up passages, and one conversation of
`--turns` turns, once, into the tenants `bench-query` and `bench-turns`. No question is asked
twice, so that no kept answer helps. Prints medians and 95th percentiles: this says how the parts
of one run compare, not how fast a machine is.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from cluster.settings import Settings, load_settings
from eval.bench.corpus import sentence
from eval.bench.prepare import (
    ingest_conversation,
    ingest_made_up,
    new_reader_key,
    visible_chunks,
)

TENANT = "bench-query"
TURNS_TENANT = "bench-turns"
CLIENTS = (1, 8, 32)
WARM_UP = 40


@dataclass(slots=True)
class Load:
    """What came of one load: milliseconds, and by stage; `partial` answers lacked something,
    by whom it was."""

    latencies: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    partial: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    rate: float = 0.0


async def load(
    client: httpx.AsyncClient,
    questions: Sequence[str],
    *,
    clients: int,
    body: Mapping[str, Any] | None = None,
) -> Load:
    waiting = list(questions)
    found = Load()

    async def one_client() -> None:
        while waiting:
            asked = {"query": waiting.pop(), "deadline_ms": 30_000, **(body or {})}
            started = time.perf_counter()
            answer = await client.post("/v1/search", json=asked)
            found.latencies.append((time.perf_counter() - started) * 1000)
            answer.raise_for_status()
            _note(found, answer.json())

    started = time.perf_counter()
    await asyncio.gather(*(one_client() for _ in range(clients)))
    found.rate = len(found.latencies) / (time.perf_counter() - started)
    return found


def _note(found: Load, answer: Mapping[str, Any]) -> None:
    for stage, spent in answer["timings_ms"].items():
        found.stages[stage].append(spent)
    for failure in answer["failures"]:
        found.partial[failure["channel"]] += 1


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def questions_of(*, count: int, salt: str) -> list[str]:
    rng = random.Random(salt)  # noqa: S311  # repeatable
    return [
        sentence(rng, language="zh" if number % 2 else "en", words=7) for number in range(count)
    ]


def table_of(loads: Mapping[int, Load]) -> Table:
    """Median / 95th percentile of each stage, at each number of clients."""
    stages = sorted({stage for found in loads.values() for stage in found.stages})
    table = Table(box=None, padding=(0, 2), title="p50 / p95, ms", title_justify="left")
    table.add_column("")
    for clients in loads:
        table.add_column(f"{clients} client{'s' if clients > 1 else ''}", justify="right")
    table.add_row("over HTTP", *(_spent(found.latencies) for found in loads.values()))
    for stage in stages:
        table.add_row(stage, *(_spent(found.stages.get(stage, [])) for found in loads.values()))
    table.add_row("answers/s", *(f"{found.rate:.1f}" for found in loads.values()))
    table.add_row("partial", *(_missing(found) for found in loads.values()))
    return table


def _spent(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} / {percentile(values, 0.95):.1f}" if values else "–"


def _missing(found: Load) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(found.partial.items())) or "none"


async def bench(settings: Settings, *, questions: int, turns: int, salt: str) -> None:
    console = Console()
    loads: dict[int, Load] = {}
    async with await _client(settings, tenant=TENANT) as client:
        await load(client, questions_of(count=WARM_UP, salt=f"{salt}-warm"), clients=1)
        for clients in CLIENTS:
            texts = questions_of(count=questions, salt=f"{salt}-{clients}")
            loads[clients] = await load(client, texts, clients=clients)
    console.print(table_of(loads))
    slowest = max(
        statistics.median(values)
        for stage, values in loads[1].stages.items()
        if stage.startswith("channel:")
    )
    whole = statistics.median(loads[1].latencies)
    console.print(f"one client: whole − slowest channel = {whole - slowest:.1f} ms")
    if turns:
        async with await _client(settings, tenant=TURNS_TENANT) as client:
            inside = {"filter": {"conversation": f"bench-{turns}"}}
            texts = questions_of(count=max(20, questions // 4), salt=f"{salt}-turns")
            found = await load(client, texts, clients=1, body=inside)
        console.print(f"inside a conversation of {turns:,} turns")
        console.print(table_of({1: found}))


async def _client(settings: Settings, *, tenant: str) -> httpx.AsyncClient:
    key = await new_reader_key(settings, tenant=tenant)
    return httpx.AsyncClient(
        base_url=f"http://{settings.serve.host}:{settings.serve.port}",
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=600, help="0: no conversation")
    parser.add_argument("--salt", default=None, help="of the questions; new each time")
    arguments = parser.parse_args()
    settings = load_settings()
    if asyncio.run(visible_chunks(settings, tenant=TENANT)) < arguments.chunks:
        ingest_made_up(settings, tenant=TENANT, count=arguments.chunks, words=24, salt="query")
    if arguments.turns:
        ingest_conversation(settings, tenant=TURNS_TENANT, turns=arguments.turns)
    salt = arguments.salt or secrets.token_hex(4)
    asyncio.run(bench(settings, questions=arguments.questions, turns=arguments.turns, salt=salt))


if __name__ == "__main__":
    main()
