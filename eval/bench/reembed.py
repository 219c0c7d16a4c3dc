"""Is everything answered, by one generation each, while all is encoded anew?

    python -m eval.bench.reembed [--chunks 20000] [--clients 5] -- --hashing-dim 256

What follows `--` goes to `palimpsest reembed`. Needs the local stack (`palimpsest up`). Clients
ask over HTTP while it encodes, switches, and goes back again. An answer is mixed when the
semantic ranking in it is not the one that the generation named in it gives, asked directly.
The former generation is the active one afterwards, as before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx

from cluster.model import Scope
from cluster.models.open import open_generation
from cluster.settings import Settings, load_settings
from cluster.stores.open import open_ledger, open_vector_index
from cluster.stores.protocols import HeldGeneration
from cluster.text.languages import detect_language
from eval.bench.corpus import sentence
from eval.bench.prepare import ingest_made_up, new_reader_key, visible_chunks

TENANT = "bench-reembed"
QUESTIONS = 60
TOP = 10
NEAR_S = 2.0
AFTER_S = 4.0
"""Clients go on so long after each step."""

Rankings = Mapping[str, Mapping[str, Sequence[str]]]
"""Fingerprint -> question -> chunk ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question of one client. `at` counts from the start; `error` is empty for an answer."""

    question: str
    at: float
    took_s: float
    generation: str = ""
    ranking: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    error: str = ""


async def ask(client: httpx.AsyncClient, question: str, *, began: float) -> Asked:
    started = time.perf_counter()
    error, body = "", {}
    try:
        answer = await client.post("/v1/search", json={"query": question, "explain": True})
        body = answer.json()
        error = "" if answer.status_code == httpx.codes.OK else f"{answer.status_code} {body}"
    except httpx.HTTPError as failed:
        error = f"{type(failed).__name__} {failed}"
    now = time.perf_counter()
    if error:
        return Asked(question=question, at=now - began, took_s=now - started, error=error)
    return Asked(
        question=question,
        at=now - began,
        took_s=now - started,
        generation=body["generation"],
        ranking=tuple(body["explanation"]["rankings"].get("semantic", ())[:TOP]),
        partial=tuple(f"{one['channel']}: {one['reason']}" for one in body["failures"]),
    )


class Clients:
    """So many, each asking one question after the other."""

    def __init__(self, client: httpx.AsyncClient, questions: Sequence[str], *, count: int) -> None:
        self._client, self._questions, self._count = client, questions, count
        self._began = time.perf_counter()
        self._stop = asyncio.Event()
        self.answers: list[Asked] = []

    def now(self) -> float:
        return time.perf_counter() - self._began

    async def run(self) -> None:
        await asyncio.gather(*(self._one(number) for number in range(self._count)))

    def stop(self) -> None:
        self._stop.set()

    async def _one(self, number: int) -> None:
        rng = random.Random(number)  # noqa: S311  # repeatable
        while not self._stop.is_set():
            question = rng.choice(self._questions)
            self.answers.append(await ask(self._client, question, began=self._began))


async def command(*arguments: str) -> dict[str, object]:
    """`palimpsest reembed …`, as a person calls it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cli", "reembed", *arguments, "--json", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"palimpsest reembed {' '.join(arguments)}: exit {process.returncode}")
    told: dict[str, object] = json.loads(out)
    return told


async def generations(settings: Settings) -> list[HeldGeneration]:
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            return await tx.generations.live()
    finally:
        await ledger.close()


async def direct(settings: Settings, questions: Sequence[str]) -> Rankings:
    """What each live generation's index gives for each question, by its own encoder."""
    found: dict[str, dict[str, Sequence[str]]] = {}
    for held in await generations(settings):
        embedder = open_generation(held.generation, settings)
        languages = [detect_language(one) for one in questions]
        vectors = embedder.embed_queries(questions, languages=languages)
        index = await open_vector_index(settings, held.generation)
        try:
            for question, vector in zip(questions, vectors, strict=True):
                hits = await index.search(vector, scope=Scope(tenant=TENANT), where=None, limit=TOP)
                ranking = [chunk for chunk, _ in hits]
                found.setdefault(held.fingerprint, {})[question] = ranking
        finally:
            await index.close()
    return found


