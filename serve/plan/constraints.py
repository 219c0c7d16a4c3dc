"""What must a passage be, whatever it says? "Only official docs", "只看中文资料", "notes by Mira".

A constraint that is read out of words that were meant otherwise loses the answer, so each needs
words that say so: a demand ("only", "只看", "no blogs") always counts; a mere mention ("according
to the changelog", "论文里") counts only where something stored fits it (`certain` is False until
that is known). The words of a constraint are no topic: they are taken out of what is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import regex

from cluster.filters import AllOf, AnyOf, Eq, Filter, In, Missing, Not, Range
from serve.plan.filter_json import PlanFilter
from serve.plan.source_words import (
    LANGUAGE_NAMES,
    LANGUAGE_WORDS,
    MATERIAL_EN,
    MATERIAL_ZH,
    SOURCE_WORDS,
    TYPE_NAMES,
    key_of,
    named,
)
from serve.plan.time_mention import TimeMention

ConstraintKind = Literal["source_type", "language", "author", "tag", "date", "valid"]
MAX_CONSTRAINTS = 8
MAX_TOLD_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """`said` is `question[start:end]`; `where` None where the words ask for what holds anyway.
    `meaning` completes "only what is …"."""

    kind: ConstraintKind
    said: str
    start: int
    end: int
    where: PlanFilter | None
    meaning: str
    certain: bool = True


_EDGE = r"(?<![\p{Latin}\d])"
_END = r"(?![\p{Latin}\d])"
_TYPES_EN = named(SOURCE_WORDS, side=0, prefix="en")
_TYPES_ZH = named(SOURCE_WORDS, side=1, prefix="zh")
_LANGUAGES_EN = named(LANGUAGE_WORDS, side=0, prefix="en")
_LANGUAGES_ZH = named(LANGUAGE_WORDS, side=1, prefix="zh")
_FLAGS = regex.VERBOSE | regex.IGNORECASE

_LEAD_EN = r"""(?:^\s*|(?<=[,;:.?!(\u2014-]\s{0,4})
    |(?<=\b(?:please|use|using|search|searching|answer|show|with|from|in|at|me|and|but|the)
        \s{1,4}))"""
_CLOSE_EN = r"(?=\s*(?:please\b|[,;:.?!()]|$))"
_LEAD_ZH = r"(?:^\s*|(?<=[,，。；;：:！？!?、\s（(])|(?<=请|我|我们|麻烦|帮忙|必须|而且|并且|但))"
_CLOSE_ZH = r"(?!\s*(?:吗|么|的[人用]))"
"""A demand is made of us: it begins a clause, or follows what is said to us. "Does the crawler
read only blogs?" asks about a crawler. What looks back sees few blanks: each place in a long run
of them would look back to its start."""

_ONLY_EN = r"""(?:only|solely|exclusively|nothing\s+but|(?:restrict(?:ed)?|limit(?:ed)?)\s+to)
    (?:\s+(?:use|using|in|from|at|search|show|consult|cite|quote|trust|look|the|our|your))*\s+"""
_ONLY_ZH = r"""(?:(?:只|仅)(?:能|要|想|需要?|允许)?
        (?:看|用|查|搜索?|参考|引用|采用|依据|根据|基于|限于?|认|从|在|使用|检索|来自)(?:一下)?(?:来自)?
    |仅限(?:于)?|限定(?:在|于|为)?)"""
_NOT_EN = r"""(?:no(?=\s+(?:blog|forum))|not\s+from|without(?:\s+any)?|exclud(?:e|ing)
    |ignor(?:e|ing)|leav(?:e|ing)\s+out)\s+(?:the\s+)?"""
_NOT_ZH = r"(?:不要|不看|不用|别看|别用|排除|不包括|不包含|忽略|不参考)(?:来自)?"

_DEMANDED_TYPE = regex.compile(
    rf"""{_LEAD_EN}(?P<no>{_NOT_EN})(?:{_TYPES_EN}){_END}
       |{_LEAD_ZH}(?P<no>{_NOT_ZH})(?:{_TYPES_ZH}){_CLOSE_ZH}
       |{_LEAD_EN}{_ONLY_EN}(?:{_TYPES_EN}){_END}
       |{_LEAD_EN}(?:{_TYPES_EN})\s+only{_CLOSE_EN}
       |{_LEAD_ZH}{_ONLY_ZH}(?:{_TYPES_ZH})(?:里面?|中|上)?{_CLOSE_ZH}""",
    _FLAGS,
)
_MENTIONED_TYPE = regex.compile(
    rf"""(?:^|(?<=[,;.?!，；。？！]\s{{0,4}}))\s*(?:
            (?:according\s+to|from|in|(?:as\s+)?per|based\s+on|looking\s+(?:at|in))\s+(?:the|our)\s+
                (?:{_TYPES_EN})\s*(?:,|(?=[\p{{Han}}]))
           |(?:根据|按照|依据|从|在)?(?:{_TYPES_ZH})(?:里面?|中|上|显示|来看|的说法)(?:说|提到|写)?\s*[,，]?
           |(?:根据|按照|依据)(?:{_TYPES_ZH})\s*[,，]
        )
       |{_EDGE}(?:according\s+to|from|as\s+per|based\s+on|in)\s+(?:the|our)\s+(?:{_TYPES_EN})
            \s*(?=[?!.？！。]*\s*$)
       |[,，]\s*(?:根据|按照|依据)(?:{_TYPES_ZH})(?:来看|回答)?(?=[?!.？！。]*\s*$)""",
    _FLAGS,
)
_LANGUAGE = regex.compile(
    rf"""{_LEAD_EN}(?P<only>{_ONLY_EN})(?:{_LANGUAGES_EN})(?:(?:[-\s]language)?\s+{MATERIAL_EN}{_END}
            |{_CLOSE_EN})
       |{_LEAD_EN}(?P<only>in\s+)?(?:{_LANGUAGES_EN})(?P<only>\s+only){_CLOSE_EN}
       |{_LEAD_EN}(?:{_LANGUAGES_EN})(?:[-\s]language)?\s+{MATERIAL_EN}(?P<only>\s+only){_CLOSE_EN}
       |{_LEAD_ZH}(?P<only>{_ONLY_ZH})(?:{_LANGUAGES_ZH})(?:版|版本)?
            (?:的?{MATERIAL_ZH}(?:里面?|中)?|(?=\s*(?:[,，。：:？?！!]|$))){_CLOSE_ZH}
       |{_EDGE}(?:from|in|using|search)\s+(?:the\s+)?(?:{_LANGUAGES_EN})(?:[-\s]language)?
            \s+{MATERIAL_EN}{_END}
       |{_EDGE}{MATERIAL_EN}\s+(?:written\s+)?in\s+(?:{_LANGUAGES_EN})(?=[?!.,？！。，]|\s*$)
       |(?:用|从|在|查|找|看|根据|参考)(?:{_LANGUAGES_ZH})(?:版)?的?{MATERIAL_ZH}(?:里面?|中)?
       |(?<=[年月日号天周度]的)(?:{_LANGUAGES_ZH})(?:版)?的?{MATERIAL_ZH}(?:里面?|中)?
       |(?<=[年月日号天周度])(?:{_LANGUAGES_ZH})(?:版)?的?{MATERIAL_ZH}(?:里面?|中)
       |(?:^|(?<=[,，。？?！!]\s{{0,4}}))(?:{_LANGUAGES_ZH}){MATERIAL_ZH}(?:里面?|中|(?=[,，。？?！!]?\s*$))""",
    _FLAGS,
)
_WORD_EN = r"\p{Lu}[\p{L}'\u2019.-]{0,39}+(?!\p{L})"
_NAME_EN = rf"(?P<name>{_WORD_EN}(?:\s+{_WORD_EN}){{0,3}})"
_NAME_ZH = r"(?P<name>\p{Han}{2,4}|[\p{Latin}\d_.-]{2,40})"
_AUTHOR = regex.compile(
    rf"""(?i:{_EDGE}(?P<only>only\s+)?(?:the\s+)?(?:blog\s+)?{MATERIAL_EN}(?:\s+(?:that\s+(?:was|were)\s+)?
            (?:written|authored|posted|sent))?\s+by\s+){_NAME_EN}
       |(?:(?P<only>只看|只用|只要|仅看)|(?<=^|[,，。、\s]|根据|按照|参考|看看|在|从)){_NAME_ZH}
            \s*(?:写|发|撰写|发布|整理)的{MATERIAL_ZH}(?:里面?|中)?
       |作者(?:是|为|：|:)\s*{_NAME_ZH}\s*的{MATERIAL_ZH}(?:里面?|中)?""",
    regex.VERBOSE,
)
_TAG = regex.compile(
    r"""(?<![\p{Latin}\d])(?:(?:is\s+|are\s+)?tagged(?:\s+(?:with|as))?|with\s+the\s+tag)\s+
            ["'“‘#]?(?P<tag>[\p{L}\d_-]{1,40})["'”’]?
       |(?:标签|tag)(?:是|为|：|:)\s*["'“「#]?(?P<tag>[\p{L}\d_-]{1,20}?)["'”」]?(?=的|\s|[,，。?？]|$)
       |(?:带有?|打了)["'“「#]?(?P<tag>[\p{L}\d_-]{1,20}?)["'”」]?(?:的)?标签(?:的)?""",
    _FLAGS,
)
_VALID = regex.compile(
    r"(?:\s*(?:里|时|底|末))?\s*(?:仍|仍然|依然|还|依旧)(?:有效|适用|可用|成立)(?:的)?"
)
_VALID_EN = regex.compile(
    r"(?:\bstill\s+)?\b(?:valid|in\s+force|applicable)\s+(?:(?:in|on|at)\s+)?$", regex.IGNORECASE
)
_AS_OF = regex.compile(r"as\s+of\b", regex.IGNORECASE)
_CHANGING = regex.compile(
    rf"\b(?:rules?|polic(?:y|ies)|laws?|regulations?|defaults?|settings?|versions?|editions?|apis?"
    rf"|specs?|specifications?|prices?|terms)\b|{_EDGE}{MATERIAL_EN}{_END}",
    regex.IGNORECASE,
)
"""What is written down and replaced: "the rules as of 2024" asks for those of then, "the
population as of 2010" may be told by whoever wrote later."""

_DATED_EN = regex.compile(
    rf"{_EDGE}{MATERIAL_EN}\s+(?:(?:that\s+were\s+|which\s+were\s+)?"
    r"(?P<verb>published|posted|released|updated|revised|dated|written)\s+(?P<from>in\s+)?"
    r"|(?P<from>from\s+))?$",
    regex.IGNORECASE,
)
_DATED_ZH = regex.compile(
    rf"\s*(?:之?[前后]|以[来前后]|起)?\s*(?P<verb>发布|发表|更新|修订|写|公布|出版)?的"
    rf"(?:(?=(?:{_LANGUAGES_ZH}){MATERIAL_ZH})|(?:官方)?{MATERIAL_ZH}(?:里面?|中)?)"
)
_UPDATED = frozenset({"updated", "revised", "更新", "修订"})


def find_constraints(
    question: str, *, times: Sequence[TimeMention], now: datetime
) -> tuple[Constraint, ...]:
    """In order of the text, none over another: what is demanded goes before what is mentioned."""
    found: list[Constraint] = []
    for each in _all(question, times=times, now=now):
        free = all(each.end <= other.start or other.end <= each.start for other in found)
        if free and len(found) < MAX_CONSTRAINTS:
            found.append(each)
    return tuple(sorted(found, key=lambda each: each.start))


def without(question: str, constraints: Iterable[Constraint]) -> str:
    """The question without the words of its constraints; as it is when nothing else is left."""
    rest = question
    for each in sorted(constraints, key=lambda each: -each.start):
        rest = f"{rest[: each.start]} {rest[each.end :]}"
    rest = regex.sub(r"\s+", " ", rest).strip(" ,，;；、:：.。")
    rest = regex.sub(r"[\s,，;；、:：]+(?=[?？!！.。]*$)", "", rest)
    return rest if regex.search(r"[\p{L}\p{N}]", rest) else question


def known_by(moment: datetime) -> Filter:
    """What was neither published nor said at that moment or later; what has no date stays."""
    return AllOf((Not(Range("published_at", gte=moment)), Not(Range("said_at", gte=moment))))


def taken(constraint: Constraint) -> str:
    """The note on words that were taken as a constraint."""
    return f"{_words(constraint)!r}: only what is {constraint.meaning}"


def unmet(constraint: Constraint) -> str:
    """The note on a mention that nothing stored fits."""
    said = _words(constraint)
    return f"{said!r}: nothing here is {constraint.meaning}; looked at everything"


def _words(constraint: Constraint) -> str:
    """What was said, for a note: blanks and length of a question may be anything."""
    said = " ".join(constraint.said.split())
    return said if len(said) <= MAX_TOLD_CHARS else f"{said[:MAX_TOLD_CHARS]}…"


def left_nothing(constraints: Iterable[Constraint]) -> str:
    """The note of an empty answer."""
    told = " and ".join(each.meaning for each in constraints if each.where is not None)
    return f"nothing here is {told}; leave that out of the question to look at everything"


def _all(question: str, *, times: Sequence[TimeMention], now: datetime) -> Iterator[Constraint]:
    yield from (_source(match, certain=True) for match in _DEMANDED_TYPE.finditer(question))
    yield from map(_language, _LANGUAGE.finditer(question))
    yield from map(_author, _AUTHOR.finditer(question))
    yield from map(_tag, _TAG.finditer(question))
    for mention in times:
        yield from _dated(question, mention, now=now)
    yield from (_source(match, certain=False) for match in _MENTIONED_TYPE.finditer(question))


def _source(match: regex.Match[str], *, certain: bool) -> Constraint:
    kind = key_of(match, SOURCE_WORDS, prefix="en") or key_of(match, SOURCE_WORDS, prefix="zh")
    excluded = bool(match.groupdict().get("no"))
    where: Filter = Eq("source_type", kind)
    return _constraint(
        match,
        kind="source_type",
        where=Not(where) if excluded else where,
        meaning=f"{'not ' if excluded else ''}from {TYPE_NAMES[kind]}",
        certain=certain,
    )


def _language(match: regex.Match[str]) -> Constraint:
    code = key_of(match, LANGUAGE_WORDS, prefix="en") or key_of(match, LANGUAGE_WORDS, prefix="zh")
    return _constraint(
        match,
        kind="language",
        where=Eq("language", code),
        meaning=f"in {LANGUAGE_NAMES[code]}",
        certain=bool(match["only"]),
    )


def _author(match: regex.Match[str]) -> Constraint:
    name = regex.sub(r"['\u2019]s$|[.'\u2019-]+$", "", " ".join(match["name"].split()))
    spellings = tuple(dict.fromkeys((name, name.title(), name.lower(), name.upper())))
    return _constraint(
        match,
        kind="author",
        where=In("author", spellings),
        meaning=f"by {name}",
        certain=False,
    )


def _tag(match: regex.Match[str]) -> Constraint:
    tag = match["tag"]
    spellings = tuple(dict.fromkeys((tag, tag.lower(), tag.title(), tag.upper())))
    return _constraint(
        match, kind="tag", where=In("tags", spellings), meaning=f"tagged {tag}", certain=False
    )


def _dated(question: str, mention: TimeMention, *, now: datetime) -> Iterator[Constraint]:
    """A time bounds the material only where it stands beside a word for it."""
    if not mention.placed:
        return
    before, behind = question[: mention.start], question[mention.end :]
    if (valid := _VALID.match(behind)) is not None:
        end = mention.end + valid.end()
        yield _valid_at(question, mention, start=mention.start, end=end, now=now)
    elif (said := _VALID_EN.search(before)) is not None:
        yield _valid_at(question, mention, start=said.start(), end=mention.end, now=now)
    elif _AS_OF.match(mention.raw) and _CHANGING.search(question):
        yield _valid_at(question, mention, start=mention.start, end=mention.end, now=now)
    elif (made := _DATED_EN.search(before)) is not None and (
        made["verb"] or made["from"] or mention.bound != "in"
    ):
        yield _bounded(question, mention, verb=made["verb"], start=made.start(), end=mention.end)
    elif (made := _DATED_ZH.match(behind)) is not None:
        end = mention.end + made.end()
        yield _bounded(question, mention, verb=made["verb"], start=mention.start, end=end)


def _valid_at(
    question: str, mention: TimeMention, *, start: int, end: int, now: datetime
) -> Constraint:
    """What was there by then; the present edition answers for now and later."""
    until = mention.ends or _end_of(mention)
    past = until is not None and until <= now
    return Constraint(
        kind="valid",
        said=question[start:end],
        start=start,
        end=end,
        where=known_by(until) if past and until is not None else None,
        meaning=f"valid by {_day(until)}" if past else "valid now",
    )


def _end_of(mention: TimeMention) -> datetime | None:
    """ "As of March 2024" is open at its end; the month is over with April."""
    begins = mention.begins
    if begins is None:
        return None
    match mention.grain:
        case "year":
            return begins.replace(year=begins.year + 1)
        case "month":
            return (begins + timedelta(days=45)).replace(day=begins.day)
        case _:
            return begins + timedelta(days=1)


def _bounded(
    question: str, mention: TimeMention, *, verb: str | None, start: int, end: int
) -> Constraint:
    return Constraint(
        kind="date",
        said=question[start:end],
        start=start,
        end=end,
        where=_moment_within(mention, updated=(verb or "").lower() in _UPDATED),
        meaning=f"of the time {_day(mention.begins)} to {_day(mention.ends)}",
        certain=mention.demanded,
    )


def _moment_within(mention: TimeMention, *, updated: bool) -> Filter:
    """When it was said, else published; for what was updated, that moment first."""
    first, second = ("updated_at", "published_at") if updated else ("published_at", "updated_at")
    begins, ends = mention.begins, mention.ends
    return AnyOf(
        (
            Range("said_at", begins, ends),
            Range(first, begins, ends),
            AllOf((Missing(first), Range(second, begins, ends))),
        )
    )


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment is not None else "…"


def _constraint(
    match: regex.Match[str],
    *,
    kind: ConstraintKind,
    where: Filter,
    meaning: str,
    certain: bool,
) -> Constraint:
    return Constraint(
        kind=kind,
        said=match.group(),
        start=match.start(),
        end=match.end(),
        where=where,
        meaning=meaning,
        certain=certain,
    )
