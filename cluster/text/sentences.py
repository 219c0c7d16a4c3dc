"""Where does a sentence end? Offsets of sentences, of Chinese and English alike."""

from __future__ import annotations

from functools import lru_cache

import regex

_END = regex.compile(
    r"[。！？；…]+[”’」』）)\"']*\s*"  # Chinese: no white space follows
    r"|(?<!\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|No|Fig|approx|U\.S))"
    r"(?<![\p{Lu}\s.][.!?])"  # an initial
    r"[.!?]+[\"'”’)\]]*(?=\s|$)\s*"
    r"|\n\s*\n\s*|\n(?=\s*(?:[-*+•|#>]|\p{N}+[.)、]))\s*|(?<=\|[ \t]*)\n"
)


@lru_cache(maxsize=2048)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Half-open spans in reading order, without white space around; together they hold every
    character that is not white space. A line of a list or table is one of its own."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        spans += _stripped(text, start, match.end())
        start = match.end()
    spans += _stripped(text, start, len(text))
    return tuple(spans)


def _stripped(text: str, start: int, end: int) -> list[tuple[int, int]]:
    piece = text[start:end]
    left, right = len(piece) - len(piece.lstrip()), len(piece.rstrip())
    return [(start + left, start + right)] if right > left else []
