"""Encoder generations in PostgreSQL; `cluster.stores.protocols.Generations`."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from cluster.errors import InvalidRequest, NotFound
from cluster.model import Generation
from cluster.stores.checks import require, require_limit
from cluster.stores.generation_rules import (
    check_begin,
    check_retire,
    check_switch,
    check_writable,
    other_encoder,
)
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols import (
    Backlog,
    GenerationState,
    HeldGeneration,
    Progress,
    UnencodedText,
)


class PostgresGenerations:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "generations")

    async def active(self) -> Generation | None:
        rows = await self._sql.rows("active", {})
        if not rows:
            return None
        fingerprint, dim, recipe = rows[0]
        return Generation(fingerprint=fingerprint, dim=dim, recipe=recipe)

    async def activate(self, generation: Generation) -> None:
        await self._sql.run("activate", _named(generation))
        active = await self.active()
        if active is None or active.fingerprint != generation.fingerprint:
            raise other_encoder(generation.fingerprint)

    async def live(self) -> list[HeldGeneration]:
        return [one for one in await self.known() if one.state != "gone"]

    async def known(self) -> list[HeldGeneration]:
        return [_read(row) for row in await self._sql.rows("known", {})]

    async def begin(self, generation: Generation, *, now: datetime) -> None:
        if check_begin(generation.fingerprint, await self._lock_live()):
            await self._sql.run("begin", {**_named(generation), "now": now})
            await self._notify()

    async def note(self, fingerprint: str, progress: Progress) -> None:
        noted = json.dumps(dict(progress))
        await self._sql.run("note", {"fingerprint": fingerprint, "progress": noted})

    async def missing(
        self, fingerprint: str, *, after: str = "", limit: int
    ) -> list[UnencodedText]:
        asked = {"fingerprint": fingerprint, "after": after, "limit": require_limit(limit)}
        return [_unencoded(*row) for row in await self._sql.rows("missing", asked)]

    async def tokenless(
        self, fingerprint: str, *, head: bytes, after: str = "", limit: int
    ) -> list[UnencodedText]:
        asked = {"fingerprint": fingerprint, "after": after, "limit": require_limit(limit)}
        rows = await self._sql.rows("tokenless", {**asked, "head": head})
        return [_unencoded(*row) for row in rows]

    async def encoded(self, fingerprint: str, *, after: str = "", limit: int) -> list[str]:
        asked = {"fingerprint": fingerprint, "after": after, "limit": require_limit(limit)}
        return [row[0] for row in await self._sql.rows("encoded", asked)]

    async def hold(self, vector_keys: Sequence[str]) -> dict[str, list[str]]:
        asked = {"keys": list(require(vector_keys, "vector keys"))}
        held: dict[str, list[str]] = {}
        for key, chunk in await self._sql.rows("hold", asked):
            held.setdefault(key, []).append(chunk)
        return held

    async def sizes(self, fingerprint: str) -> tuple[int, int]:
        ((texts, missing),) = await self._sql.rows("sizes", {"fingerprint": fingerprint})
        return int(texts), int(missing)

    async def backlog(self, fingerprint: str) -> Backlog:
        ((missing, owed),) = await self._sql.rows("backlog", {"fingerprint": fingerprint})
        return Backlog(missing=int(missing), owed=int(owed))

    async def switch(self, to: str, *, now: datetime, grace: timedelta) -> Backlog:
        check_switch(to, await self._lock_live())
        lacks = await self.backlog(to)
        if not lacks:
            await self._sql.run("leave_grace", {"fingerprint": to})
            await self._sql.run("step_down", {"retire_at": now + grace})
            await self._sql.run("step_up", {"fingerprint": to, "now": now})
            await self._notify()
        return lacks

    async def retire(self, fingerprint: str, *, now: datetime) -> None:
        live = await self._lock_live()
        if fingerprint not in live and fingerprint not in await self._states():
            raise NotFound(f"no generation {fingerprint!r}")
        check_retire(fingerprint, live)
        await self._sql.run("retire", {"fingerprint": fingerprint, "now": now})
        await self._sql.run("drop_owed", {"fingerprint": fingerprint})
        await self._notify()

    async def erase_vectors(self, fingerprint: str, *, after: str, limit: int) -> str | None:
        states = await self._states()
        if states.get(fingerprint, "gone") != "gone":
            raise InvalidRequest(f"generation {fingerprint!r} is {states[fingerprint]}, not gone")
        asked = {"fingerprint": fingerprint, "after": after, "limit": require_limit(limit)}
        ((last,),) = await self._sql.rows("erase_vectors", asked)
        return None if last is None else str(last)

    async def _lock_live(self) -> dict[str, GenerationState]:
        return dict(await self._sql.rows("lock_live", {}))

    async def _states(self) -> dict[str, GenerationState]:
        return {one.fingerprint: one.state for one in await self.known()}

    async def _notify(self) -> None:
        await self._sql.rows("notify", {})


async def claim(connection: Connection, fingerprints: Collection[str], *, active: bool) -> None:
    """`EncoderChanged` unless something may be written for these encoders (with `active`: for
    the active one only), which then stays so until the end of the transaction."""
    sql = Statements(connection, "generations")
    named = await sql.rows("lock_named", {"fingerprints": sorted(fingerprints)})
    states: dict[str, GenerationState] = dict(named)
    now_active = None
    if any(states.get(one) != "active" for one in fingerprints):
        rows = await sql.rows("active", {})
        now_active = rows[0][0] if rows else None
    check_writable(fingerprints, states, now_active=now_active, active_only=active)


def _named(generation: Generation) -> dict[str, object]:
    return {
        "fingerprint": generation.fingerprint,
        "dim": generation.dim,
        "recipe": json.dumps(dict(generation.recipe)),
    }


def _read(row: tuple[Any, ...]) -> HeldGeneration:
    fingerprint, dim, recipe, state, started_at, activated_at, retire_at, progress, ended_at = row
    return HeldGeneration(
        generation=Generation(fingerprint=fingerprint, dim=dim, recipe=recipe),
        state=state,
        started_at=started_at,
        activated_at=activated_at,
        retire_at=retire_at,
        progress=progress,
        ended_at=ended_at,
    )


def _unencoded(key: str, text: str, context: str, language: str) -> UnencodedText:
    return UnencodedText(
        vector_key=key,
        indexed_text=f"{context}\n{text}" if context else text,
        language=language,
    )
