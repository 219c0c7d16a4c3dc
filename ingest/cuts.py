"""Where may a text be cut? Positions that break no grapheme, word, line, cell or sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

Span = tuple[int, int]

_JOINING = (
    r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}"
    r"\p{GCB=Regional_Indicator}\p{GCB=L}\p{GCB=V}\p{GCB=T}]"
)
_JOINED_RUN = regex.compile(rf"(?s:.?){_JOINING}(?:(?s:.?){_JOINING})*(?s:.?)")
_CLUSTER = regex.compile(r"\X")
_CLOSING = r"[\"'”’»)\]）】」』》]*"
_SENTENCE_END = regex.compile(rf"[.!?]+{_CLOSING}(?=\s)\s+|[。！？；…]+{_CLOSING}\s*|\n+")
_LINE_END = regex.compile(r"\n+")
_CELL_END = regex.compile(r"(?<!\\)\|")
_WORD_GAP = regex.compile(r"\s+")
_LOOSE = regex.compile(
    r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}])(?=\w)|(?<=\w)(?=[\p{Han}\p{Hiragana}"
    r"\p{Katakana}\p{Thai}])|(?<=[^\w\s])|(?<=\w)(?=[^\w\s])"
)
_FENCE = regex.compile(r"^[ \t>]*(?P<mark>`{3,}|~{3,})", regex.MULTILINE)

SENTENCES = (_SENTENCE_END,)
LINES = (_LINE_END,)
CELLS = (_LINE_END, _CELL_END)


@dataclass(frozen=True, slots=True)
class Cuttable:
    """A text and the positions inside its grapheme clusters, where no cut may fall."""

    text: str
    inside: frozenset[int]

    def spans(self, span: Span, pattern: regex.Pattern[str]) -> list[Span]:
        """`span` cut behind every match of `pattern`; nothing lost, nothing empty."""
        start, stop = span
        ends = (found.end() for found in pattern.finditer(self.text, start, stop))
        return list(_between(span, (end for end in ends if end not in self.inside)))

    def trimmed(self, span: Span) -> Span:
        """Without white space at both ends, but never inside a cluster."""
        start, stop = span
        piece = self.text[start:stop]
        left = start + len(piece) - len(piece.lstrip())
        right = stop - (len(piece) - len(piece.rstrip()))
        while left > start and left in self.inside:
            left -= 1
        while right < stop and right in self.inside:
            right += 1
        return (left, max(left, right))

    def near_middle(self, span: Span) -> int | None:
        """The best cut in the middle half: sentence, gap, loose place, cluster, code point.

        `None` when the span is a single code point.
        """
        start, stop = span
        if stop - start <= 1:
            return None
        middle, quarter = (start + stop) // 2, max(1, (stop - start) // 4)
        low, high = max(start + 1, middle - quarter), min(stop - 1, middle + quarter)
        for pattern in (_SENTENCE_END, _WORD_GAP, _LOOSE):
            ends = {found.end() for found in pattern.finditer(self.text, low - 1, high)}
            cuts = [end for end in ends if low <= end <= high and end not in self.inside]
            if cuts:
                return min(cuts, key=lambda cut: (abs(cut - middle), cut))
        return self._cluster_cut(span, middle)

    def _cluster_cut(self, span: Span, middle: int) -> int:
        start, stop = span
        for distance in range(stop - start):
            for cut in (middle - distance, middle + distance):
                if start < cut < stop and cut not in self.inside:
                    return cut
        return middle


def cuttable(text: str) -> Cuttable:
    return Cuttable(text, frozenset(_inside_clusters(text)))


def shortened(text: str, length: int) -> str:
    """At most `length` characters, whole clusters."""
    if len(text) <= length:
        return text
    inside = cuttable(text).inside
    while length > 0 and length in inside:
        length -= 1
    return text[:length].rstrip()


def blocks_of_lines(text: Cuttable, span: Span) -> list[Span]:
    """`span` by lines, with every fenced code block in it kept in one piece."""
    lines = text.spans(span, _LINE_END)
    pieces: list[Span] = []
    open_mark, opened_at = "", 0
    for start, stop in lines:
        fence = _FENCE.match(text.text, start, stop)
        mark = fence["mark"] if fence else ""
        if open_mark:
            if mark.startswith(open_mark):
                pieces.append((opened_at, stop))
                open_mark = ""
        elif mark:
            open_mark, opened_at = mark, start
        else:
            pieces.append((start, stop))
    if open_mark:
        pieces.append((opened_at, span[1]))
    return pieces


def _inside_clusters(text: str) -> Iterator[int]:
    """Only runs that hold a joining character can hold a cluster of several code points; the
    characters around such a run never join."""
    if text.isascii():
        return
    for run in _JOINED_RUN.finditer(text):
        for cluster in _CLUSTER.finditer(text, *run.span()):
            yield from range(cluster.start() + 1, cluster.end())


def _between(span: Span, ends: Iterator[int]) -> Iterator[Span]:
    start, stop = span
    for end in ends:
        if start < end < stop:
            yield (start, end)
            start = end
    if start < stop:
        yield (start, stop)
