"""Which plain word is said to have a value? `port` of "port defaults to 4000".

A word without underscore or quotes may be the name of a setting all the same. Where a claim gives
it a value it is looked for as a name; whether it is one is told by the evidence.
"""

from __future__ import annotations

from collections.abc import Collection

import regex

from cluster.text.function_words import is_function_word
from serve.claims.words import read_wording

_WORD = (
    r"(?<![\p{Latin}\d_.-])(?!(?:the|an?|its?|this|that|each|every|any|no|by|with)\b)"
    r"(?P<subject>\p{Latin}[\p{Latin}\d]+(?:-[\p{Latin}\d]+)*)(?![\p{Latin}\d_]|[-.][\p{Latin}\d])"
)
_ATTRIBUTE = (
    r"(?:defaults?|maximum|minimum|max|min|(?:value\s+|valid\s+|allowed\s+)?range|scope|type|unit"
    r"|(?:upper|lower)\s+(?:limit|bound))(?:\s+(?:values?|settings?))?"
)
_THING = r"(?:variable|parameter|option|setting|flag|field|property|attribute|key)"
_THING_ZH = r"(?:变量|参数|选项|配置项|配置|设置项|设置|开关|字段|属性)"
_SUBJECT = regex.compile(
    rf"""
    \b{_ATTRIBUTE}\s+(?:of|for)\s+(?:the\s+)?{_WORD}(?!\s+(?!(?:is|was|are|has|does|must|can|cannot
        |should|equals?|in|under|as|at)\b)\p{{Latin}})
   |(?:^|[,:;(]|\bthat\b)\s*(?:the\s+)?{_WORD}\s+(?:(?:does|is|was|has|can|will)(?:\s+not|n't)?\s+)?
        (?:defaults?|ranges?|an?\s+default|set|introduced|enabled|disabled|\S+\s+by\s+default)\b
   |\b(?:with|sets?)\s+{_WORD}\s+(?:set\s+)?(?:to|at|equal)\b
   |\b{_THING}\s+(?:(?:called|named)\s+)?{_WORD}
   |\bthe\s+{_WORD}\s+{_THING}\b
   |{_WORD}\s*(?:的|在[^,]{{0,12}}?[中里])?\s*(?:默认|缺省|预设|取值|最大|最小|上限|下限|范围|作用域|类型
        |单位|不?[能得可](?:大于|小于|超过))
   |{_THING_ZH}\s*{_WORD}
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


def plain_subjects(text: str) -> tuple[str, ...]:
    """Case folded, in order of the text, each once; words that only frame a claim are none."""
    found = (match["subject"].casefold() for match in _SUBJECT.finditer(text))
    return tuple(dict.fromkeys(word for word in found if _may_be_name(word)))


def in_backticks(text: str, words: Collection[str]) -> str:
    """The words marked as names, but for those inside other names and quotes."""
    if not words:
        return text
    any_of = "|".join(map(regex.escape, words))
    pattern = (
        rf"`[^`]*`(*SKIP)(*FAIL)|(?<![\p{{Latin}}\d_.-])(?:{any_of})"
        r"(?![\p{Latin}\d_]|[.-]\p{Latin})"
    )
    return regex.sub(pattern, r"`\g<0>`", text, flags=regex.IGNORECASE)


def _may_be_name(word: str) -> bool:
    return not is_function_word(word) and bool(read_wording(word).terms)
