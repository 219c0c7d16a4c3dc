"""What does a claim say, of what, of which version? Words -> parts that can be compared."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

import regex

from cluster.text.languages import detect_language
from cluster.text.values import Value, read_values
from cluster.text.versions import version_key
from serve.claims.subjects import in_backticks, plain_subjects
from serve.claims.words import Wording, read_wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`versions` are those that it is about, `products` those it names (case folded). `names`
    are its identifiers and quoted words: whether one is the subject or what is said of it is
    told by the evidence; `compounds` may be names (`raft-log-gc`) or not (`read-only`), as may
    `subjects`, plain words that a value is said of.
    `values` are its figures, flags, dates and versions. `asserts` tells what an `enabled by
    default` says: `on` or `off`."""

    text: str
    body: str
    language: str
    products: tuple[str, ...]
    versions: tuple[str, ...]
    names: tuple[str, ...]
    compounds: tuple[str, ...]
    subjects: tuple[str, ...]
    values: tuple[Value, ...]
    wording: Wording
    asserts: str | None

    @property
    def denied(self) -> bool:
        return self.wording.negated

    @property
    def question(self) -> str:
        """What to look for: the claim without the version and without figures of its own, which
        may be wrong."""
        rest = _without(self.body, self.values).strip() or self.text
        return in_backticks(rest, self.subjects)

    @property
    def named(self) -> bool:
        """Is it surely of something that has a name? `read-only` alone may be a word of prose."""
        return bool(
            self.names or self.subjects or any(each.count("-") > 1 for each in self.compounds)
        )

    @property
    def candidates(self) -> tuple[str, ...]:
        """What may be a name beside `names`."""
        return (*self.compounds, *self.subjects)

    def naming(self, names: Collection[str]) -> Claim:
        """The same claim with some of its compounds as names."""
        if not names:
            return self
        stems = {term for name in names for term in read_wording(name).terms}
        wording = replace(self.wording, terms=self.wording.terms - stems)
        return replace(self, names=tuple(dict.fromkeys((*self.names, *names))), wording=wording)


