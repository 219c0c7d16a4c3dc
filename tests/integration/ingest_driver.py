"""A driver to be killed: `python ingest_driver.py POSTGRES_URL RAY_ADDRESS HOME FOLDER`.

Runs one ingest on Ray and prints its counts.
"""

from __future__ import annotations

import json
import sys

from ingesting import ray_settings

from ingest.open import open_surroundings
from ingest.progress import Silent
from ingest.run import Request, ingest


def main(postgres_url: str, ray_address: str, home: str, folder: str) -> None:
    settings = ray_settings(postgres_url=postgres_url, address=ray_address, home=home)
    with open_surroundings(settings, wait_until_visible=False) as surroundings:
        summary = ingest(Request(targets=(folder,), tenant="acme"), surroundings, Silent())
    sys.stdout.write(json.dumps(dict(summary.counts)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
