"""What in a question is meant as it is written?

Titles in 《》, quotations in any marks, code in backticks, identifiers (`metadata.filter`,
`hybrid=True`, `max_open_files`, `--dry-run`), error codes (FIT-2024-0087), versions, names in
capitals, and plain words that are named as a thing ("the default of timeout", "变量 timeout").
Their words count more in the keyword channel, and a passage that has them verbatim gains
(`rerank.verbatim`): a little for quotations and names, much for what is written in no other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from cluster.text.function_words import is_function_word
from cluster.text.terms import CONTENT_WEIGHT, QueryTerm, query_terms
from rerank.verbatim import MAX_EXACT, ExactKind, ExactTerm

MAX_EXACT_CHARS = 120
MIN_QUOTED_CHARS = 2
MIN_NAME_WORDS = 2
MIN_CODE_DIGITS = 3

BONUSES: dict[ExactKind, float] = {
    "title": 0.10,
    "quoted": 0.10,
    "identifier": 1.2,
    "subject": 1.2,
    "error_code": 1.2,
    "version": 0.05,
    "name": 0.05,
}
"""On scores of 0 to 1. What is written in one way only decides: a passage under its heading goes
before all that merely are about something like it."""

TERM_FACTORS: dict[ExactKind, float] = {
    "title": 1.25,
    "quoted": 1.25,
    "identifier": 1.5,
    "subject": 1.0,
    "error_code": 1.5,
    "version": 1.0,
    "name": 1.25,
}

_LATIN = r"[\p{Latin}\d_]"
_END = r"(?![\p{Latin}\d_])"
_WORD = r"\p{Lu}[\p{Latin}'\u2019]*+(?![-\d])"
_MARKED = regex.compile(
    r"""
    《(?P<title>[^《》\n]+)》|〈(?P<title>[^〈〉\n]+)〉
   |(?P<ticks>`{1,3})(?P<code>[^`\n]+)(?P=ticks)
   |“(?P<quoted>[^“”\n]+)”|「(?P<quoted>[^「」\n]+)」|『(?P<quoted>[^『』\n]+)』
   |(?<![\p{L}\d])"(?P<quoted>[^"\n]+)"
   |‘(?P<quoted>[^‘’\n]+)’(?!\p{Latin})
   |(?<![\p{Latin}\d])'(?P<quoted>[^'\n]{3,60})'(?![\p{Latin}\d])
    """,
    regex.VERBOSE,
)
_BARE = regex.compile(
    rf"""
    (?<!{_LATIN}|[-./:@])(?:
        (?P<version>v\d+(?:\.\d+)*|\d+\.\d+\.\d+(?:\.\d+)*)
       |(?P<error_code>\p{{Lu}}{{2,10}}(?:[-_]\d+){{1,4}}|0x[\da-fA-F]{{4,16}})
       |(?P<identifier>
            -{{1,2}}\p{{Latin}}[\p{{Latin}}\d]*(?:[-_][\p{{Latin}}\d]+)+
           |--\p{{Latin}}[\p{{Latin}}\d]+
           |@?[\p{{Latin}}_][\p{{Latin}}\d_]*
              (?:(?:\.|::|->)[\p{{Latin}}_][\p{{Latin}}\d_]*)*
              (?:\(\)|=[\p{{Latin}}\d_.]*[\p{{Latin}}\d_])?
        )
    )(?!{_LATIN}|\.\d)
    """,
    regex.VERBOSE,
)
_THING_EN = (
    r"(?:variable|parameter|option|setting|flag|field|property|attribute|function|method|command"
    r"|class|column|keyword|statement)"
)
_THING_ZH = (
    r"(?:变量|参数|选项|配置项|配置|设置项|开关|字段|属性|函数|方法|命令|类|列|关键字|语句|接口)"
)
_PLAIN = r"(?P<subject>[\p{Latin}][\p{Latin}\d-]{2,40})"
_SUBJECT = regex.compile(
    rf"""
    \bdefaults?(?:\s+(?:value|setting))?\s+(?:of|for)\s+(?:the\s+)?{_PLAIN}{_END}
   |\b{_THING_EN}\s+(?:called|named)\s+{_PLAIN}{_END}
   |\bthe\s+{_PLAIN}\s+{_THING_EN}{_END}
   |(?<!{_LATIN}){_PLAIN}\s*(?:的|在.{{0,12}})?(?:默认|缺省|取值)
   |{_THING_ZH}\s*{_PLAIN}{_END}
   |(?<!{_LATIN}){_PLAIN}\s*(?:这个|该)?{_THING_ZH}
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_NAME = regex.compile(
    rf"(?<!{_LATIN})(?:{_WORD})(?:\ (?:(?:of|the|de|van|von|da|la)\ ){{0,2}}{_WORD})+"
)
_CODE_LIKE = regex.compile(r"_|\(\)$|=|::|->|^-|^@|\p{L}\d*\.[\p{L}_]")
_ABBREVIATION = regex.compile(r"(?:\p{L}\.)+\p{L}?|e\.g|i\.e|etc|vs|\p{L}+\.(?:com|org|net|io|cn)")
_TRAILING = " .,;:!?。、"
_SENTENCE_END = regex.compile(r"(?:^|[.!?:;。！？：；]\s)\s*$")
_POSSESSIVE = regex.compile(r"['\u2019]s?$")
_CODE_IN_MARKS = regex.compile(r"[\p{Latin}\d_.:\-=@/()>*\[\]]+")


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    text: str
    kind: ExactKind