def is_mixed(asked: Asked, rankings: Rankings) -> bool:
    """Nearer to another generation than to the one that it names, or far from that."""
    own = shared(asked.ranking, rankings[asked.generation][asked.question])
    others = [
        shared(asked.ranking, one[asked.question])
        for name, one in rankings.items()
        if name != asked.generation
    ]
    return own < TOP - 2 or any(other > own for other in others)


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    return len(set(one) & set(other))


def report(answers: Sequence[Asked], rankings: Rankings, *, marks: Mapping[str, float]) -> None:
    good = [one for one in answers if not one.error]
    latencies = sorted(one.took_s * 1000 for one in good)
    mixed = sum(is_mixed(one, rankings) for one in good if one.ranking)
    apart = statistics.mean(
        shared(*(one[question] for one in rankings.values()))
        for question in next(iter(rankings.values()))
    )
    partial = sum(bool(one.partial) for one in good)
    print(
        f"answers {len(good):,}, failed {len(answers) - len(good)}, partial {partial}, "
        f"mixed generations {mixed}"
    )
    p50, p95 = statistics.median(latencies), latencies[int(0.95 * len(latencies))]
    print(f"latency p50 {p50:.0f} ms, p95 {p95:.0f} ms, max {latencies[-1]:.0f} ms")
    print(f"the two generations share {apart:.1f} of {TOP} neighbours")
    since = 0.0
    for name, at in marks.items():
        part = [one for one in good if since <= one.at < at + AFTER_S]
        print(f"{name}: {handover(part)}")
        since = at + AFTER_S
    for why, count in Counter(why for one in good for why in one.partial).most_common(5):
        print(f"  partial {count} times: {why[:200]}")
    for one in [one for one in answers if one.error][:5]:
        print(f"  failed at {one.at:.1f} s: {one.error[:200]}")


def handover(answers: Sequence[Asked]) -> str:
    """The moments around a switch, as clients saw them."""
    if not answers:
        return "no answers"
    ordered = sorted(answers, key=lambda one: one.at)
    former, latter = ordered[0].generation, ordered[-1].generation
    last = max(one.at for one in ordered if one.generation == former)
    first = min(one.at for one in ordered if one.generation == latter)
    slowest = max(one.took_s for one in ordered if abs(one.at - first) < NEAR_S) * 1000
    return (
        f"{former} -> {latter} at {first:.1f} s; the last answer of the former "
        f"{last - first:+.2f} s after the first of the latter, the slowest within 2 s of it "
        f"{slowest:.0f} ms"
    )


async def bench(settings: Settings, *, clients: int, arguments: Sequence[str]) -> None:
    key = await new_reader_key(settings, tenant=TENANT)
    rng = random.Random("reembed")  # noqa: S311  # repeatable
    questions = [
        sentence(rng, language="zh" if number % 2 else "en", words=8) for number in range(QUESTIONS)
    ]
    url = f"http://{settings.serve.host}:{settings.serve.port}"
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        asking = Clients(client, questions, count=clients)
        for question in questions:
            await ask(client, question, began=time.perf_counter())
        running = asyncio.create_task(asking.run())
        marks: dict[str, float] = {}
        try:
            await asyncio.sleep(AFTER_S)
            started = asking.now()
            outcome = await command(*arguments)
            marks["switched"] = asking.now()
            print(f"re-embedded in {marks['switched'] - started:.1f} s: {outcome}")
            await asyncio.sleep(AFTER_S)
            back = await command("--roll-back")
            marks["went back"] = asking.now()
            print(f"went back: {back}")
            await asyncio.sleep(AFTER_S)
        finally:
            asking.stop()
            with suppress(asyncio.CancelledError):
                await running
    report(asking.answers, await direct(settings, questions), marks=marks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("arguments", nargs="*", help="for `palimpsest reembed`")
    arguments = parser.parse_args()
    settings = load_settings()
    if asyncio.run(visible_chunks(settings, tenant=TENANT)) < arguments.chunks:
        ingest_made_up(settings, tenant=TENANT, count=arguments.chunks, words=24, salt="reembed")
    asyncio.run(bench(settings, clients=arguments.clients, arguments=arguments.arguments))


if __name__ == "__main__":
    main()
