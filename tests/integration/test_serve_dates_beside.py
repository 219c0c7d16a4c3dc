"""A time of the question that the date of a passage lies in need not be said in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from serving import NOW, TENANT, fill, memory_stores, prepared, service_on

from cluster.model import Metadata, Scope, Turn
from rerank.reranker import Asked, Pooled, Reranked
from serve.plan.planner import Question


@dataclass
class Listening:
    """A reranker that keeps what it was asked and scores all alike."""

    name: str = "late_interaction"
    asked: list[Asked] = field(default_factory=list)

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked:
        self.asked.append(asked)
        return Reranked(reranker=self.name, scale="z", scores={each.chunk_id: 0.0 for each in pool})


async def told_beside(text: str) -> list[str]:
    """The pieces of the question that some date meets."""
    stores = memory_stores()
    said = Turn(
        conversation="c",
        session="s",
        ordinal=0,
        speaker="Ann",
        said_at=datetime(2025, 5, 5, 9, tzinfo=UTC),
    )
    about = Metadata(title="t", language="en")
    await fill(stores, [prepared("t", "Ann: I painted the old boat.", metadata=about, turn=said)])
    service = service_on(stores)
    listening = Listening()
    sources = replace(service.sources, rerankers={listening.name: listening})
    await replace(service, sources=sources).search(
        Question(text=text, scope=Scope(tenant=TENANT), limit=3, now=NOW, deadline_s=30)
    )
    (asked,) = listening.asked
    return [asked.text[start:end] for start, end in asked.beside]


async def test_a_time_that_something_lies_in_is_met_beside_the_text() -> None:
    assert await told_beside("What did Ann paint in May 2025?") == ["May 2025"]


async def test_a_time_that_nothing_lies_in_is_not() -> None:
    assert await told_beside("What did Ann paint in June 2019?") == []
    assert await told_beside("What did Ann paint?") == []
