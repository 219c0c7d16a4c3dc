"""Encoder generations in the ledger: which one is searched, which one is being made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from cluster.model import Generation
from cluster.stores.protocols.indexes import VectorIndex

GenerationState = Literal["building", "active", "grace", "gone"]
"""`building`: dual-written, not yet searched. `active`: the one that questions search and that
documents are put for. `grace`: searched until the last switch, still kept up, may be switched
back to. `gone`: no longer kept up."""

Progress = Mapping[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGeneration:
    """`progress` is what the job that builds it noted last. `retire_at`: the end of its grace,
    `ended_at` when it was retired."""

    generation: Generation
    state: GenerationState
    started_at: datetime
    activated_at: datetime | None = None
    retire_at: datetime | None = None
    progress: Progress | None = None
    ended_at: datetime | None = None

    @property
    def fingerprint(self) -> str:
        return self.generation.fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class UnencodedText:
    """A text of pending or visible chunks that a generation has no vector for yet, or no token
    vectors."""

    vector_key: str
    indexed_text: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What a generation lacks: texts without a vector, chunks owed to its index."""

    missing: int = 0
    owed: int = 0

    def __bool__(self) -> bool:
        return bool(self.missing or self.owed)


class Collections(Protocol):
    """The vector indexes of generations as wholes."""

    async def open(self, generation: Generation) -> VectorIndex:
        """Its index, made when it is not there; who opens it closes it."""
        ...

    async def point(self, generation: Generation) -> None:
        """Show people with other tools which one is the active one. Nothing of ours reads it,
        and a store that cannot goes without."""
        ...

    async def drop(self, generations: Sequence[Generation]) -> int:
        """Remove their indexes; how many were there. Twice is once."""
        ...


class Generations(Protocol):
    """At most one is active, one is building and one is in grace.

    `Documents.put` takes revisions of the active one only, `VectorCache.put` vectors of those
    that are not gone: else `EncoderChanged`. As long as none was ever active, both take all.
    """

    async def active(self) -> Generation | None: ...

    async def activate(self, generation: Generation) -> None:
        """First come: `InvalidRequest` when another one is active."""
        ...

    async def live(self) -> list[HeldGeneration]:
        """Active, then in grace, then building."""
        ...

    async def known(self) -> list[HeldGeneration]:
        """All that ever were, those that are gone last."""
        ...

    async def begin(self, generation: Generation, *, now: datetime) -> None:
        """Start to build `generation`; nothing happens when it is being built already.
        `InvalidRequest` while none is active, or another one is building or in grace, or when
        it is the active one or in grace itself."""
        ...

    async def note(self, fingerprint: str, progress: Progress) -> None:
        """Keep what the building job wants to tell. Not live: nothing happens."""
        ...

    async def missing(
        self, fingerprint: str, *, after: str = "", limit: int
    ) -> list[UnencodedText]:
        """Those after the vector key `after` in the order of keys, each text once."""
        ...

    async def tokenless(
        self, fingerprint: str, *, head: bytes, after: str = "", limit: int
    ) -> list[UnencodedText]:
        """Those that have a vector, but no packed token vectors that begin with `head`; after
        the vector key `after` in the order of keys, each text once."""
        ...

    async def encoded(self, fingerprint: str, *, after: str = "", limit: int) -> list[str]:
        """Pending and visible chunks whose text has a vector, in the order of ids, those after
        the chunk `after`."""
        ...

    async def hold(self, vector_keys: Sequence[str]) -> dict[str, list[str]]:
        """vector key -> pending and visible chunks with that text. They stay until the end of
        the transaction, so that vectors put in it do not outlive the last text they belong to.
        Keys that nothing has any more are left out."""
        ...

    async def sizes(self, fingerprint: str) -> tuple[int, int]:
        """How many texts pending and visible chunks have, and how many of them lack a vector."""
        ...

    async def backlog(self, fingerprint: str) -> Backlog: ...

    async def switch(self, to: str, *, now: datetime, grace: timedelta) -> Backlog:
        """Make `to` the active one and put the former into its grace, at once and only if `to`
        lacks nothing while no put is under way. What it lacks is returned, and then nothing
        has changed. `InvalidRequest` when `to` is neither building nor in grace."""
        ...

    async def retire(self, fingerprint: str, *, now: datetime) -> None:
        """Building or in grace -> gone; what was owed to it is dropped. The active one:
        `InvalidRequest`; unknown: `NotFound`; gone already: nothing happens."""
        ...

    async def erase_vectors(self, fingerprint: str, *, after: str, limit: int) -> str | None:
        """Erase the next `limit` vectors of a generation that is gone, after the vector key
        `after`; the last key, `None` when there are no more. Not gone: `InvalidRequest`."""
        ...
