"""What kind of evidence is a passage? Rules in Chinese and English over text, headings, source.

Each cue votes for a role; headings count most, then how the text begins, then the rest; the kind
of source votes as well. The role with the most votes wins, ties go to the earlier in `ROLES`;
without votes enough a passage is `other`. No model, no network: the same passage always gets the
same role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import regex

EvidenceRole = Literal[
    "changelog",
    "counter_example",
    "boundary",
    "procedure",
    "definition",
    "mechanism",
    "project_fact",
    "other",
]
ROLES: tuple[EvidenceRole, ...] = (
    "changelog",
    "counter_example",
    "boundary",
    "procedure",
    "definition",
    "mechanism",
    "project_fact",
    "other",
)

HEADING_VOTES = 3.0
OPENING_VOTES = 2.0
TEXT_VOTES = 1.0
MOST_TEXT_VOTES = 3.0
ENOUGH = 1.0
OPENING_CHARS = 160
SAMPLE_CHARS = 4000
"""So much of the beginning of a passage is looked at."""

SOURCE_VOTES: Mapping[str, tuple[EvidenceRole, float]] = {
    "changelog": ("changelog", 4.0),
    "issue": ("project_fact", 1.5),
    "pull_request": ("project_fact", 1.5),
    "source_code": ("project_fact", 2.5),
    "mail": ("project_fact", 1.0),
    "conversation": ("project_fact", 1.0),
}


@dataclass(frozen=True, slots=True)
class _Cues:
    """`heading` in a heading, `opening` in the first sentence, `text` anywhere."""

    heading: regex.Pattern[str]
    opening: regex.Pattern[str] | None
    text: regex.Pattern[str]


def _any(*patterns: str) -> regex.Pattern[str]:
    return regex.compile("|".join(patterns), regex.IGNORECASE | regex.MULTILINE)


_CUES: Mapping[EvidenceRole, _Cues] = {
    "changelog": _Cues(
        heading=_any(
            r"\bchange ?log\b",
            r"\brelease notes?\b",
            r"\bwhat'?s new\b",
            r"\b(?:bug ?)?fixes\b",
            r"^\s*(?:unreleased|\[?v?\d+\.\d+[\w.]*\]?(?:\s*[-–(].*\d{4}.*)?)\s*$",
            r"更新日志|变更日志|版本说明|发行说明|发布说明|新增功能|更新内容|变更记录|"
            r"問題修復|问题修复",
        ),
        opening=_any(
            r"\b(?:was|were|has been|have been) (?:added|removed|deprecated|renamed|"
            r"introduced) in\b",
            r"^\W*(?:added|changed|fixed|removed|deprecated)\b\s*:?",
            r"^\W*(?:新增|修复|移除|变更|优化)\s*[:：]?",
        ),
        text=_any(
            r"\b(?:since|as of|starting (?:with|from|in)) (?:version )?v?\d+\.\d+",
            r"\b(?:added|removed|deprecated|renamed|introduced|changed) in (?:version )?v?\d",
            r"^[-*]\s*(?:add(?:ed)?|fix(?:ed|es)?|remov(?:e|ed)|deprecat\w+|chang(?:e|ed))\b",
            r"从\s*v?\d+(?:\.\d+)+\s*(?:版本?)?\s*(?:开始|起)|自\s*v?\d+(?:\.\d+)+",
            r"(?:在|于)\s*v?\d+(?:\.\d+)+\s*(?:版本?)?\s*中?(?:新增|引入|移除|废弃|修复)",
            r"^[-*]\s*(?:新增|修复|移除|优化|废弃)",
        ),
    ),
    "counter_example": _Cues(
        heading=_any(
            r"\bcounter-?examples?\b",
            r"\banti-?patterns?\b",
            r"\b(?:common )?(?:mistakes|pitfalls|misconceptions|gotchas)\b",
            r"\bwhen not to\b",
            r"反例|反模式|常见错误|常见误区|误区|踩坑|陷阱|不要这样",
        ),
        opening=_any(
            r"^\W*(?:contrary to|this is (?:not true|wrong|false)|do not assume)\b",
            r"^\W*(?:与.{0,20}相反|这种说法(?:不对|是错|有误)|并非如此)",
        ),
        text=_any(
            r"\bcounter-?example\b",
            r"\b(?:is|was|turned out) (?:not (?:true|always|the case)|wrong|false|incorrect)\b",
            r"\bcontrary to\b",
            r"\b(?:fails|failed|breaks|broke|crashes|crashed|backfires|backfired) (?:when|"
            r"if|because|for)\b",
            r"\b(?:a )?(?:common )?(?:mistake|misconception)\b",
            r"\bdoes not (?:hold|always)\b",
            r"反例|并非(?:总是|所有|如此|一定)|不一定成立|不成立|恰恰相反|误以为|常见误解|"
            r"适得其反",
            r"(?:会|就会|反而)(?:失败|出错|崩溃|变慢|更慢|更差)",
        ),
    ),
    "boundary": _Cues(
        heading=_any(
            r"\b(?:limits?|limitations?|restrictions?|constraints|caveats|compatibility|"
            r"quotas?)\b",
            r"\bunsupported\b|\bknown issues\b|\bnotes? and warnings?\b",
            r"限制|约束|边界|注意事项|已知问题|兼容性|适用范围|使用条件|不支持|配额",
        ),
        opening=_any(
            r"^\W*(?:only|at most|up to|no more than|not supported)\b",
            r"^\W*(?:仅|只(?:有|能|支持)|最多|不支持|不得超过|上限)",
        ),
        text=_any(
            r"\b(?:is|are) (?:not|only) (?:supported|available|allowed|valid|applicable)\b",
            r"\b(?:does|do) not (?:support|apply|work)\b",
            r"\b(?:at most|no more than|up to|must not exceed|cannot exceed|maximum (?:of|"
            r"is|number))\b",
            r"\bonly (?:if|when|for|in|works?|applies|supports?)\b",
            r"\b(?:unless|except (?:for|when|in))\b",
            r"不支持|不适用|仅(?:支持|适用|限|在|当)|只(?:支持|适用|能|在|有当)|最多|"
            r"最大(?:值|为|长度|数量)|不(?:得|能)超过",
            r"除非|上限|下限|不允许|无法(?:用于|在)",
        ),
    ),
    "procedure": _Cues(
        heading=_any(
            r"\bhow to\b|\b(?:step|steps|tutorial|quick ?start|getting started|walkthrough)\b",
            r"^\s*(?:install(?:ing|ation)?|configur(?:e|ing)|set(?:ting)? up|upgrad(?:e|"
            r"ing)|deploy(?:ing)?|migrat(?:e|ing))\b",
            r"步骤|教程|快速开始|快速上手|入门|安装|部署|操作(?:方法|指南|流程)|如何|怎么|"
            r"升级(?:步骤|方法|指南)",
        ),
        opening=_any(
            r"^\W*(?:to \w+[^.]{0,60}, (?:run|use|set|open|add|call|click|execute)|"
            r"follow these steps|first,)",
            r"^\W*(?:要|若要|如需|想要).{0,30}(?:请|可以|需要|执行|运行)|^\W*(?:首先|"
            r"按(?:照)?以下步骤|执行以下)",
        ),
        text=_any(
            r"^\s*(?:step )?\d+[.)]\s+\p{Lu}?\w+",
            r"\b(?:run|execute|type) (?:the following|this)? ?(?:command)?\s*[:`]",
            r"\bthen (?:run|set|open|click|restart|add|call)\b",
            r"^\s*\$ \w+",
            r"^\s*(?:第[一二三四五六七八九十]步|步骤\s*[\d一二三四五六七八九十]|"
            r"\d+[.、)]\s*\p{Han})",
            r"(?:然后|接着|最后)(?:运行|执行|打开|点击|重启|设置)|执行(?:以下|如下)?命令",
        ),
    ),
    "definition": _Cues(
        heading=_any(
            r"\b(?:definitions?|glossary|terminology|terms|concepts?|what (?:is|are))\b",
            r"\b(?:overview|introduction)\b",
            r"定义|术语|概念|名词解释|什么是|是什么|简介|概述",
        ),
        opening=_any(
            r"^[#\s]*(?:an? |the )?[\w`'\"().-]+(?: [\w`'\"().-]+){0,5} (?:is|are) (?:an?|"
            r"the|one of|any|when)\b",
            r"\b(?:refers? to|is defined as|stands for|is called|are called|is known as|"
            r"means that)\b",
            r"^[#\s]*[^。！？\n，]{1,24}(?:是指|指的是|是一(?:种|个|类|款|组|项)|定义为|"
            r"称为|即指|的意思是)",
        ),
        text=_any(
            r"\b(?:is defined as|refers to|is short for|stands for|also known as|"
            r"by definition)\b",
            r"是指|指的是|定义为|被称为|又称|简称|的缩写|全称",
        ),
    ),
    "mechanism": _Cues(
        heading=_any(
            r"\b(?:how (?:it|this|\w+(?: \w+)?) works?|internals?|architecture|design|"
            r"mechanism|algorithm|under the hood|implementation)\b",
            r"原理|机制|架构|实现|工作方式|工作流程|内部|算法|设计思路|底层",
        ),
        opening=_any(
            r"\bworks (?:by|as follows|like this)\b|\b(?:internally|under the hood)\b",
            r"(?:的)?(?:工作)?原理是|的机制是|内部(?:通过|使用|采用)|底层(?:通过|使用|采用|是)",
        ),
        text=_any(
            r"\b(?:because|therefore|as a result|which (?:lets|allows|causes|means)|so that|"
            r"in order to)\b",
            r"\b(?:is|are) (?:computed|calculated|derived|implemented|stored|propagated|"
            r"replicated|hashed|split|merged) (?:by|from|as|in|with|into|to)\b",
            r"\binternally\b|\bunder the hood\b|\bworks by\b",
            r"因为|由于|因此|从而|使得|以便|其原因|通过.{1,30}(?:实现|完成|计算|达到|保证)",
            r"(?:基于|采用|利用).{1,30}(?:算法|协议|机制|结构|模型)",
        ),
    ),
    "project_fact": _Cues(
        heading=_any(
            r"\b(?:decisions?|decision log|meeting notes|minutes|status|roadmap|milestones?|"
            r"postmortem|retrospective|our \w+)\b",
            r"决策|决定|会议纪要|会议记录|进展|路线图|里程碑|复盘|项目(?:背景|现状|进度|"
            r"约定)|本项目",
        ),
        opening=_any(
            r"^\W*(?:we|our (?:team|project|service|system|repository)|this (?:project|"
            r"repository|repo|service))\b",
            r"^\W*(?:我们|本项目|本系统|本服务|本仓库|团队|我方|项目组)",
        ),
        text=_any(
            r"\bwe (?:decided|chose|agreed|use|run|deploy|moved|switched|migrated|measured|"
            r"keep|shipped|plan)\b",
            r"\bour (?:team|project|service|system|cluster|deployment|codebase|repository|"
            r"customers|users)\b",
            r"\b(?:in|for) this (?:project|repository|repo|codebase)\b",
            r"我们(?:决定|选择|采用|使用|约定|迁移|测得|部署|改用|计划)|经讨论|一致同意|"
            r"本项目|本系统|本服务",
            r"项目组|团队(?:决定|约定|采用)",
        ),
    ),
}


def role_of(
    text: str, *, headings: Sequence[str] = (), source_type: str = "unknown"
) -> EvidenceRole:
    """`headings` from the title down; a heading nearer to the text counts more."""
    votes: dict[EvidenceRole, float] = {}
    for role, cues in _CUES.items():
        found = _votes(cues, text[:SAMPLE_CHARS], headings)
        if found:
            votes[role] = found
    by_source = SOURCE_VOTES.get(source_type)
    if by_source is not None:
        votes[by_source[0]] = votes.get(by_source[0], 0.0) + by_source[1]
    best = max(ROLES, key=lambda role: votes.get(role, 0.0))  # the earlier of equals
    return best if votes.get(best, 0.0) >= ENOUGH else "other"


def _votes(cues: _Cues, text: str, headings: Sequence[str]) -> float:
    votes = 0.0
    for distance, heading in enumerate(reversed(headings)):
        if cues.heading.search(heading):
            votes = max(votes, HEADING_VOTES / (1 + distance))
    if cues.opening is not None and cues.opening.search(_opening(text)):
        votes += OPENING_VOTES
    return votes + min(TEXT_VOTES * len(cues.text.findall(text)), MOST_TEXT_VOTES)


def _opening(text: str) -> str:
    """The first lines that are no headings."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return next(lines, "")[:OPENING_CHARS]
