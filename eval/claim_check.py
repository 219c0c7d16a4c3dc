"""How many claims of known truth does `POST /v1/verify` judge right?

    python -m eval.claim_check [--data ../shared/data/versioned_docs] [--count 300] [--seed N]

The pages are ingested into a tenant of their own. Each run makes new claims; its seed is told, so
that it can be done again. A wrong claim that is called supported is worse than any other error
and counted apart. Needs the local stack (`palimpsest up`); asks over HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from cluster.settings import Settings, load_settings
from eval.bench.prepare import new_reader_key
from eval.claim_facts import read_facts
from eval.claims import EXPECTED, KINDS, Claim, make_claims
from eval.datasets import read_lines
from eval.sets import Corpus
from eval.take_in import take_in

AT_ONCE = 10
DEADLINE_MS = 60_000
GOAL = 0.95
NEVER_SUPPORTED = ("wrong_number", "wrong_version")

Verdicts = Sequence[str]
"""What was answered to each claim, in their order."""


def corpus_of(folder: Path, *, projects: Sequence[str]) -> Corpus:
    """The pages of these projects; of all when none is named."""
    lines = tuple(
        page
        for _, page in read_lines(folder / "docs.jsonl")
        if not projects or page["project"] in projects
    )
    name = "-".join(("claims", *sorted(projects)))
    return Corpus(name=name, file=folder / "docs.jsonl", documents=len(lines), lines=lines)


async def ask(claims: Sequence[Claim], settings: Settings, *, tenant: str) -> list[str]:
    key = await new_reader_key(settings, tenant=tenant)
    url = f"http://{settings.serve.host}:{settings.serve.port}"
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=90) as client:
        return [
            verdict
            for start in range(0, len(claims), AT_ONCE)
            for verdict in await _verdicts(client, claims[start : start + AT_ONCE])
        ]


async def _verdicts(client: httpx.AsyncClient, claims: Sequence[Claim]) -> list[str]:
    body = {"claims": [claim.text for claim in claims], "deadline_ms": DEADLINE_MS}
    answer = await client.post("/v1/verify", json=body)
    answer.raise_for_status()
    return [str(each["verdict"]).replace(" ", "_") for each in answer.json()["results"]]


def right_share(claims: Sequence[Claim], verdicts: Verdicts) -> float:
    right = sum(claim.expected == verdict for claim, verdict in zip(claims, verdicts, strict=True))
    return right / len(claims) if claims else 0.0


def wrongly_supported(claims: Sequence[Claim], verdicts: Verdicts) -> Mapping[str, int]:
    """Kind -> how many claims that do not hold were called supported."""
    return Counter(
        claim.kind
        for claim, verdict in zip(claims, verdicts, strict=True)
        if verdict == "supported" != claim.expected
    )


def table_of(claims: Sequence[Claim], verdicts: Verdicts) -> Table:
    """Verdicts by kind and language."""
    names = sorted({*EXPECTED.values(), *verdicts})
    counts = Counter(
        (claim.kind, claim.language, verdict)
        for claim, verdict in zip(claims, verdicts, strict=True)
    )
    table = Table(box=None, padding=(0, 2))
    for heading in ("kind", "language", "expected", *names, "right"):
        table.add_column(heading)
    for kind in KINDS:
        for language in ("en", "zh"):
            row = {name: counts[kind, language, name] for name in names}
            share = row[EXPECTED[kind]] / max(1, sum(row.values()))
            table.add_row(
                kind, language, EXPECTED[kind], *(str(row[name]) for name in names), f"{share:.1%}"
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/versioned_docs"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--project", action="append", default=[], help="only pages of these")
    parser.add_argument("--show", type=int, default=10, help="errors to show")
    parser.add_argument("--write", type=Path, help="claims and verdicts, one a line")
    parser.add_argument("--only-make", action="store_true", help="print the claims; ask nothing")
    arguments = parser.parse_args()
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    facts = read_facts(arguments.data, projects=arguments.project)
    claims = make_claims(facts, count=arguments.count, seed=seed)
    if arguments.only_make:
        for claim in claims:
            print(json.dumps(asdict(claim), ensure_ascii=False))
        return
    settings = load_settings()
    corpus = corpus_of(arguments.data, projects=arguments.project)
    take_in(corpus, settings)
    verdicts = asyncio.run(ask(claims, settings, tenant=corpus.tenant))
    _report(claims, verdicts, seed=seed, show=arguments.show)
    if arguments.write:
        _write(arguments.write, claims, verdicts)
    bad = wrongly_supported(claims, verdicts)
    if right_share(claims, verdicts) < GOAL or any(bad[kind] for kind in NEVER_SUPPORTED):
        raise SystemExit(1)


def _report(claims: Sequence[Claim], verdicts: Verdicts, *, seed: int, show: int) -> None:
    console = Console()
    console.print(table_of(claims, verdicts))
    share = right_share(claims, verdicts)
    console.print(f"seed {seed}: {share:.1%} of {len(claims)} claims right")
    told = ", ".join(f"{kind} {n}" for kind, n in wrongly_supported(claims, verdicts).items())
    console.print(f"wrongly called supported: {told or 'none'}")
    errors = [
        (claim, verdict)
        for claim, verdict in zip(claims, verdicts, strict=True)
        if verdict != claim.expected
    ]
    for claim, verdict in errors[:show]:
        console.print(f"  {claim.kind}, said {verdict}: {claim.text}", markup=False)


def _write(path: Path, claims: Sequence[Claim], verdicts: Verdicts) -> None:
    with path.open("w", encoding="utf-8") as file:
        for claim, verdict in zip(claims, verdicts, strict=True):
            file.write(json.dumps({**asdict(claim), "verdict": verdict}, ensure_ascii=False))
            file.write("\n")


if __name__ == "__main__":
    main()
