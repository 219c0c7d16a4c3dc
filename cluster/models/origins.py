"""Where in a text as it was given does a character of its cleaned form come from?"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from cluster.models.tokens import clean, encodable

Span = tuple[int, int]
"""Half-open, in characters (code points)."""


def spans_in(text: str, spans: Sequence[Span]) -> list[Span]:
    """`spans` of `clean(text)` -> spans of `text`.

    What became one character, as a letter and its accent, is taken whole. White space at the
    ends of a span is left out, and what lies beyond the text; of such alone an empty span stays.
    """
    cleaned = clean(text)
    origins = _origins(text)
    return [_mapped(origins, _trimmed(cleaned, span)) for span in spans]


def _trimmed(cleaned: str, span: Span) -> Span:
    start = min(max(span[0], 0), len(cleaned))
    inside = cleaned[start : max(span[1], start)]
    start += len(inside) - len(inside.lstrip())
    return start, start + len(inside.strip())


def _mapped(origins: Sequence[Span], span: Span) -> Span:
    start, end = span
    if start < end:
        return origins[start][0], origins[end - 1][1]
    at = origins[start - 1][1] if start else 0
    return at, at


def _origins(text: str) -> list[Span]:
    """Of each character of `clean(text)`, what it came from."""
    safe = encodable(text)
    pieces = _pieces(safe)
    composed = "".join(form for _, form in pieces)
    found = [span for span, form in pieces for _ in form]
    return found[len(composed) - len(composed.lstrip()) : len(composed.rstrip())]


def _pieces(text: str) -> list[tuple[Span, str]]:
    """The text cut where composition (NFC) works on both sides alike, with the composed forms."""
    if unicodedata.is_normalized("NFC", text):
        return [((at, at + 1), character) for at, character in enumerate(text)]
    cuts = [0]
    for at in range(1, len(text)):
        if _parted(text[cuts[-1] : at], text[at]):
            cuts.append(at)
    pieces = [
        ((start, end), unicodedata.normalize("NFC", text[start:end]))
        for start, end in pairwise([*cuts, len(text)])
    ]
    whole = unicodedata.normalize("NFC", text)
    return pieces if "".join(form for _, form in pieces) == whole else [((0, len(text)), whole)]


def _parted(before: str, after: str) -> bool:
    """`after` neither joins `before` nor moves in front of it."""
    if unicodedata.combining(after):
        return False
    apart = unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", after)
    return unicodedata.normalize("NFC", before + after) == apart
