"""Write `schema_000N.sql`: a database as this version makes it, with a few rows in every table.

`cd tests && python -m golden.dump`, once for each new migration, before it is released; a dump
is never written anew.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from cluster.settings import PostgresSettings
from cluster.stack.postgres_process import program
from cluster.stores.postgres.ledger import PostgresLedger
from cluster.stores.postgres.migrate import known_migrations, migrate
from golden.content import fill
from servers.postgres import postgres

FOLDER = Path(__file__).parent
NOT_ON_OLD_SERVERS = ("SET transaction_timeout", "\\restrict", "\\unrestrict")


def main() -> None:
    number = max(migration.version for migration in known_migrations())
    target = FOLDER / f"schema_{number:04}.sql"
    if target.exists():
        sys.exit(f"{target} is there; what was released is not written anew")
    with postgres() as url:
        asyncio.run(_fill(url))
        target.write_text(_dumped(url), encoding="utf-8")
    sys.stdout.write(f"{target}\n")


async def _fill(url: str) -> None:
    await migrate(url, PostgresSettings(), finish=True)
    ledger = await PostgresLedger.open(url, PostgresSettings())
    await fill(ledger)
    await ledger.close()


def _dumped(url: str) -> str:
    command = [str(program("pg_dump")), "--inserts", "--no-owner", "--no-privileges", url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept = [line for line in done.stdout.splitlines() if not line.startswith(NOT_ON_OLD_SERVERS)]
    return "\n".join(kept) + "\n"


if __name__ == "__main__":
    main()
