"""Claims and evidence in terms that both languages share: concepts, stems, and what is denied.

A text becomes terms: a concept (`default` for default, defaults, 默认值, 缺省), a stem of an
English word, a pair of Chinese characters. A mark of negation denies the next term of its clause; a
word that is the opposite of another (关闭, disabled) is that other, denied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex
import Stemmer

from cluster.text.function_words import function_spans, is_function_word
from cluster.text.han import to_simplified

_ATTRIBUTES = {
    "default": "default values?|default settings?|by default|defaults?(?: to)?|defaulted|defaulting"
    "|out of the box|unless (?:otherwise )?(?:configured|set|specified|changed|overridden)"
    "|if (?:it is |you do )?(?:not|nothing is|left) (?:set|specified|configured|changed|unset)"
    "|when (?:it is )?(?:not set|unset|left unset|unspecified|omitted)"
    "|(?:如果|若)?(?:未|没有|不)(?:显式)?(?:设置|配置|指定|修改|做修改)(?:时|的话|的情况下)?"
    "|默认值|缺省值|预设值|默认情况下|默认设置|默认配置|默认|缺省|预设",
    "minimum": "minimum values?|minimum|minimal|min|at least|no(?:t)? (?:less|fewer|lower) than"
    "|lowest|smallest|lower (?:bound|limit)|or (?:more|above|later|higher|greater|newer)"
    "|最小值|最小可?为|最小|最少|至少|下限|(?:不能|不得|不可|不应|不)(?:少于|小于|低于)|最低|起码"
    "|及(?:其)?以上|以上|或更高|或以上",
    "maximum": "maximum values?|maximum|max|at most|no(?:t)? more than|up to|upper (?:bound|limit)"
    "|limited to|limits?|(?:can ?not|must not|may not|should not|not) (?:be (?:more|larger) than"
    "|exceed)|largest|highest|最大值|最大可?为|最大|最多|至多|上限|(?:不能|不得|不可|不会|不)?超过了?"
    "|不(?:得)?(?:大于|多于|高于)|最高|限制(?:为|是|在)?|限额|以内",
    "range": "value range|valid range|values? (?:from|between)|ranges?(?: from)?"
    "|取值范围|合法值范围|可调整范围|范围|值域|介于",
    "options": "possible values?|allowed values?|valid values?|accepted values?|options?|choices"
    "|can be set to|may be set to|可选值|可选项|可设置为|可以设置为|可取值|可选的值|合法值|取值",
    "unit": "units?|measured in|单位",
    "scope": "scopes?|作用域|作用范围",
    "type": "data types?|types?|数据类型|类型",
    "introduced": "introduced|introduces?|was added|were added|is added|added|new in"
    "|first appeared|available (?:since|from|as of)|引入|新增|新加入|加入|首次(?:出现|提供)",
    "deprecated": "deprecated|deprecates?|deprecation|废弃|弃用",
    "removed": "removed|removes|dropped|移除|去除",
    "persisted": "persist(?:s|ed)?(?: to (?:the )?cluster)?|持久化(?:到集群)?",
}
"""What is said of a subject. A concept that consumes a negation (`not exceed`) denies nothing."""

_OPPOSITES = {
    "support": ("supports?|supported|supporting|compatible|支持|兼容", "unsupported|incompatible"),
    "enable": (
        "enables?|enabled|enabling|turn(?:s|ed)? on|switched on|activated?|开启|启用|打开|激活",
        "disables?|disabled|disabling|turn(?:s|ed)? off|switched off|deactivated?|关闭|禁用|停用",
    ),
    "allow": (
        "allows?|allowed|allowing|permits?|permitted|允许",
        "forbids?|forbidden|prohibits?|prohibited|disallows?|disallowed|denies|denied|禁止|不允许",
    ),
    "require": (
        "requires?|required|must|mandatory|necessary|必须|必需|必填|要求",
        "optional|可选(?:的)?|无需|无须|不必|不需要",
    ),
    "increase": (
        "increases?|increased|increasing|raises?|raised|增加|增大|提高|提升|上升",
        "decreases?|decreased|decreasing|reduces?|reduced|lowers?|lowered|减少|减小|降低|下降",
    ),
    "more": (
        "more than|greater than|larger than|longer than|higher than|exceeds?|above|大于|高于|多于",
        "less than|fewer than|smaller than|shorter than|lower than|below|小于|低于|少于",
    ),
    "include": ("includes?|included|contains?|包含|包括", "excludes?|excluded|排除"),
    "succeed": ("succeeds?|succeeded|successful|成功", "fails?|failed|failure|失败"),
    "asynchronous": ("asynchronous(?:ly)?|async|异步", "synchronous(?:ly)?|同步"),
    "ascending": ("ascending|升序", "descending|降序"),
    "mutable": ("mutable|可变", "immutable|不可变"),
}

_SHARED = {
    "index": "index(?:es)?|indices|索引",
    "partition": "partitions?|分区",
    "collection": "collections?|集合",
    "column": "columns?|列",
    "node": "nodes?|节点",
    "cluster": "clusters?|集群",
    "memory": "memory|ram|内存",
    "disk": "disks?|磁盘",
    "port": "ports?|端口号?",
    "timeout": "timeouts?|time-outs?|超时(?:时间)?",
    "thread": "threads?|线程",
    "concurrency": "concurrency|concurrent|并发度?",
    "size": "sizes?|大小",
    "number": "numbers? of|number|counts?|how many|数量|个数|数目",
    "length": "lengths?|长度",
    "dimension": "dimensions?|dimensional|维度?|维数",
    "request": "requests?|请求",
    "connection": "connections?|连接",
    "query": "quer(?:y|ies)|查询",
    "search": "search(?:es)?|搜索|检索",
    "insert": "inserts?|inserted|插入",
    "file": "files?|文件",
    "log": "logs?|日志",
    "backup": "backups?|备份",
    "cache": "caches?|cached|缓存",
    "character": "characters?|个?字符",
    "string": "strings?|字符串",
    "field": "fields?|字段",
    "vector": "vectors?|向量",
    "name": "names?|名称|名字",
    "interval": "intervals?|间隔",
    "shard": "shards?|分片",
    "entity": "entit(?:y|ies)|实体",
    "replica": "replicas?|副本",
    "transaction": "transactions?|事务",
    "version": "versions?|releases?|版本",
    "retry": "retr(?:y|ies)|重试",
    "password": "passwords?|密码",
    "user": "users?|用户",
}
_GENERIC = (
    r"according to|documentation|docs?|documents?|documented|mentions?|states?|says?|said"
    r"|official(?:ly)?|values?|settings?"
    r"|set|configured|configurations?|configs?|config items?|configuration items?|parameters?"
    r"|variables?|system variables?|options?|propert(?:y|ies)|attributes?|keys?|called|named"
    r"|equals?|equal to|exactly|namely|is given as|given|stands? at|comes? with|ships? with|uses?"
    r"|used|takes?|accepts?|has|have|had|a single|system|total of|in total|as"
    r"|据|根据|官方|文档|手册|说明|指出|写道|记载|规定|显示|显式|值|系统变量|变量|参数|配置项|配置|设置|设定"
    r"|选项|属性|字段值|名为|叫做|等于|一共|总共|共计|共有|目前|当前|通常|其|该|此|设为|设成|为|是|的|中"
    r"|里|下|上|即|从|自|起|取|看|到|说|以|开始|时|会|则|有|一个|单个|每个|对应|采用|使用|版|个|条|次"
    r"|可以|能够|应该|应当|那么|这么"
)
"""Words that frame a claim; evidence need not repeat them."""

_LIGHT = frozenset("可能应按照据将把被由给对向让使所得须要且并又还")
"""Characters that say nothing where they stand alone between other words."""

_NEGATION = regex.compile(
    r"\b(?:no longer|cannot|can ?not|not|never|without|neither|nor|none|unable|no|differs? from"
    r"|different from|other than)\b|n['\u2019]t\b|不同于|有别于"
    r"|不再|不会|不能够?|不可以?|不得|不应该?|并不是?|并非|不是|不了|没有|尚未|从未|并未|未曾|无法|未能"
    r"|不|没|未|无|勿",
    regex.IGNORECASE,
)
_NO_NEGATION = regex.compile(
    r"\bnot only\b|\bno matter\b|\bwhether or not\b|\bnot necessarily\b|\bno\.\s?\d"
    r"|不仅|不过|不断|不论|不管|无论|不但|不只|不止|不久|未来|无限|无符号|无状态|差不多|是不是|有没有|能不能"
    r"|不同(?!于)|不一|不足|不等|不变|无关|是否|不妨|不禁|不定|不由|无缝|未必",
    regex.IGNORECASE,
)
_CLAUSE = regex.compile(
    r"[,，;；。!?！？\n]|(?<=[^\d])[.](?=\s|$)|\s[-–—]\s|——|但是?|\b(?:but|while|whereas)\b"
)
_LITERAL = regex.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|https?://\S+")
_WORD = regex.compile(
    r"(?P<latin>[\p{Latin}][\p{Latin}\p{M}\d_.'\u2019-]*[\p{Latin}\d_]|\p{Latin})|(?P<han>\p{Han}+)"
)
_JOINED = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+(?![A-Za-z0-9_])")
"""Words joined by hyphens are one: `disable-auto-flush` denies nothing."""

_STEMMER = Stemmer.Stemmer("english")
DENIED = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """`terms` are what a text is about, `attributes` which concepts of attributes it has,
    `denied` those of its terms and attributes that it denies."""

    terms: frozenset[str]
    attributes: frozenset[str]
    denied: frozenset[str]

    @property
    def negated(self) -> bool:
        """An odd number of denials: the whole says the opposite."""
        return len(self.denied) % 2 == 1


@lru_cache(maxsize=4096)
def read_wording(text: str) -> Wording:
    """Literals and addresses do not count as words."""
    simplified = to_simplified(_LITERAL.sub(_blank, text))
    terms: set[str] = set()
    denied: set[str] = set()
    for clause in clauses(simplified):
        for term, sign in _signed(clause):
            terms.add(term)
            if sign < 0:
                denied.add(term)
    attributes = frozenset(term[1:] for term in terms if term[1:] in _ATTRIBUTES)
    return Wording(
        terms=frozenset(term for term in terms if term[1:] not in _ATTRIBUTES),
        attributes=attributes,
        denied=frozenset(denied),
    )


def clauses(text: str) -> list[str]:
    """The parts of a sentence between commas, semicolons and contrasts."""
    return [part for part in _CLAUSE.split(text) if part and part.strip()]


def _signed(clause: str) -> list[tuple[str, int]]:
    """The clause's terms in order, each with -1 where it is denied."""
    marks = _marks(clause)
    found: list[tuple[str, int]] = []
    sign = 1
    for term, own in marks:
        if term == DENIED:
            sign = -sign
            continue
        found.append((term, own * sign))
        sign = 1
    if sign < 0:
        found.append((f"#{DENIED}", -1))
    return found


