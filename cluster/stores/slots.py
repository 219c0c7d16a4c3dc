"""How the index work is divided: chunks fall into slots, and a shard is some of the slots.

A slot is drained by whoever holds its lease. Shards of any count are made of the same slots, so
that also processes that were started with different counts never drain one chunk at once.
"""

from __future__ import annotations

from collections.abc import Collection

from cluster.errors import InvalidRequest
from cluster.ids import sha256_hex

SLOTS = 16
"""A power of two: SQL takes the low bits of its own hash."""

EVERY_SLOT = tuple(range(SLOTS))


def slot_of(key: str) -> int:
    """The slot of a chunk or revision, for ledgers that have no hash of their own."""
    return int(sha256_hex(key)[:8], 16) % SLOTS


def shard_slots(shard: int, *, of: int) -> tuple[int, ...]:
    """Those of one shard; all shards together have every slot once."""
    if not 0 <= shard < of <= SLOTS:
        raise InvalidRequest(f"shard {shard} of {of}: there are at most {SLOTS} shards")
    return EVERY_SLOT[shard::of]


def slot_leases(slots: Collection[int]) -> list[str]:
    """Slot 0 is named as the only lease was named before there were slots."""
    return [f"indexer/{slot}" if slot else "indexer" for slot in sorted(slots)]
