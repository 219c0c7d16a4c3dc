"""A text -> the claims in it: sentences that state something, in Chinese and English."""

from __future__ import annotations

import regex

from cluster.text.sentences import sentence_spans
from serve.claims.units import plain

MIN_CHARS = 4
_HEADING = regex.compile(r"\s*#{1,6}\s")
_MARK = regex.compile(r"^\s*(?:[-*+•>]|\d+[.)、])\s+")
_FENCED = regex.compile(r"(?ms)^\s*(`{3,}|~{3,}).*?(?:^\s*\1|\Z)")
_QUESTION = regex.compile(r"[?？]\s*[\"'”’)]*\s*$")
_SEMICOLON = regex.compile(r"[;；]\s*")


def claims_in(text: str) -> tuple[str, ...]:
    """In order, each once; without headings, questions and code."""
    without_code = _FENCED.sub(lambda match: "\n" * match.group().count("\n"), text)
    found: list[str] = []
    for start, end in sentence_spans(without_code):
        sentence = without_code[start:end]
        if _HEADING.match(sentence) or _QUESTION.search(sentence):
            continue
        parts = _SEMICOLON.split(_MARK.sub("", sentence))
        found += [" ".join(part.split()) for part in parts]
    return tuple(dict.fromkeys(each for each in found if len(plain(each)) >= MIN_CHARS))
