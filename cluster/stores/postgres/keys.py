"""API keys in PostgreSQL; `cluster.stores.protocols.Keys`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cluster.errors import InvalidRequest, NotFound
from cluster.model import ApiKey
from cluster.stores.postgres.statements import Connection, Statements


class PostgresKeys:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "keys")

    async def put(self, key: ApiKey, *, secret_sha256: str) -> None:
        added = await self._sql.run(
            "put",
            {
                "key_id": key.key_id,
                "secret_sha256": secret_sha256,
                "tenant": key.tenant,
                "role": key.role,
                "name": key.name,
                "owner": key.owner,
                "agent": key.agent,
                "created_at": key.created_at,
                "revoked_at": key.revoked_at,
            },
        )
        if not added:
            raise InvalidRequest(f"key {key.key_id!r}: its id or its secret is already in use")

    async def find(self, secret_sha256: str) -> ApiKey | None:
        rows = await self._sql.rows("find", {"secret_sha256": secret_sha256})
        return _read_key(rows[0]) if rows else None

    async def all_of(self, tenant: str | None) -> list[ApiKey]:
        return [_read_key(row) for row in await self._sql.rows("all_of", {"tenant": tenant})]

    async def revoke(self, key_id: str, *, now: datetime) -> None:
        if not await self._sql.run("revoke", {"key_id": key_id, "now": now}):
            raise NotFound(f"no key {key_id!r}")


def _read_key(row: tuple[Any, ...]) -> ApiKey:
    return ApiKey(
        key_id=row[0],
        tenant=row[1],
        role=row[2],
        name=row[3],
        owner=row[4],
        agent=row[5],
        created_at=row[6],
        revoked_at=row[7],
    )
