"""Finding passages by what is known of them, by their session, and by what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.filters import Filter
from cluster.model import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """`id` is a chunk's or a document's. `whole`: the heading or title is the name and nothing
    else; otherwise it begins with it."""

    id: str
    name: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """`chunk_id` stands `distance` chunks or turns after `seed`; before it, if negative."""

    seed: str
    chunk_id: str
    distance: int


class Lookups(Protocol):
    """Only of what is visible now, inside `filters.scoped(scope, where)`. Names compare without
    case in ASCII (`cluster.stores.names`)."""

    async def headed(
        self, scope: Scope, names: Sequence[str], *, where: Filter | None, limit: int
    ) -> list[Named]:
        """Chunks whose last heading is one of `names` or begins with it. Whole ones first, then
        of newest editions, then by authority, ties by chunk id; each chunk once."""
        ...

    async def titled(
        self, scope: Scope, names: Sequence[str], *, where: Filter | None, limit: int
    ) -> list[Named]:
        """Documents whose title is one of `names` or begins with it, or of which a tag is
        exactly that. Whole ones (tags are) first, ties by document id; each document once."""
        ...

    async def turns(
        self, scope: Scope, session: str, *, where: Filter | None, limit: int
    ) -> list[str]:
        """First chunks of the turns of a session, latest first: by moment, undated ones last,
        then by their place in the session."""
        ...

    async def around(
        self,
        scope: Scope,
        chunk_ids: Sequence[str],
        *,
        where: Filter | None,
        before: int,
        after: int,
    ) -> list[Beside]:
        """What stands up to so many places before and after these: chunks of the same revision,
        for a turn the turns of the same session. By (seed, distance, chunk id). `where` is not
        asked of the seeds."""
        ...
