"""What kind of answer does a question want, and what follows from that?

Small rules in Chinese and English, the first that fits is the main one; a question that none
fits asks for a fact. What follows is kept small and never takes anything away: which channels
join the usual ones, how many candidates there are, and which roles of evidence a varied
selection has to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import regex

from rerank.selection import USUAL_QUOTAS, Quota
from serve.plan.plan import MAX_CANDIDATES, ChannelPlan, Intent, QueryPlan

WIDER = 2
"""Times as many candidates where several passages make the answer."""

WIDENED_CHANNELS = ("semantic", "keyword")

Effect = Literal["recent", "neighbours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Follows:
    """`channels` join the usual ones; `wide`: more candidates; `quotas` of a varied selection
    whose caller has named none."""

    channels: tuple[Effect, ...] = ()
    wide: bool = False
    quotas: tuple[Quota, ...] = USUAL_QUOTAS


_BOUNDARIES = Quota(roles=("counter_example", "boundary"), at_least=1, at_most=2)

FOLLOWS: Mapping[Intent, Follows] = {
    "comparison": Follows(
        wide=True,
        quotas=(
            Quota(roles=("definition", "mechanism"), at_least=2, at_most=4),
            Quota(roles=("project_fact", "changelog"), at_least=1, at_most=3),
            _BOUNDARIES,
        ),
    ),
    "change": Follows(
        quotas=(
            Quota(roles=("changelog",), at_least=2, at_most=4),
            Quota(roles=("definition", "mechanism"), at_least=1, at_most=2),
            _BOUNDARIES,
        ),
    ),
    "troubleshooting": Follows(
        quotas=(
            Quota(roles=("procedure",), at_least=1, at_most=3),
            Quota(roles=("project_fact", "changelog"), at_least=2, at_most=3),
            _BOUNDARIES,
        ),
    ),
    "how_to": Follows(
        quotas=(
            Quota(roles=("procedure",), at_least=2, at_most=3),
            Quota(roles=("definition", "mechanism"), at_least=1, at_most=2),
            _BOUNDARIES,
        ),
    ),
    "definition": Follows(
        quotas=(
            Quota(roles=("definition", "mechanism"), at_least=2, at_most=3),
            Quota(roles=("project_fact", "changelog"), at_least=1, at_most=2),
            _BOUNDARIES,
        ),
    ),
    "memory": Follows(channels=("neighbours",)),
    "summary": Follows(wide=True),
    "list": Follows(wide=True),
    "recent": Follows(channels=("recent",)),
    "opinion": Follows(),
    "fact": Follows(),
}
"""In the order in which they are looked for; `fact` is what remains."""

_CUES: Mapping[Intent, str] = {
    "comparison": r"""
        \b(?:differences?|differs?|compar(?:e[ds]?|ing|isons?)|versus|vs\.?|pros\ and\ cons
          |trade-?offs?|better\ than)\b
        |区别|差异|差别|不同之处|有(?:什么|何|哪些)不同|对比|相比|优缺点|优劣|哪个(?:更|比较)?好""",
    "change": r"""
        \bwhat(?:'s|\ is|\ has|\ was)\ (?:new|changed)\b|\bwhat\ changed\b
        |\b(?:breaking\ )?changes?\ (?:in|since|between)\b
        |\b(?:deprecated|deprecations?|introduced\ in|removed\ in|release\ notes|change\ ?log)\b
        |\b(?:since|from|in)\ (?:which|what)\ version\b|\b(?:upgrad|migrat)(?:e|ing|ion)\b
        |变化|变更|改动|新增|更新了|有(?:什么|哪些)更新|升级|迁移|弃用|废弃
        |(?:从|自)?(?:哪个|什么|哪一)版本(?:开始|起|引入|加入)""",
    "troubleshooting": r"""
        \b(?:errors?|exceptions?|crash(?:es|ed)?|stack\ ?trace|troubleshoot\w*|not\ working)\b
        |\b(?:fails?|failed|failing)\ (?:to|with|when)\b|\b(?:doesn't|does\ not|won't)\ work\b
        |\bwhy\ (?:does|do|is|are|am|did|can)\b.*\b(?:not|slow|fail\w*)\b
        |报错|错误(?:码|信息|代码)|异常|崩溃|卡死|排查|(?:怎么|如何)(?:解决|修复)
        |为什么.{0,20}(?:失败|不了|很慢)""",
    "how_to": r"""
        \bhow\ (?:do|can|should|could|would)\ (?:i|we|you|one)\b|\bhow\ to\b
        |\bsteps\ to\b|\bway\ to\b
        |如何|怎样|怎么(?!样|办|回事|看|了|会|没)|步骤|教程""",
    "definition": r"""
        ^\s*what\ (?:is|are)\ (?!the\b|there\b|in\b|on\b)(?:an?\ )?
            [\p{L}\d.-]+(?:\ [\p{L}\d.-]+){0,2}\s*[?.]*\s*$
        |\b(?:definition|meaning)\ of\b|\bwhat\ do(?:es)?\ .{1,60}\ (?:mean|stand\ for)\b
        |^\s*define\b|什么是|何为|何谓|什么意思|的(?:定义|含义|概念)
        |^[^，,。的]{1,16}(?:是什么|指什么|指的是什么)\s*[?？]?\s*$""",
    "memory": r"""
        \b(?:did|have|had)\ (?:i|we)\ (?:ever\ )?
            (?:say|said|tell|told|mention|discuss|decide|agree|talk)\w*
        |\bremind\ me\b|\blast\ time\ (?:we|i)\b|\byou\ (?:said|told|mentioned)\b
        |\bour\ (?:last|previous|earlier)\ (?:chat|conversation|meeting|discussion)\b
        |我们?(?:之前|上次|以前|刚才|曾经)?(?:说过|提到过|提过|聊过|讨论过|告诉过|约定)|上次(?:聊|说|谈|提)
        |还记得|记得我|你(?:之前|刚才|上次)说""",
    "summary": r"""
        \b(?:summari[sz]e|summary|overview|recap|tl;?dr|main\ points|key\ (?:points|takeaways))\b
        |总结|概括|概述|摘要|综述|归纳|梳理""",
    "list": r"""
        ^\s*(?:please\ )?list\b|\benumerate\b|\b(?:list|name|show)\ (?:all|every|each)\b
        |列出|列举|罗列|所有的?.{0,12}(?:有哪些|清单)""",
    "recent": r"""
        \b(?:latest|newest|most\ recent|recent(?:ly)?|lately|what'?s\ new)\b
        |\bjust\ (?:now|said|released)\b
        |最近|最新|近期|近来|近日|刚才|刚刚|新近""",
    "opinion": r"""
        \bwhat\ do\ you\ think\b|\bshould\ (?:i|we)\ (?:use|choose|pick|prefer)\b|\bopinions?\b
        |\brecommend\w*\b|\bbest\ practices?\b|\bis\ it\ worth\b
        |怎么看|看法|观点|评价|推荐|值得|好不好|最佳实践|应该选""",
}
_PATTERNS = {
    intent: regex.compile(cue, regex.VERBOSE | regex.IGNORECASE) for intent, cue in _CUES.items()
}


def intents_of(question: str) -> tuple[Intent, ...]:
    """All that fit, the main one first; `fact` alone where none does."""
    found = tuple(intent for intent, cue in _PATTERNS.items() if cue.search(question))
    return found or ("fact",)


def channels_for(plan: QueryPlan) -> tuple[Effect, ...]:
    """The channels that join the usual ones."""
    joining = (name for intent in plan.intents for name in FOLLOWS[intent].channels)
    return tuple(dict.fromkeys(joining))


def followed(plan: QueryPlan) -> QueryPlan:
    """More candidates, and the quotas of the main intent where a selection has the usual ones."""
    follows = FOLLOWS[plan.intents[0]]
    if plan.selection.quotas == USUAL_QUOTAS:
        plan = replace(plan, selection=replace(plan.selection, quotas=follows.quotas))
    if not follows.wide:
        return plan
    pool = min(plan.rerank.pool * WIDER, MAX_CANDIDATES)
    return replace(
        plan,
        channels=tuple(map(_wider, plan.channels)),
        rerank=replace(plan.rerank, pool=pool),
    )


def _wider(channel: ChannelPlan) -> ChannelPlan:
    if channel.name not in WIDENED_CHANNELS:
        return channel
    return replace(channel, limit=min(channel.limit * WIDER, MAX_CANDIDATES))