def _marks(clause: str) -> list[tuple[str, int]]:
    """Concepts, negations and words in order of the text."""
    places: list[tuple[int, str, int]] = []

    def mark(match: re.Match[str], phrases: Sequence[_Phrase]) -> str:
        _, name, own = phrases[(match.lastindex or 1) - 1]
        if name:
            places.append((match.start(), f"#{name}", own))
        return " " * len(match.group())

    places.extend(
        (match.start(), match.group().casefold(), 1) for match in _JOINED.finditer(clause)
    )
    rest = _JOINED.sub(_blank, clause)
    rest = _LATIN.sub(lambda match: mark(match, _LATIN_PHRASES), rest)
    if not rest.isascii():
        rest = _HAN.sub(lambda match: mark(match, _HAN_PHRASES), rest)
    rest = _NO_NEGATION.sub(_blank, rest)
    places.extend((match.start(), DENIED, 1) for match in _NEGATION.finditer(rest))
    rest = _NEGATION.sub(_blank, rest)
    for match in _WORD.finditer(rest):
        places.extend((match.start() + at, term, 1) for at, term in _word_terms(match))
    places.sort(key=lambda place: place[0])
    return [(term, own) for _, term, own in places]


def _word_terms(match: regex.Match[str]) -> list[tuple[int, str]]:
    word = match.group()
    if match["latin"]:
        folded = word.casefold().replace("\u2019", "'")
        if is_function_word(folded) or folded in ("s", "t"):
            return []
        return [(0, _STEMMER.stemWord(folded))]
    spans = function_spans(word)
    runs = regex.finditer(r"\x00+", bytes(spans).decode("latin-1"))
    found: list[tuple[int, str]] = []
    for run in runs:
        piece = word[run.start() : run.end()]
        if len(piece) == 1 and piece not in _LIGHT:
            found.append((run.start(), piece))
        found.extend((run.start() + at, piece[at : at + 2]) for at in range(len(piece) - 1))
    return found


