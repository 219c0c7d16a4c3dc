"""What hangs or fails beside an answer costs a part of it, told by name, and not the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import bilingual as book
import pytest
from serving import DIM, NOW, TENANT, fill, memory_stores, service_on

from cluster.clock import FixedClock
from cluster.errors import DeadlineExceeded, StoreError, StoreRejected, StoreUnavailable
from cluster.filters import Filter, In
from cluster.model import Scope, Vector
from cluster.settings import SelectionSettings
from cluster.stores.memory.documents import MemoryDocuments
from cluster.stores.memory.ledger import MemoryLedger, MemoryTransaction
from cluster.stores.memory.vector_index import MemoryVectorIndex
from cluster.stores.open import Stores
from serve.context_parts import STANDING_TAGS
from serve.contexts import context_for
from serve.plan.question import Question
from serve.plan.versions import KnownEdition
from serve.selecting import selection_of
from serve.service import Service
from serve.short_lived import ShortLived
from serve.verify import Asking, ToCheck, verify
from serve.viewing import view

SCOPE = Scope(tenant=TENANT)
WRITER = Question(
    text="How long is a note of the outbox kept?",
    scope=SCOPE,
    limit=5,
    now=NOW,
    deadline_s=3.0,
    selection=selection_of("writer", budget_tokens=600, settings=SelectionSettings()),
)


@dataclass
class Trouble:
    """What reads of the ledger do: `alike` waits or fails, `texts` fails as often as listed."""

    alike: float | StoreError = 0.0
    texts: list[StoreError] = field(default_factory=list)


class ReluctantDocuments(MemoryDocuments):
    """The reference's reads, with trouble."""

    def __init__(self, held: MemoryDocuments, trouble: Trouble) -> None:
        vars(self).update(vars(held))
        self.trouble = trouble

    async def alike(
        self, scope: Scope, chunk_ids: Sequence[str], *, limit: int
    ) -> dict[str, list[str]]:
        if isinstance(self.trouble.alike, StoreError):
            raise self.trouble.alike
        await asyncio.sleep(self.trouble.alike)
        return await super().alike(scope, chunk_ids, limit=limit)

    async def texts(self, scope: Scope, revision_ids: Sequence[str]) -> dict[str, str]:
        if self.trouble.texts:
            raise self.trouble.texts.pop()
        return await super().texts(scope, revision_ids)


class ReluctantLedger(MemoryLedger):
    def __init__(self) -> None:
        super().__init__(FixedClock(NOW))
        self.trouble = Trouble()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[MemoryTransaction]:
        async with super().transaction() as tx:
            tx.documents = ReluctantDocuments(tx.documents, self.trouble)
            yield tx


class HangingTags(MemoryVectorIndex):
    """A reference vector index that never finds what holds whatever the question is."""

    async def search(
        self, vector: Vector, *, scope: Scope, where: Filter | None, limit: int
    ) -> list[tuple[str, float]]:
        if where == In("tags", STANDING_TAGS):
            await asyncio.sleep(60)
        return await super().search(vector, scope=scope, where=where, limit=limit)


async def filled(stores: Stores) -> Service:
    await fill(stores, book.handbook())
    return service_on(stores)


def without_editions(service: Service) -> Service:
    async def hang(_: Scope) -> list[KnownEdition]:
        await asyncio.sleep(60)
        return []

    return replace(service, editions=ShortLived(hang, ttl_s=1.0))


async def test_a_look_that_hangs_is_named_and_costs_no_context() -> None:
    service = await filled(replace(memory_stores(), vector_index=HangingTags(DIM)))
    made = await context_for(service, WRITER)
    assert [(each.channel, each.reason) for each in made.failures] == [
        ("standing", "did not answer in time")
    ]
    assert book.BOUNDARY in made.assembled.text


async def test_planning_that_hangs_ends_with_the_time_of_the_context() -> None:
    service = without_editions(await filled(memory_stores()))
    asked = replace(WRITER, deadline_s=0.2)
    async with asyncio.timeout(5):
        with pytest.raises(DeadlineExceeded, match="no context within 200 ms"):
            await context_for(service, asked)
        with pytest.raises(DeadlineExceeded, match="no context within 200 ms"):
            await view(service, asked)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (5.0, "the look for copies was late"),
        (StoreUnavailable("ledger", "it is away"), "it is away"),
    ],
)
async def test_copies_that_cannot_be_read_are_named(
    trouble: float | StoreError, reason: str
) -> None:
    ledger = ReluctantLedger()
    service = await filled(replace(memory_stores(), ledger=ledger))
    ledger.trouble.alike = trouble
    found = await service.search(replace(WRITER, text=book.BOUNDARY))
    assert found.passages
    (failure,) = found.failures
    assert failure.channel == "copies"
    assert reason in failure.reason


async def test_a_claim_that_a_store_refuses_leaves_the_others_checked() -> None:
    ledger = ReluctantLedger()
    service = await filled(replace(memory_stores(), ledger=ledger))
    claims = [ToCheck(text=f"The outbox supports {number} shards.") for number in (16, 17)]
    asking = Asking(scope=SCOPE, now=NOW, deadline_s=10.0)
    ledger.trouble.texts = [StoreRejected("ledger", "a page is damaged")]
    checked = await verify(service, claims, asking)
    (refused,) = [each for each in checked if each.verdict == "unchecked"]
    assert "a page is damaged" in refused.why
    ledger.trouble.texts = [StoreRejected("ledger", "a page is damaged") for _ in claims]
    with pytest.raises(StoreRejected, match="a page is damaged"):
        await verify(service, claims, asking)


async def test_editions_that_hang_leave_every_claim_unchecked_in_time() -> None:
    service = without_editions(await filled(memory_stores()))
    asking = Asking(scope=SCOPE, now=NOW, deadline_s=0.3)
    async with asyncio.timeout(5):
        (checked,) = await verify(service, [ToCheck(text="The outbox is blue.")], asking)
    assert checked.verdict == "unchecked"
    assert "time ran out" in checked.why
