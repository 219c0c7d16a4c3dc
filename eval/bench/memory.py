"""Does the driver of an ingest stay small however much there is to ingest?

    PALIMPSEST_ENCODER__BACKEND=hashing PALIMPSEST_HOME=$(mktemp -d) python -m eval.bench.memory

Needs the local stack with the same settings (`palimpsest up`). Ingests made-up passages, ever
more of them, and prints the peak memory of this process, which is the driver.
"""

from __future__ import annotations

import argparse
import resource

from cluster.settings import load_settings
from eval.bench.prepare import ingest_made_up

TENANT = "bench-memory"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1_000, 10_000, 50_000])
    settings = load_settings()
    for count in parser.parse_args().chunks:
        summary = ingest_made_up(
            settings, tenant=TENANT, count=count, words=48, salt=f"memory-{count}"
        )
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{summary.counts['chunks']:>7,} chunks: driver's peak so far {peak_mb:,.0f} MB")


if __name__ == "__main__":
    main()
