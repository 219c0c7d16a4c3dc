"""A question -> an assembled context: three looks at once, then lines that fit, counted exactly.

The first look is the question's own search. The second finds what holds whatever the question is
(documents with a tag of `serve.context_parts.TAGS`), the third what was said last in the session
that is going on. The first one's failure is the answer's; the others' are told in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cluster.errors import (
    DeadlineExceeded,
    InvalidRequest,
    ModelError,
    Overloaded,
    StoreError,
)
from cluster.filters import Eq, In
from cluster.model import ChannelFailure
from rerank.citations import CitedPassage
from serve.choosing import cite_stored
from serve.context import (
    Assembled,
    Piece,
    Written,
    assembled,
    fitted,
    lines_to_count,
    pieces_of,
    smaller,
    written_in,
)
from serve.context_parts import STANDING_TAGS, Label, label_of
from serve.counting import CountTokens
from serve.plan.plan import QueryPlan
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service
from serve.tasks import ended_with

MAX_STANDING = 20
SHARE_OF_OTHERS = 0.5
"""Of the time that is left, what the second and the third look may take: one that hangs must not
cost the answer of the first."""

LATE = "did not answer in time"
MAX_SESSION_TURNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`tokens` of `assembled.text` by the encoder `counted_by`, at most `room_tokens`, which is
    the budget without its reserve. `found` is the search behind it."""

    assembled: Assembled
    tokens: int
    room_tokens: int
    budget_tokens: int
    counted_by: str
    found: Retrieved
    failures: tuple[ChannelFailure, ...]


async def context_for(
    service: Service,
    question: Question | QueryPlan,
    *,
    constraints: Sequence[str] = (),
    session: str | None = None,
    passed_s: float = 0.0,
) -> Context:
    """Its `selection` has the budget. Errors as of `Service.search`; `ModelError` when no
    encoder can count."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(question.deadline_s - passed_s):
            plan = await service.plan(question)
            passed_s += time.perf_counter() - started
            return await _context(
                service, plan, constraints=constraints, session=session, passed_s=passed_s
            )
    except TimeoutError as error:
        limit_ms = round(question.deadline_s * 1000)
        raise DeadlineExceeded(
            f"no context within {limit_ms} ms; retry, or allow more with deadline_ms"
        ) from error


async def _context(
    service: Service,
    plan: QueryPlan,
    *,
    constraints: Sequence[str],
    session: str | None,
    passed_s: float,
) -> Context:
    selection = plan.selection
    if selection.budget_tokens is None or selection.room_tokens is None:
        raise InvalidRequest("a context needs a budget of tokens")
    count = service.generations.searched.count
    if count is None:
        raise ModelError("this encoder cannot count tokens, so no context fits a budget exactly")
    within_s = SHARE_OF_OTHERS * (plan.deadline_s - passed_s)
    looks = (
        asyncio.create_task(service.search(plan, passed_s=passed_s)),
        asyncio.create_task(_standing(service, plan, within_s=within_s)),
        asyncio.create_task(_said(service, plan, session=session, within_s=within_s)),
    )
    async with ended_with(*looks):
        found, standing, said = await asyncio.gather(*looks)
    labelled = _labelled([*standing[0], *said[0], *found.passages], session=session)
    made, tokens = await assemble(
        pieces_of(labelled, constraints=constraints),
        count=count,
        room_tokens=selection.room_tokens,
        language=plan.language,
    )
    return Context(
        assembled=made,
        tokens=tokens,
        room_tokens=selection.room_tokens,
        budget_tokens=selection.budget_tokens,
        counted_by=found.generation,
        found=found,
        failures=(*found.failures, *standing[1], *said[1]),
    )


async def assemble(
    pieces: Sequence[Piece], *, count: CountTokens, room_tokens: int, language: str
) -> tuple[Assembled, int]:
    """The text and its exact tokens, never more than `room_tokens`."""
    written: Written = written_in(language)
    counted = await count(lines_to_count(pieces, language=written))
    kept = fitted(pieces, counted, room_tokens=room_tokens, language=written)
    while True:
        made = assembled(kept, pieces=pieces, language=written)
        (tokens,) = await count([made.text]) if made.text else [0]
        if tokens <= room_tokens:
            return made, tokens
        kept = smaller(kept)


def _labelled(
    passages: Sequence[CitedPassage], *, session: str | None
) -> list[tuple[Label, CitedPassage]]:
    return [(label_of(passage, session=session), passage) for passage in passages]


async def _standing(
    service: Service, plan: QueryPlan, *, within_s: float
) -> tuple[tuple[CitedPassage, ...], tuple[ChannelFailure, ...]]:
    """Whatever the question's filters and versions are; nearest to the question first."""
    searched = service.generations.searched
    try:
        async with asyncio.timeout(within_s):
            query = await searched.encode(plan.query, plan.language)
            near = await searched.index.search(
                query.vector, scope=plan.scope, where=In("tags", STANDING_TAGS), limit=MAX_STANDING
            )
            if not near:
                return (), ()
            async with service.ledger.transaction() as tx:
                stored = await tx.documents.visible(plan.scope, [found for found, _ in near])
            held = [stored[found] for found, _ in near if found in stored]
            newest = [passage for passage in held if passage.newest_edition]
            return await cite_stored(_plain(plan), service.ledger, newest), ()
    except (StoreError, ModelError, Overloaded, TimeoutError) as error:
        return (), (ChannelFailure(channel="standing", reason=str(error) or LATE),)


async def _said(
    service: Service, plan: QueryPlan, *, session: str | None, within_s: float
) -> tuple[tuple[CitedPassage, ...], tuple[ChannelFailure, ...]]:
    """In the order in which it was said."""
    if session is None:
        return (), ()
    ledger = service.ledger
    try:
        async with asyncio.timeout(within_s):
            async with ledger.transaction() as tx:
                last = await tx.documents.recent(
                    plan.scope, where=Eq("session", session), limit=MAX_SESSION_TURNS
                )
                if not last:
                    return (), ()
                stored = await tx.documents.visible(plan.scope, [found for found, _ in last])
            order = [stored[found] for found, _ in reversed(last) if found in stored]
            return await cite_stored(_plain(plan), ledger, order), ()
    except (StoreError, TimeoutError) as error:
        return (), (ChannelFailure(channel="session", reason=str(error) or LATE),)


def _plain(plan: QueryPlan) -> QueryPlan:
    """These were not searched for: no words of the question and no filters found them."""
    return replace(plan, where=None, terms=())