def _blank(match: Any) -> str:
    return " " * len(match.group())


_Phrase = tuple[str, str, int]
"""A pattern, its concept (empty: none), and -1 where it is the opposite of that."""


def _split(alternatives: str) -> list[str]:
    """At the bars outside parentheses."""
    parts, depth, last = [], 0, 0
    for place, letter in enumerate(alternatives):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append(alternatives[last:place])
            last = place + 1
    return [*parts, alternatives[last:]]


def _phrases(*, latin: bool) -> tuple[_Phrase, ...]:
    """The longest first, so that a phrase wins over its parts."""
    tables = [(name, phrases, 1) for name, phrases in (_ATTRIBUTES | _SHARED).items()]
    for name, (positive, negative) in _OPPOSITES.items():
        tables += [(name, positive, 1), (name, negative, -1)]
    tables.append(("", _GENERIC, 1))
    split = [(each, name, sign) for name, all_of, sign in tables for each in _split(all_of)]
    chosen = [one for one in split if bool(re.search("[A-Za-z]", one[0])) == latin]
    return tuple(sorted(chosen, key=lambda each: (-len(each[0]), not each[1])))


def _compiled(phrases: Sequence[_Phrase], *, latin: bool) -> re.Pattern[str]:
    joined = "|".join(f"({pattern})" for pattern, _, _ in phrases)
    if latin:
        joined = rf"(?<![A-Za-z0-9_-])(?:{joined})(?![A-Za-z0-9_])"
    return re.compile(joined, re.IGNORECASE)


_LATIN_PHRASES = _phrases(latin=True)
_HAN_PHRASES = _phrases(latin=False)
_LATIN = _compiled(_LATIN_PHRASES, latin=True)
_HAN = _compiled(_HAN_PHRASES, latin=False)