def exact_terms(question: str) -> tuple[ExactTerm, ...]:
    """In order of the text, each text once, at most `MAX_EXACT`."""
    found: dict[str, ExactTerm] = {}
    for piece in sorted(_pieces(question), key=lambda each: each.start):
        text = " ".join(piece.text.split())
        text = text.rstrip(_TRAILING) if piece.kind == "quoted" else text
        if MIN_QUOTED_CHARS <= len(text) <= MAX_EXACT_CHARS and len(found) < MAX_EXACT:
            term = ExactTerm(text=text, kind=piece.kind, bonus=BONUSES[piece.kind])
            found.setdefault(text.casefold(), term)
    return tuple(found.values())


def weighted(terms: Sequence[QueryTerm], exact: Iterable[ExactTerm]) -> tuple[QueryTerm, ...]:
    """The terms, those of an exact term raised by its factor; function words stay low."""
    factors: dict[str, float] = {}
    for each in exact:
        for term in query_terms(each.text):
            factors[term.term] = max(factors.get(term.term, 1.0), TERM_FACTORS[each.kind])
    return tuple(
        replace(term, weight=term.weight * factors.get(term.term, 1.0))
        if term.weight > CONTENT_WEIGHT
        else term
        for term in terms
    )


def _pieces(question: str) -> Iterator[_Piece]:
    """What stands in marks first; the rest is read without it."""
    rest = question
    for match in _MARKED.finditer(question):
        yield _marked(match)
        rest = _blanked(rest, match)
    for match in _BARE.finditer(rest):
        if (kind := _bare_kind(match)) is not None:
            yield _Piece(match.start(), match.group(), kind)
            rest = _blanked(rest, match)
    for match in _SUBJECT.finditer(rest):
        if not is_function_word(match["subject"].casefold()):
            yield _Piece(match.start("subject"), match["subject"], "subject")
    for match in _NAME.finditer(rest):
        if (named := _name(match)) is not None:
            yield named


def _blanked(text: str, match: regex.Match[str]) -> str:
    return text[: match.start()] + " " * len(match.group()) + text[match.end() :]


def _bare_kind(match: regex.Match[str]) -> ExactKind | None:
    """COVID-19 is a word like others; a code has more digits."""
    text = match.group()
    if match["version"]:
        return "version"
    if match["error_code"]:
        digits = sum(character.isdigit() for character in text)
        return "error_code" if digits >= MIN_CODE_DIGITS else None
    return "identifier" if _is_code(text) else None


def _marked(match: regex.Match[str]) -> _Piece:
    if match["title"]:
        return _Piece(match.start(), match["title"].strip(), "title")
    text = (match["code"] or match["quoted"]).strip()
    is_code = match["code"] is not None or (
        _CODE_IN_MARKS.fullmatch(text) is not None and _is_code(text)
    )
    return _Piece(match.start(), text, "identifier" if is_code else "quoted")


def _is_code(word: str) -> bool:
    """`metadata.filter`, `hybrid=True`, `run()`; not `U.S`, not `example.com`."""
    return _CODE_LIKE.search(word) is not None and _ABBREVIATION.fullmatch(word.casefold()) is None


def _name(match: regex.Match[str]) -> _Piece | None:
    """Two words in capitals or more. The first of a sentence has its capital anyway and does
    not count, nor does a function word in front."""
    start, words = match.start(), match.group().split(" ")
    begins = _SENTENCE_END.search(match.string[: match.start()]) is not None
    while words and (begins or is_function_word(words[0].casefold())):
        start += len(words[0]) + 1
        words, begins = words[1:], False
    if len(words) < MIN_NAME_WORDS:
        return None
    return _Piece(start, _POSSESSIVE.sub("", " ".join(words)), "name")