PRODUCT = "\x01"
_VERSION = r"(?:v\.?\s?)?\d+(?:\.(?:\d+|x))*(?:[-.]?(?:rc|beta|alpha|dmr)[-.]?\d*)?"
_SCOPE = regex.compile(
    rf"""
    (?P<lead>(?:\b(?:in|for|of|with|under|on|as\ of|according\ to|per)\s+(?:the\s+)?
        |[在对按于]于?\s*)?)
    (?:(?P<version>(?:\b(?:version|release)\s*|版本\s*)?(?<![\p{{Latin}}\d_.])(?P<v>{_VERSION})
        (?![\p{{Latin}}\d_%]|\.\d)\s*(?P<tail>版本?|release\b|version\b|docs?\b|documentation\b|文档)?))
    (?P<after>\s*(?:[中里]|之中|里面|[上下])?)
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_SAID_OF_BEFORE = regex.compile(
    r"(?:\b(?:introduced|added|available|appeared|deprecated|removed|changed|supported|new|landed"
    r"|released|shipped)\s+(?:\w+\s+)?(?:in|since|from|by|with|as of)"
    r"|\b(?:since|from|before|until|after|prior to|up to|starting (?:with|from|in)|python"
    r"|至少|requires?|at least)"
    r"|[从自至到]|引入于|新增于|(?:引入|新增|废弃|移除)(?:的)?版本[是为：:]?|起始版本[是为：:]?)\s*$",
    regex.IGNORECASE,
)
_SAID_OF_AFTER = regex.compile(
    r"\s*(?:版本?)?\s*(?:(?:中|里)?\s*(?:新)?(?:开始|起|以来|引入|新增|增加|添加|首次|废弃|弃用|移除|之前|以前"
    r"|之后|以后|及以上|或更高)|(?:first\s+)?(?:introduced|introduces|added|adds|deprecated|deprecates"
    r"|removed|removes|and later|or later|or newer|and above|\+))",
    regex.IGNORECASE,
)
_OF_DOCUMENTS = regex.compile(
    r"\s*版?本?\s*(?:的)?\s*(?:官方)?\s*(?:文档|手册|docs?\b|documentation\b|manual\b)",
    regex.IGNORECASE,
)
_UNTRUE = regex.compile(
    r"\b(?:it is|it's|it was)\s+(?:not (?:true|correct|the case)|untrue|false|wrong|incorrect)"
    r"(?:\s+that)?"
    r"|并不是说|并非说|不能说"
    r"|(?:这|此|的)?(?:一|种)*(?:说法|描述|结论|陈述)?(?:是)?"
    r"(?:错误|不正确|不对|不成立|不属实)的?(?=\s*[。.]?\s*$)",
    regex.IGNORECASE,
)
_CONTRAST = (
    regex.compile(
        r"(?:并不是|不是|并非|\b(?:is|are|was)\s+not|\bnot)\s*(?:`[^`]+`|[^\s，,]{1,40})\s*[，,]?\s*"
        r"(?:而是|\bbut(?: rather)?)\s*",
        regex.IGNORECASE,
    ),
    regex.compile(
        r"[，,]?\s*(?:而不是|而非|\brather than|\binstead of|[,，]\s*not)\s*"
        r"(?:`[^`]+`|[^\s，,。.]{1,40})",
        regex.IGNORECASE,
    ),
)
_PHRASE = regex.compile(
    r"\"(?P<inner>[\p{L}][^\"\n]*\s[^\"\n]*)\"|“(?P<inner>[^”\n]*(?:\s|\p{Han}{2})[^”\n]*)”"
    r"|「(?P<inner>[^」\n]*(?:\s|\p{Han}{2})[^」\n]*)」|《(?P<inner>[^》\n]+)》"
)
"""Quoted words that are no identifier: a heading, a title."""

_NAME = regex.compile(
    r"(?<![\p{Latin}\d_./@-])@?(?:[\p{Latin}_][\p{Latin}\d]*(?:[_.-][\p{Latin}\d_]+)*[_.][\p{Latin}\d]"
    r"[\p{Latin}\d_.-]*|[\p{Ll}]+\p{Lu}[\p{Latin}\d]*|\p{Lu}\p{Ll}+(?:\p{Lu}\p{Ll}+)+"
    r"|--?[\p{Latin}][\p{Latin}\d-]+)(?:\(\))?(?![\p{Latin}\d_])"
)
_FIGURE = regex.compile(r"v?\d+(?:\.(?:\d+|x))*")
_COMPOUND = regex.compile(
    r"(?<![\p{Latin}\d_.-])[\p{Latin}\d]+(?:-[\p{Latin}\d]+)+(?![\p{Latin}\d_-])"
)
_CAPITALS = regex.compile(
    r"(?<![\p{Latin}\d_-])\p{Lu}[\p{Lu}\d]+(?:_[\p{Lu}\d]+)*(?![\p{Latin}\d_-])"
)


def read_claim(text: str, *, products: Collection[str] = (), version: str | None = None) -> Claim:
    """`products` are the known ones; `version` what the caller says that the claim is about."""
    folded = unicodedata.normalize("NFKC", text).strip()
    named, body = _without_products(folded, products)
    body, versions = _without_versions(body)
    body = body.replace(PRODUCT, " ")
    body = _PHRASE.sub(lambda match: f" {match['inner']} ", body)
    body, untrue = _UNTRUE.subn(" ", body)
    for contrast in _CONTRAST:
        body = contrast.sub(" ", body)
    values = tuple(each for each in read_values(body) if is_figure(each))
    names = _names(body, values)
    wording = read_wording(_without(body, values, names=True))
    if untrue % 2:
        wording = replace(wording, denied=wording.denied ^ {"#denied"})
    asserts, wording = _asserted(wording, values)
    if not values and asserts is None and (word := _said_word(body, names)) is not None:
        values = (word,)
        wording = replace(wording, terms=wording.terms - read_wording(word.text).terms)
    return Claim(
        text=text,
        body=body,
        language=detect_language(text),
        products=named,
        versions=(version,) if version else versions,
        names=names,
        compounds=tuple(each.casefold() for each in _COMPOUND.findall(body)),
        subjects=plain_subjects(_without(body, values)),
        values=values,
        wording=wording,
        asserts=asserts,
    )


def bare_name(name: str) -> str:
    """An identifier without what may stand around it."""
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    return folded.strip("`\"'“”「」").rstrip(".,;:-").removesuffix("()").lstrip("@").strip()


@lru_cache(maxsize=8192)
def names_in(text: str) -> tuple[str, ...]:
    """The identifiers and quoted words of a text, bare, each once."""
    quoted = [
        value.name
        for value in read_values(text)
        if value.quoted and value.kind == "literal" and value.name
    ]
    return tuple(
        dict.fromkeys(
            bare
            for bare in map(bare_name, [*quoted, *(m.group() for m in _NAME.finditer(text))])
            if bare and not _FIGURE.fullmatch(bare)
        )
    )


def capitals_in(text: str) -> frozenset[str]:
    """Words in capitals, case folded: they may be what is said (GLOBAL) or a name (GC)."""
    return frozenset(match.group().casefold() for match in _CAPITALS.finditer(text))


def is_figure(value: Value) -> bool:
    """Quoted words may be names; that there is nothing is a value."""
    return value.kind != "literal" or value.name in {"", "none"}


def _said_word(body: str, names: Collection[str]) -> Value | None:
    """A bare word that a claim ends with, as in `the default is pessimistic`."""
    match = _SAID_WORD.search(body)
    if match is None:
        return None
    word = match["word"]
    name = bare_name(word)
    known = name in names or not read_wording(word).terms or read_wording(word).attributes
    if known or any(term.startswith("#") for term in read_wording(word).terms):
        return None
    return Value(
        kind="literal", text=word, start=match.start("word"), end=match.end("word"), name=name
    )


_SAID_WORD = regex.compile(
    r"(?:\b(?:is|to|as|of|not)|=|[:：]|[为是非成])\s*(?P<word>[\p{Latin}/][\p{Latin}\d_./*+-]*[\p{Latin}\d]|/)"
    r"\s*(?:\b(?:in|for|by|as of)\b\s*)?(?:[,，。.;；]|$)"
)


def _names(body: str, values: Collection[Value]) -> tuple[str, ...]:
    figures = {bare_name(value.text) for value in values}
    return tuple(name for name in names_in(body) if name not in figures)


def _without_products(text: str, products: Collection[str]) -> tuple[tuple[str, ...], str]:
    """The known products that a claim names, and the claim with a mark in the place of each;
    inside quotes and identifiers nothing is a product."""
    if not products:
        return (), text
    names = "|".join(sorted(map(regex.escape, products), key=len, reverse=True))
    pattern = regex.compile(
        rf"`[^`]*`|(?<![\p{{Latin}}\d_.-])(?P<name>{names})(?![\p{{Latin}}_.-]*[_][\p{{Latin}}]|\p{{Latin}})",
        regex.IGNORECASE,
    )
    found: list[str] = []

    def blank(match: regex.Match[str]) -> str:
        if match["name"] is None:
            return str(match.group())
        found.append(match["name"].casefold())
        return PRODUCT

    rest = pattern.sub(blank, text)
    return tuple(dict.fromkeys(found)), rest


def _without_versions(body: str) -> tuple[str, tuple[str, ...]]:
    """The versions that a claim is about, and the claim without them. Where a frame says what
    the claim is about, other versions in it are what is claimed."""
    found = [match for match in _SCOPE.finditer(body) if _is_about(match)]
    frames = [span for span in _framing(body) if _only_frames(body, span, found)][:1]
    if frames:
        found = [match for match in found if any(_inside(match, span) for span in frames)]
    rest = blanked(body, [*frames, *(match.span() for match in found)])
    names = [match["v"].lstrip("vV. ") for match in found]
    names += [more for start, end in frames for more in _DOTTED.findall(body[start:end])]
    kept = {version_key(name): name for name in reversed(names)}
    return rest, tuple(reversed(kept.values()))


def _is_about(match: regex.Match[str]) -> bool:
    """A number is a version when a `v`, the word version or its place says so; one that is
    said to have brought or taken something is what is claimed."""
    before, after = match.string[: match.start()], match.string[match.end("v") :]
    beside = regex.search(rf"{PRODUCT}(?:'s)?\s*$", before + match["lead"]) is not None
    inside = before.count("`") % 2 == 1
    dotted = "." in match["v"]
    sure = bool(match["tail"]) or match["v"][0] in "vV" or match["version"][0] not in "vV0123456789"
    placed = bool(match["lead"].strip() or match["after"].strip()) or not before.strip()
    is_version = sure or beside or (dotted and placed and not _has_unit(after))
    said_before = _SAID_OF_BEFORE.search((before + match["lead"]).replace(PRODUCT, ""))
    claimed = said_before and not _OF_DOCUMENTS.match(after)
    return is_version and not inside and not claimed and not _SAID_OF_AFTER.match(after)


def _framing(body: str) -> list[tuple[int, int]]:
    """Where a frame may stand: in parentheses at the end, before the first comma or colon."""
    found = (_ASIDE_AT_END.search(body), _LEAD.match(body))
    return [match.span() for match in found if match is not None]


_LEAD = regex.compile(r"[^`,:;。!?]+[,:](?!\s*(?:(?:and|or|和|与|及)\s*)?v?\d+\.\d)")
_ASIDE_AT_END = regex.compile(r"\([^()`]*\)(?=\s*[.。]?\s*$)")
_DOTTED = regex.compile(r"(?<![\p{Latin}\d_.-])\d+(?:\.\d+)+(?![\p{Latin}\d_.-])")
_FRAMING_WORDS = regex.compile(
    r"\bappl(?:ies|y|icable) to\b|\brefer(?:s|ring) to\b|适用于?|针对|参[照考见]|依照|查阅|对照",
    regex.IGNORECASE,
)


def _only_frames(body: str, span: tuple[int, int], versions: Collection[regex.Match[str]]) -> bool:
    """A version stands there, and nothing else is said than of what the claim is."""
    if not any(_inside(match, span) for match in versions):
        return False
    start, end = span
    rest = blanked(body, [match.span() for match in versions])[start:end].replace(PRODUCT, " ")
    wording = read_wording(_FRAMING_WORDS.sub(" ", rest))
    return not (wording.terms - {"#version"} or wording.attributes or names_in(rest))


def _inside(match: regex.Match[str], span: tuple[int, int]) -> bool:
    return span[0] <= match.start("v") < span[1]


def blanked(text: str, spans: Collection[tuple[int, int]]) -> str:
    letters = list(text)
    for start, end in spans:
        letters[start:end] = " " * (end - start)
    return "".join(letters)


def _has_unit(after: str) -> bool:
    values = read_values(f"1{after[:12]}")
    return bool(values and values[0].dimension)


def _asserted(wording: Wording, values: Collection[Value]) -> tuple[str | None, Wording]:
    """`is disabled by default` says that the default is off; it is no denial then."""
    enable = "#enable"
    if values or "default" not in wording.attributes or enable not in wording.terms:
        return None, wording
    asserts = "off" if enable in wording.denied else "on"
    return asserts, Wording(
        terms=wording.terms - {enable},
        attributes=wording.attributes,
        denied=wording.denied - {enable},
    )


def _without(text: str, values: Collection[Value], *, names: bool = False) -> str:
    """A text with blanks in the place of values, and of unquoted identifiers if wished."""
    rest = blanked(text, [(value.start, value.end) for value in values])
    return (
        _NAME.sub(lambda match: "`" + " " * max(len(match.group()) - 2, 0) + "`", rest)
        if names
        else rest
    )
