"""The key of whoever owns the data directory, so that a first search needs no set-up."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from cluster.stores.protocols import Ledger
from serve.secret import new_key, secret_digest

NAME = "local"


async def ensure_local_key(ledger: Ledger, *, path: Path, tenant: str, now: datetime) -> None:
    """The file at `path` (mode 0600) holds a valid admin key of `tenant` afterwards. One that
    is there and valid stays; one that the ledger does not know, or that is another tenant's or
    reaches less far, is replaced."""
    secret = _read(path)
    async with ledger.transaction() as tx:
        found = await tx.keys.find(secret_digest(secret)) if secret else None
        if found is not None and (found.tenant, found.role) == (tenant, "admin"):
            return
        secret, key = new_key(tenant=tenant, role="admin", name=NAME, now=now)
        await tx.keys.put(key, secret_sha256=secret_digest(secret))
    _write(path, secret)


def _read(path: Path) -> str | None:
    return path.read_text(encoding="ascii").strip() if path.is_file() else None


def _write(path: Path, secret: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    trial = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secret + "\n")
    trial.replace(path)
