"""Paragraphs of a plain text, and the headings that can be told from their words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.parse.parsed import Block, Parsed

_CHINESE = r"第[一二三四五六七八九十百千零〇两\d]{1,7}"
_HEADINGS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"\s*{_CHINESE}[部卷篇编](?:[\s　:：].{{0,40}})?"), 1),
    (re.compile(rf"\s*{_CHINESE}[章回](?:[\s　:：].{{0,40}})?"), 2),
    (re.compile(rf"\s*{_CHINESE}节(?:[\s　:：].{{0,40}})?"), 3),
    (re.compile(r"\s*(?:PART|Part|BOOK|Book) (?:[IVXLC]{1,7}|\d{1,3})\b.{0,60}"), 1),
    (re.compile(r"\s*(?:CHAPTER|Chapter) (?:[IVXLC]{1,7}|\d{1,3})\b.{0,60}"), 2),
)
_PARAGRAPH = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
_LONGEST_HEADING = 80


def parse_plain(text: str, *, media_type: str = "text/plain") -> Parsed:
    """The text as it is; paragraphs end at blank lines."""
    return Parsed(text=text, blocks=tuple(_blocks(text)), title="", media_type=media_type)


def _blocks(text: str) -> Iterator[Block]:
    path: list[tuple[int, str]] = []
    for match in _PARAGRAPH.finditer(text):
        level = _heading_level(match.group()) if len(match.group()) <= _LONGEST_HEADING else 0
        if level:
            path = [entry for entry in path if entry[0] < level]
            path.append((level, " ".join(match.group().split())))
        yield Block(
            kind="heading" if level else "paragraph",
            start=match.start(),
            end=match.end(),
            heading_path=tuple(title for _, title in path),
        )


def _heading_level(line: str) -> int:
    return next((level for pattern, level in _HEADINGS if pattern.fullmatch(line)), 0)
