"""Runs, uploads and keys in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from cluster.model import (
    ApiKey,
    ItemProblem,
    Run,
)


class Runs(Protocol):
    async def start(self, run: Run) -> None: ...

    async def update(
        self,
        run_id: str,
        *,
        state: str,
        counts: Mapping[str, int],
        now: datetime,
        error: str | None = None,
    ) -> None:
        """Counts replace those of the same stage. `finished_at` is set by a final state."""
        ...

    async def interrupt(self, run_id: str, *, now: datetime, error: str) -> bool:
        """End as `interrupted` a run that is `running`; whether it was. Its counts stay."""
        ...

    async def add_problems(self, run_id: str, problems: Sequence[ItemProblem]) -> None:
        """Idempotent by (run, origin, stage)."""
        ...

    async def get(self, tenant: str, run_id: str) -> tuple[Run, list[ItemProblem]]: ...

    async def latest(self, tenant: str, *, limit: int) -> list[Run]:
        """Latest first."""
        ...


class Uploads(Protocol):
    """Bytes that wait for the ingest worker."""

    async def put(
        self,
        run_id: str,
        tenant: str,
        *,
        name: str,
        media_type: str | None,
        content: bytes,
        arguments: Mapping[str, str],
    ) -> None: ...

    async def get(self, run_id: str) -> tuple[str, str, str | None, bytes, dict[str, str]]:
        """tenant, name, media type, content, arguments. `NotFound` when it is gone."""
        ...

    async def waiting(self) -> list[str]:
        """Run ids, oldest first."""
        ...

    async def delete(self, run_id: str) -> None: ...


class Keys(Protocol):
    async def put(self, key: ApiKey, *, secret_sha256: str) -> None: ...

    async def find(self, secret_sha256: str) -> ApiKey | None:
        """The key that is not revoked."""
        ...

    async def all_of(self, tenant: str | None) -> list[ApiKey]: ...

    async def revoke(self, key_id: str, *, now: datetime) -> None:
        """Unknown id: `NotFound`."""
        ...
