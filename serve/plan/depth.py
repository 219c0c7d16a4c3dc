"""How far down do the channels look?

Far enough that the reranker's pool holds the answer. Inside one conversation every turn may be
it, whatever its words; what a question tells of a time stands far down among what has its words.
"""

from __future__ import annotations

from dataclasses import replace

from cluster.filters import AllOf, Eq, Filter
from serve.plan.plan import MAX_CANDIDATES, ChannelPlan, QueryPlan

ONE_CONVERSATION = frozenset({"conversation", "session"})
RANKED_CHANNELS = ("semantic", "keyword")
CONVERSATION_CANDIDATES = 600
TIMED_CANDIDATES = 150


def deep_enough(plan: QueryPlan) -> QueryPlan:
    """Longer lists from the channels that rank by content; never shorter ones."""
    least = 0
    if inside_one_conversation(plan.where):
        least = CONVERSATION_CANDIDATES
    elif any(time.placed for time in plan.times):
        least = TIMED_CANDIDATES
    return replace(plan, channels=tuple(_deep(each, least) for each in plan.channels))


def inside_one_conversation(where: Filter | None) -> bool:
    if isinstance(where, AllOf):
        return any(inside_one_conversation(part) for part in where.parts)
    return isinstance(where, Eq) and where.field in ONE_CONVERSATION


def _deep(channel: ChannelPlan, least: int) -> ChannelPlan:
    if channel.name not in RANKED_CHANNELS:
        return channel
    return replace(channel, limit=min(max(channel.limit, least), MAX_CANDIDATES))
