"""The questions of a set, asked of the product's own retrieval: how good is each channel?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.filters import Eq, Filter
from cluster.ids import sha256_hex
from cluster.model import Scope
from eval.datasets import Query, RetrievalSet
from eval.metrics import evaluate
from rerank.fusion import FusionMethod
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service

DEPTH = 50
PATIENCE_S = 60.0
AT_ONCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """`values`: channel (or `fused`) -> measure -> mean over `questions`. `failures` counts
    channels that gave nothing; anything but 0 makes the figures worthless."""

    dataset: str
    questions: int
    documents: int
    values: Mapping[str, Mapping[str, float]]
    failures: int


def sample(queries: Sequence[Query], *, limit: int) -> list[Query]:
    """The same `limit` questions on every machine: those with the smallest hash of their id."""
    return sorted(queries, key=lambda query: sha256_hex(query.query_id))[:limit]


async def score(
    dataset: RetrievalSet,
    service: Service,
    *,
    scope: Scope,
    questions: int,
    fusion: FusionMethod = "score",
) -> Scores:
    """Ask up to `questions` judged questions of a set that was ingested for `scope`.

    A document's rank is that of its best chunk. Channels are listed as they answered, `fused`
    as the product ranks before neighbouring chunks merge.
    """
    asked = sample(dataset.judged, limit=questions)
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(query: Query) -> dict[str, list[str]]:
        async with slots:
            return await _ask(query, service, scope=scope, fusion=fusion)

    answers = await asyncio.gather(*(ask(query) for query in asked))
    qrels = {query.query_id: dataset.qrels[query.query_id] for query in asked}
    lists = sorted({name for answer in answers for name in answer if name != "failed"})
    return Scores(
        dataset=dataset.name,
        questions=len(asked),
        documents=len(dataset.documents),
        values={
            name: evaluate(
                qrels,
                {q.query_id: a.get(name, []) for q, a in zip(asked, answers, strict=True)},
            )
            for name in lists
        },
        failures=sum(len(answer["failed"]) for answer in answers),
    )


async def _ask(
    query: Query, service: Service, *, scope: Scope, fusion: FusionMethod
) -> dict[str, list[str]]:
    found = await service.search(
        Question(
            text=query.text,
            scope=scope,
            limit=DEPTH,
            now=service.clock.now(),
            deadline_s=PATIENCE_S,
            where=_inside(query),
            channels=("semantic", "keyword"),
            fusion=fusion,
        )
    )
    paths = await _paths(found, service, scope=scope)
    lists = {**found.rankings, "fused": found.fused}
    ranked = {name: _documents(chunk_ids, paths) for name, chunk_ids in lists.items()}
    return {**ranked, "failed": [failure.channel for failure in found.failures]}


def _inside(query: Query) -> Filter | None:
    """Sets of conversations ask each question inside one conversation."""
    conversation = query.fields.get("conversation")
    return Eq("conversation", conversation) if isinstance(conversation, str) else None


async def _paths(found: Retrieved, service: Service, *, scope: Scope) -> dict[str, str]:
    chunk_ids = sorted({chunk_id for listed in found.rankings.values() for chunk_id in listed})
    if not chunk_ids:
        return {}
    async with service.ledger.transaction() as tx:
        visible = await tx.documents.visible(scope, chunk_ids)
    return {chunk_id: passage.path for chunk_id, passage in visible.items()}


def _documents(chunk_ids: Sequence[str], paths: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(paths[chunk_id] for chunk_id in chunk_ids if chunk_id in paths))
