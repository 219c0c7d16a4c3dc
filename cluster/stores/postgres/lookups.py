"""Finding by names, sessions and neighbours in PostgreSQL; `cluster.stores.protocols.Lookups`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cluster.errors import InvalidRequest
from cluster.filters import Filter, scoped
from cluster.model import Scope
from cluster.stores.checks import require, require_limit, storable
from cluster.stores.names import ranges_of
from cluster.stores.postgres.filters import render
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols.lookups import Beside, Named


class PostgresLookups:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "lookups")

    async def headed(
        self, scope: Scope, names: Sequence[str], *, where: Filter | None, limit: int
    ) -> list[Named]:
        return await self._named("headed", scope, names, where=where, limit=limit)

    async def titled(
        self, scope: Scope, names: Sequence[str], *, where: Filter | None, limit: int
    ) -> list[Named]:
        return await self._named("titled", scope, names, where=where, limit=limit)

    async def turns(
        self, scope: Scope, session: str, *, where: Filter | None, limit: int
    ) -> list[str]:
        if not storable(session):
            return []
        asked: dict[str, object] = {"session": session, "limit": require_limit(limit)}
        return [row[0] for row in await self._rows("turns", scope, asked, where=where)]

    async def around(
        self,
        scope: Scope,
        chunk_ids: Sequence[str],
        *,
        where: Filter | None,
        before: int,
        after: int,
    ) -> list[Beside]:
        if before < 0 or after < 0:
            raise InvalidRequest(f"before {before}, after {after}: neither may be negative")
        ids = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        asked: dict[str, object] = {"ids": ids, "before": before, "after": after}
        return [
            Beside(seed=seed, chunk_id=chunk_id, distance=distance)
            for seed, chunk_id, distance in await self._rows("around", scope, asked, where=where)
        ]

    async def _named(
        self,
        statement: str,
        scope: Scope,
        names: Sequence[str],
        *,
        where: Filter | None,
        limit: int,
    ) -> list[Named]:
        kept = [one for one in require(names, "names") if one and storable(one)]
        ranges = ranges_of(kept)
        asked: dict[str, object] = {
            "names": [name for name, _, _ in ranges],
            "lows": [low for _, low, _ in ranges],
            "highs": [high for _, _, high in ranges],
            "tags": kept,
            "limit": require_limit(limit),
        }
        return [
            Named(id=found, name=name, whole=whole)
            for found, name, whole in await self._rows(statement, scope, asked, where=where)
        ]

    async def _rows(
        self, statement: str, scope: Scope, asked: dict[str, object], *, where: Filter | None
    ) -> list[tuple[Any, ...]]:
        condition, values = render(scoped(scope, where))
        return await self._sql.rows(
            statement, {**asked, **values, "tenant": scope.tenant}, where=condition
        )
