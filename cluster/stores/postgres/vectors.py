"""Vectors by (key, encoder) in PostgreSQL; `cluster.stores.protocols.VectorCache`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster.model import Scope, Vector
from cluster.stores.checks import check_tokens, check_vector, require, require_limit, storable
from cluster.stores.postgres.generations import claim
from cluster.stores.postgres.rows import WIRE, read_vector
from cluster.stores.postgres.statements import Connection, Statements


class PostgresVectors:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sql = Statements(connection, "vectors")
        self._erasing = Statements(connection, "forgetting")

    async def known(self, text_digests: Sequence[str], *, fingerprint: str) -> set[str]:
        keys = list(require(text_digests, "text digests"))
        rows = await self._sql.rows("known", {"keys": keys, "fingerprint": fingerprint})
        return {row[0] for row in rows}

    async def get(self, text_digests: Sequence[str], *, fingerprint: str) -> dict[str, Vector]:
        keys = list(require(text_digests, "text digests"))
        rows = await self._sql.rows("get", {"keys": keys, "fingerprint": fingerprint})
        return {key: read_vector(raw) for key, raw in rows}

    async def put(
        self,
        vectors: Mapping[str, Vector],
        *,
        fingerprint: str,
        tokens: Mapping[str, bytes] | None = None,
    ) -> None:
        check_tokens(vectors, tokens or {})
        for key, vector in require(vectors, "vectors").items():
            check_vector(key, vector)
        await claim(self._connection, {fingerprint}, active=False)
        raws = [vector.astype(WIRE, copy=False).tobytes() for vector in vectors.values()]
        asked = {"keys": list(vectors), "fingerprint": fingerprint, "vectors": raws}
        if tokens:
            packed = [tokens.get(key) for key in vectors]
            await self._sql.run("put_with_tokens", {**asked, "tokens": packed})
        else:
            await self._sql.run("put", asked)

    async def tokens_of(
        self, scope: Scope, chunk_ids: Sequence[str], *, fingerprint: str
    ) -> dict[str, bytes]:
        ids = [one for one in require(chunk_ids, "chunk ids") if storable(one)]
        walls = {"tenant": scope.tenant, "owner": scope.owner}
        asked = {**walls, "ids": ids, "fingerprint": fingerprint}
        return dict(await self._sql.rows("tokens_of", asked))

    async def drop_unneeded(self, *, after: str, limit: int) -> tuple[int, str | None]:
        asked = {"after": after, "limit": require_limit(limit)}
        rows = await self._sql.rows("needed_after", asked)
        keys = sorted({key for key, needed in rows if not needed})
        dropped = 0
        if keys:
            # Locked, then asked again: a put that holds one is waited for, and then needs it.
            await self._erasing.rows("lock_vectors_by_key", {"keys": keys})
            dropped = await self._erasing.run("erase_unneeded_vectors", {"keys": keys})
        return dropped, rows[-1][0] if rows else None
