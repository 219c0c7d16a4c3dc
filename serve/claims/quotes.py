"""Does a quotation stand in a text word by word? If not: what is nearest, and what differs?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

import regex

from cluster.text.sentences import sentence_spans

NEAR = 0.6
"""Below this similarity of words nothing is near."""

MAX_SENTENCES = 400
_PIECE = regex.compile(r"\p{Han}|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]")
_MARKS = "*_`~"
_ALIKE = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`start`, `end` are characters of the text; `exact` but for white space, otherwise the text
    has marks of markup (`**`, backticks) that the quotation leaves out."""

    start: int
    end: int
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The sentence that is most like a quotation, and what differs: the quotation's words and
    the text's, in order."""

    start: int
    end: int
    likeness: float
    differs: tuple[tuple[str, str], ...]


def find_quote(quote: str, text: str) -> Found | None:
    """White space and the shape of quotation marks do not count; where marks of markup are
    passed over, those of the quotation are none of its words."""
    pieces = _PIECE.findall(quote.translate(_ALIKE))
    alike = text.translate(_ALIKE)
    words = [word for piece in pieces if (word := piece.lstrip(_MARKS))]
    for between, wanted, exact in ((r"\s*+", pieces, True), (r"[\s*_`~]*+", words, False)):
        pattern = between.join(regex.escape(piece) for piece in wanted)
        match = regex.search(pattern, alike) if wanted else None
        if match is not None:
            return Found(start=match.start(), end=match.end(), exact=exact)
    return None


def nearest_to(quote: str, texts: Mapping[str, str]) -> tuple[str, Nearest] | None:
    """The nearest stretch of as many sentences as the quotation has, and in which text."""
    words = _PIECE.findall(quote)
    count = max(len(sentence_spans(quote)), 1)
    matcher = SequenceMatcher(b=words, autojunk=False)
    best: tuple[float, str, int, int] | None = None
    for name, text in texts.items():
        spans = sentence_spans(text)[:MAX_SENTENCES]
        for at in range(len(spans)):
            start, end = spans[at][0], spans[min(at + count, len(spans)) - 1][1]
            matcher.set_seq1(_PIECE.findall(text[start:end]))
            floor = best[0] if best else NEAR
            if matcher.real_quick_ratio() <= floor or matcher.quick_ratio() <= floor:
                continue
            if (likeness := matcher.ratio()) > floor:
                best = (likeness, name, start, end)
    if best is None:
        return None
    likeness, name, start, end = best
    differs = _differences(words, _PIECE.findall(texts[name][start:end]))
    return name, Nearest(start=start, end=end, likeness=round(likeness, 3), differs=differs)


def _differences(quoted: list[str], stored: list[str]) -> tuple[tuple[str, str], ...]:
    matcher = SequenceMatcher(a=quoted, b=stored, autojunk=False)
    return tuple(
        (" ".join(quoted[one:other]), " ".join(stored[left:right]))
        for kind, one, other, left, right in matcher.get_opcodes()
        if kind != "equal"
    )
