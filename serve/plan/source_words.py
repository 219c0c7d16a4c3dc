"""How questions name kinds of sources and languages, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping

import regex

SOURCE_WORDS: Mapping[str, tuple[str, str]] = {
    "official_doc": (
        r"official\s+(?:docs?|documentation|documents?|sources?|pages?|manuals?|guides?)",
        r"官方(?:的)?(?:技术)?(?:文档|资料|手册|说明|来源|渠道|教程|指南)|官网(?:的)?(?:文档|资料|说明)?",
    ),
    "changelog": (
        r"change\s?logs?|release\s+notes?",
        r"(?:更新|变更|发布|版本)(?:日志|记录|说明|公告)|发行(?:说明|注记)|changelog|release\s+notes?",
    ),
    "paper": (r"(?:research\s+|academic\s+|scientific\s+)?papers?", r"(?:学术|研究)?论文"),
    "standard": (r"(?:the\s+)?RFCs?|standards?(?:\s+documents?)?", r"(?:国家|行业)?标准文档|RFC"),
    "issue": (r"(?:GitHub\s+)?issues?(?:\s+tracker)?", r"(?:GitHub\s*)?issues?|工单"),
    "pull_request": (r"pull\s+requests?|merge\s+requests?|PRs?", r"PRs?|合并请求|拉取请求"),
    "blog": (r"blogs?(?:\s+posts?)?", r"博客(?:文章)?|博文"),
    "forum": (r"forums?(?:\s+(?:posts?|threads?))?", r"论坛(?:帖子|里的帖子)?|帖子"),
    "source_code": (r"source\s+code|code\s?base", r"源代码|源码"),
    "mail": (r"e-?mails?", r"电子邮件|邮件"),
    "conversation": (
        r"conversations?|chats?(?:\s+(?:history|logs?))?",
        r"(?:聊天|对话|会话)记录",
    ),
}
"""Type -> its names in English and in Chinese, as expressions."""

LANGUAGE_WORDS: Mapping[str, tuple[str, str]] = {
    "en": ("English", "英文|英语"),
    "zh": ("Chinese", "中文|汉语"),
}

MATERIAL_EN = (
    r"(?:docs?|documents?|documentation|pages?|articles?|posts?|papers?|notes?|messages?|e-?mails?"
    r"|sources?|materials?|records?|entries|results?|passages?|write-?ups?)"
)
MATERIAL_ZH = (
    r"(?:(?:聊天|会话|对话)记录|文档|文件|资料|材料|文章|论文|帖子|笔记|邮件|消息|记录|页面|网页|来源|文献|博客|说明"
    r"|内容|结果)"
)

TYPE_NAMES: Mapping[str, str] = {
    "official_doc": "official documentation",
    "changelog": "changelogs",
    "paper": "papers",
    "standard": "standards",
    "issue": "issues",
    "pull_request": "pull requests",
    "blog": "blogs",
    "forum": "forums",
    "source_code": "source code",
    "mail": "e-mails",
    "conversation": "conversations",
}
LANGUAGE_NAMES: Mapping[str, str] = {"en": "English", "zh": "Chinese"}


def named(words: Mapping[str, tuple[str, str]], *, side: int, prefix: str) -> str:
    """One expression with a group `<prefix>_<key>` for each key; `side` 0 English, 1 Chinese."""
    return "|".join(f"(?P<{prefix}_{key}>{each[side]})" for key, each in words.items())


def key_of(match: regex.Match[str], words: Mapping[str, tuple[str, str]], *, prefix: str) -> str:
    """The key whose group matched, or ""."""
    groups = match.groupdict()
    return next((key for key in words if groups.get(f"{prefix}_{key}")), "")
