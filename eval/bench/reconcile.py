"""Does a comparison of the indexes with the ledger stay small however much there is to compare?

    PALIMPSEST_ENCODER__BACKEND=hashing PALIMPSEST_HOME=$(mktemp -d) python -m eval.bench.reconcile

Needs the local stack with the same settings (`palimpsest up`). Ingests made-up passages, ever
more of them, and compares after each in a process of its own; prints that one's peak memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from datetime import timedelta

from cluster.clock import SystemClock
from cluster.settings import Settings, load_settings
from cluster.stores.open import open_ledger
from eval.bench.prepare import ingest_made_up
from lifecycle.reconcile import reconcile
from lifecycle.sides import open_sides

TENANT = "bench-reconcile"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1_000, 50_000])
    parser.add_argument("--compare", action="store_true", help="compare once and tell as JSON")
    asked = parser.parse_args()
    settings = load_settings()
    if asked.compare:
        print(json.dumps(asyncio.run(compared(settings))))
        return
    for count in asked.chunks:
        ingest_made_up(settings, tenant=TENANT, count=count, words=48, salt=f"reconcile-{count}")
        done = subprocess.run(
            [sys.executable, "-m", "eval.bench.reconcile", "--compare"],
            check=True,
            capture_output=True,
            text=True,
        )
        told = json.loads(done.stdout)
        print(
            f"{told['wanted']:>7,} rows in the ledger: peak {told['peak_mb']:,.0f} MB "
            f"({told['before_mb']:,.0f} MB before), {told['took_s']:.1f} s, sound: {told['sound']}"
        )


async def compared(settings: Settings) -> dict[str, object]:
    ledger = await open_ledger(settings)
    try:
        async with open_sides(settings, ledger) as sides:
            before_mb = peak_mb()
            started = time.perf_counter()
            report = await reconcile(ledger, sides, SystemClock(), grace=timedelta(0))
            took_s = time.perf_counter() - started
    finally:
        await ledger.close()
    return {
        "wanted": report.wanted,
        "sound": report.sound,
        "took_s": took_s,
        "before_mb": before_mb,
        "peak_mb": peak_mb(),
    }


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
