"""Finding by names, sessions and neighbours in the reference ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from cluster.errors import InvalidRequest
from cluster.filters import Filter, matches, scoped
from cluster.model import Chunk, Scope
from cluster.stores.checks import require, require_limit
from cluster.stores.fields import matchable_fields
from cluster.stores.memory.state import HeldRevision, State
from cluster.stores.names import folded_name, is_named
from cluster.stores.protocols.lookups import Beside, Named

NEVER = datetime.min.replace(tzinfo=UTC)


class MemoryLookups:
    def __init__(self, state: State) -> None:
        self._state = state

    async def headed(
        self, scope: Scope, names: Sequence[str], *, where: Filter | None, limit: int
    ) -> list[Named]:
        asked = sorted({folded_name(one) for one in require(names, "names")})
        found = [
            (held, named)
            for held in self._matching(scope, where)
            for chunk in held.chunks
            if chunk.heading_path
            and (named := _best(chunk.chunk_id, [chunk.heading_path[-1]], asked)) is not None
        ]
        found.sort(
            key=lambda pair: (
                not pair[1].whole,
                not pair[0].newest_edition,
                -pair[0].revision.metadata.authority,
                pair[1].id,
            )
        )
        return [named for _, named in found[: require_limit(limit)]]

    async def titled(
        self, scope: Scope, names: Sequence[str], *, where: Filter | None, limit: int
    ) -> list[Named]:
        asked = sorted({folded_name(one) for one in require(names, "names")})
        best: dict[str, Named] = {}
        for held in self._matching(scope, where):
            document = held.revision.document_id
            title = held.revision.metadata.title
            by_tag = (
                Named(id=document, name=folded_name(tag), whole=True)
                for tag in held.revision.metadata.tags
                if tag in names
            )
            by_title = _best(document, [title] if title else [], asked)
            for named in (*by_tag, *([by_title] if by_title else [])):
                best[document] = min(best.get(document, named), named, key=_first)
        ordered = sorted(best.values(), key=lambda one: (not one.whole, one.id))
        return ordered[: require_limit(limit)]

    async def turns(
        self, scope: Scope, session: str, *, where: Filter | None, limit: int
    ) -> list[str]:
        found = [
            (held.moment is not None, held.moment or NEVER, turn.ordinal, held)
            for held in self._matching(scope, where)
            if (turn := held.revision.turn) is not None and turn.session == session
        ]
        found.sort(key=lambda one: (*one[:3], one[3].revision.document_id), reverse=True)
        return [held.chunks[0].chunk_id for *_, held in found[: require_limit(limit)]]

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
        shown = list(self._matching(scope, where))
        found = [
            Beside(seed=seed, chunk_id=chunk.chunk_id, distance=distance)
            for seed in set(require(chunk_ids, "chunk ids"))
            for chunk, distance in self._beside(seed, shown, scope)
            if -before <= distance <= after
        ]
        return sorted(found, key=lambda one: (one.seed, one.distance, one.chunk_id))

    def _beside(
        self, seed: str, shown: Iterable[HeldRevision], scope: Scope
    ) -> Iterator[tuple[Chunk, int]]:
        held = self._state.revisions.get(self._state.revision_of_chunk.get(seed, ""))
        if held is None or held.state != "visible" or held.revision.tenant != scope.tenant:
            return
        own = next(chunk for chunk in held.chunks if chunk.chunk_id == seed)
        turn = held.revision.turn
        for other in shown:
            for chunk in other.chunks:
                if chunk.chunk_id == seed:
                    continue
                if turn is None and other.revision.revision_id == held.revision.revision_id:
                    yield chunk, chunk.ordinal - own.ordinal
                elif turn is not None and _session(other) == _session(held) is not None:
                    there = other.revision.turn
                    yield chunk, (there.ordinal if there else 0) - turn.ordinal

    def _matching(self, scope: Scope, where: Filter | None) -> Iterator[HeldRevision]:
        asked = scoped(scope, where)
        for one in self._state.visible(scope):
            if matches(asked, matchable_fields(one.revision, newest_edition=one.newest_edition)):
                yield one


def _best(id: str, texts: Sequence[str], asked: Sequence[str]) -> Named | None:  # noqa: A002  # as the field is called
    found = [
        Named(id=id, name=name, whole=whole)
        for text in texts
        for name in asked
        if (whole := is_named(text, name)) is not None
    ]
    return min(found, key=_first, default=None)


def _first(named: Named) -> tuple[bool, str]:
    return (not named.whole, named.name)


def _session(held: HeldRevision) -> tuple[str, str, str] | None:
    turn = held.revision.turn
    return None if turn is None else (held.revision.source, turn.conversation, turn.session)
