"""Which figure of a sentence answers which figure of a claim? The one in the same company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import regex

from cluster.text.values import Value, comparable, read_values, same_value
from serve.claims.facts import Likeness
from serve.claims.reading import Claim, blanked, is_figure
from serve.claims.words import read_wording

_BREAK = regex.compile(r"[,，;；、。()（）]|\b(?:and|or|to)\b|[和与或至到]")
_LISTED = regex.compile(
    r"\s*(?:、|,|，|/|和|与|及|以及|或|\band\b|\bor\b|,\s*and\b)\s*(?:v\.?\s?)?"
)
MAX_COMPANY_CHARS = 40


def aligned(claim: Claim, said: str) -> Likeness:
    """`same`: each figure of the claim stands there, in the same company; `other`: one that
    stands in that company differs; `None`: that cannot be told. A claim without figures is the
    same."""
    claimed = list(claim.values)
    if claim.asserts is not None:
        return None
    like = _values_aligned(claim, claimed, said)
    return _with_digits(claim, said) if like == "same" else like


def _values_aligned(claim: Claim, claimed: Sequence[Value], said: str) -> Likeness:
    if not claimed:
        return "same"
    there = [value for value in read_values(said) if is_figure(value)]
    if (order := _in_order(claimed, there)) is not None:
        return order
    found = [_answer(value, claim.body, said, there) for value in claimed]
    if all(each == "same" for each in found):
        return "same"
    return "other" if "other" in found and None not in found else None


def _with_digits(claim: Claim, said: str) -> Likeness:
    """Digits that are no figure, as in `1:n` or `Gen2`, must stand there too; others in their
    place contradict."""
    claimed = _DIGITS.findall(_without_figures(claim.body))
    there = _DIGITS.findall(_without_figures(said))
    if not Counter(claimed) - Counter(there):
        return "same"
    patterns = [_pattern(each) for each in claimed]
    return "other" if patterns == [_pattern(each) for each in there] else None


_DIGITS = regex.compile(r"[^\s,，。;；、()（）\"`]*\d[^\s,，。;；、()（）\"`]*")


def _pattern(word: str) -> str:
    return regex.sub(r"\d+", "#", word).casefold().strip(".:")


def _without_figures(text: str) -> str:
    values = [(value.start, value.end) for value in read_values(text)]
    return blanked(text, values)


def _in_order(claimed: Sequence[Value], there: Sequence[Value]) -> Likeness:
    """Where both have as many figures of the same kinds they answer each other in order."""
    if len(claimed) != len(there) or not all(map(comparable, claimed, there)):
        return None
    return "same" if all(map(same_value, claimed, there)) else "other"


def _answer(value: Value, body: str, said: str, there: Sequence[Value]) -> Likeness:
    groups = [group for group in _groups(said, there) if any(comparable(value, g) for g in group)]
    if not groups:
        return None
    mine = _company(body, value.start, value.end, [])
    scores = []
    for group in groups:
        theirs = _company(said, group[0].start, group[-1].end, there)
        units = any(other.unit == value.unit for other in group)
        scores.append((len(mine & theirs) + units / 2, group))
    highest = max(score for score, _ in scores)
    best = [group for score, group in scores if score == highest]
    likely = {any(same_value(value, other) for other in group) for group in best}
    if len(likely) > 1:
        return None
    return "same" if likely.pop() else "other"


def _groups(said: str, values: Sequence[Value]) -> list[list[Value]]:
    """Figures of one list (`80, 443 and 8080`) keep the same company."""
    groups: list[list[Value]] = []
    for value in values:
        if groups and _LISTED.fullmatch(said, groups[-1][-1].end, value.start):
            groups[-1].append(value)
        else:
            groups.append([value])
    return groups


def _company(text: str, start: int, end: int, values: Sequence[Value]) -> frozenset[str]:
    """The words around a figure, up to the next figure or break on both sides."""
    first = max([v.end for v in values if v.end <= start], default=0)
    last = min([v.start for v in values if v.start >= end], default=len(text))
    before = text[max(first, start - MAX_COMPANY_CHARS) : start]
    after = text[end : min(last, end + MAX_COMPANY_CHARS)]
    breaks = [match.end() for match in _BREAK.finditer(before)]
    before = before[breaks[-1] :] if breaks else before
    stop = _BREAK.search(after)
    wording = read_wording(f"{before} {after[: stop.start()] if stop else after}")
    return wording.terms | wording.attributes
