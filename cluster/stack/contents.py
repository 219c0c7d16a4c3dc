"""What does the ledger hold, and how far are the indexes behind it?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from cluster.errors import InvalidSettings, ModelError
from cluster.model import Generation
from cluster.models.open import describe
from cluster.settings import Settings
from cluster.stores.open import open_ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """`counts` as `Documents.counts`, over all tenants. `owed`: index entries not yet worked
    off, the oldest of them `lag_s` old; `set_aside`: those that an index refuses. `encoder`: its
    fingerprint, once there is one; `named`: what the settings name, where that differs.
    `compared_at`: when the indexes were last compared with the ledger (ISO 8601), `sound` whether
    they agreed, `drift` how many rows did not; `None` before the first time. `rebuilding`: a
    rebuild is not finished."""

    counts: Mapping[str, int]
    owed: int
    lag_s: float
    set_aside: int
    encoder: str | None
    named: str | None = None
    compared_at: str | None = None
    sound: bool | None = None
    drift: int | None = None
    rebuilding: bool = False


async def look_into(settings: Settings) -> Contents:
    """Raises `StoreError` when the ledger does not answer."""
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            counts = await tx.documents.counts(None)
            owed, lag = await tx.outbox.lag()
            set_aside = await tx.outbox.aside()
            generation = await tx.generations.active()
            report = await tx.reconciling.latest()
            rebuild = await tx.rebuilds.unfinished()
    finally:
        await ledger.close()
    return Contents(
        counts=counts,
        owed=owed,
        lag_s=lag.total_seconds(),
        set_aside=set_aside,
        encoder=generation.fingerprint if generation else None,
        named=await asyncio.to_thread(_other, settings, generation) if generation else None,
        compared_at=report.finished_at.isoformat(timespec="seconds") if report else None,
        sound=report.sound if report else None,
        drift=sum(sum(one.drift.values()) for one in report.stores) if report else None,
        rebuilding=rebuild is not None,
    )


def _other(settings: Settings, generation: Generation) -> str | None:
    """The encoder that the settings name, unless it is the ledger's or cannot be told."""
    try:
        named = describe(settings).fingerprint
    except (ModelError, InvalidSettings):
        return None
    return None if named == generation.fingerprint else named
