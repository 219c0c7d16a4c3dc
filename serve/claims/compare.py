"""Does a unit of evidence bear a claim out, or does it say otherwise?

Never by likeness alone: subject, attribute and every figure must be the same in one unit. The
same subject and attribute with another figure, or the same said with a denial, contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import regex

from cluster.text.values import read_values, unit_in
from serve.claims.alignment import aligned
from serve.claims.conditions import clauses_for
from serve.claims.facts import label_attribute, likeness
from serve.claims.reading import Claim, bare_name, is_figure, names_in
from serve.claims.units import Unit
from serve.claims.words import DENIED, Wording, clauses, read_wording

Direction = Literal["supported", "contradicted"]

VERBATIM_LEVEL = 3
FACT_LEVEL = 2
SENTENCE_LEVEL = 1

MIN_COVERED_FOR_SUPPORT = 0.8
MIN_COVERED_FOR_CONTRADICTION = 0.75
MIN_COVERED_WITH_NAME = 0.6
MAX_MISSING = 0.25
MIN_VERBATIM_TERMS = 6
MIN_ANCHORS = 3
"""So many different things must a sentence share with a claim that names no identifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one unit says of a claim. `level` and `specific` tell which finding goes first."""

    direction: Direction
    unit: Unit
    level: int
    specific: float
    why: str


def compare(claim: Claim, unit: Unit, *, edition: str | None, section: str = "") -> Finding | None:
    """`None`: the unit neither bears the claim out nor contradicts it. `edition` is the version
    that the unit's document is of, `section` the text around the unit that has its subject."""
    if unit.kind == "sentence":
        return _of_sentence(claim, unit, edition=edition, section=section)
    return _of_fact(claim, unit, edition=edition, section=section)


def _of_fact(claim: Claim, unit: Unit, *, edition: str | None, section: str) -> Finding | None:
    about = " ".join((*unit.subjects, *unit.path, unit.label, unit.about))
    subjects = _subjects(claim, unit, about)
    attribute = _attribute(claim, unit, around=f"{about} {section}")
    if subjects is None or attribute is None or _of_other_things(claim, unit):
        return None
    missing = _missing(claim, f"{about} {section} {unit.text}")
    if missing > (MIN_COVERED_WITH_NAME if claim.names else MAX_MISSING):
        return None
    like = likeness(
        claim,
        said=unit.text,
        attribute=attribute,
        subjects=subjects,
        edition=edition,
        unit=_given_in(f"{unit.about}\n{section}"),
        context=f"{unit.text} {section} {unit.about}",
    )
    if like is None or (like == "other" and claim.denied and not _same_kinds(claim, unit)):
        return None
    holds = (like == "same") != claim.denied
    told = f"{unit.subjects[0] if unit.subjects else ''}: {unit.label} = {unit.text}"
    return Finding(
        direction="supported" if holds else "contradicted",
        unit=unit,
        level=FACT_LEVEL,
        specific=_specific(claim, unit),
        why=told[:200] if holds else f"the claim says otherwise than {told[:200]}",
    )


def _same_kinds(claim: Claim, unit: Unit) -> bool:
    """`is not 5` is borne out by `is 7`, not by words."""
    there = {value.kind for value in read_values(unit.text)}
    return all(value.kind in there for value in claim.values)


def _subjects(claim: Claim, unit: Unit, about: str) -> frozenset[str] | None:
    """The names of the claim that the unit is about; `None` when it is about something else."""
    nearest = unit.subjects[0] if unit.subjects else ""
    if claim.names:
        near = {*names_in(nearest), bare_name(nearest)}
        if unit.kind == "fact" and unit.about:
            near |= set(names_in(unit.about)) if not names_in(nearest) else set()
        hit = {name for name in claim.names if _held(name, near, about)}
        if not hit:
            return None
        around = {*names_in(about), *(bare_name(each) for each in unit.path)}
        return frozenset(hit | {name for name in claim.names if _held(name, around, about)})
    keys = _ASIDE.sub(" ", nearest).replace("`", " ").split(" / ")
    terms = [read_wording(key).terms for key in keys]
    return frozenset() if any(each and each <= claim.wording.terms for each in terms) else None


_ASIDE = regex.compile(r"[（(][^（()）]*[)）]")


def _held(name: str, names: set[str], around: str) -> bool:
    """`gc.ratio` is `ratio` where `gc` stands around it."""
    if name in names:
        return True
    front, dot, last = name.rpartition(".")
    return bool(dot) and last in names and front in around.casefold()


def _attribute(claim: Claim, unit: Unit, *, around: str) -> str | None:
    """The attribute that the unit gives, where the claim is about that."""
    label = read_wording(unit.label)
    wanted = claim.wording.attributes
    name = label_attribute(unit.label)
    if name is None:
        words = label.terms - {"#denied"}
        return (
            "value" if words and words <= claim.wording.terms and "default" not in wanted else None
        )
    if "default" in wanted and name != "default":
        return None
    others = wanted - label.attributes
    if name == "default":
        others -= {"options"}
    if name in wanted:
        return name if others <= read_wording(around).attributes else None
    if name == "range" and len(ends := wanted & {"minimum", "maximum"}) == 1:
        return next(iter(ends))
    return None


def _of_other_things(claim: Claim, unit: Unit) -> bool:
    """`255 characters` says nothing of a number of queues."""
    match = _COUNTED.fullmatch(unit.text)
    if match is None or unit.kind != "cell" or any(each.unit for each in read_values(unit.text)):
        return False
    counted = read_wording(match["what"]).terms
    return bool(counted) and not counted & claim.wording.terms


_COUNTED = regex.compile(r"\s*\d[\d,.]*\s+(?P<what>[\p{L} ]{2,24})\s*")


def _missing(claim: Claim, around: str) -> float:
    """The share of the claim's words that stand nowhere around; `the number of` says no more
    than the figure does."""
    wanted = claim.wording.terms - {"#denied", "#number"}
    if claim.wording.attributes & {"minimum", "maximum"}:
        wanted -= {"#allow"}
    if any(value.kind == "version" for value in claim.values):
        wanted -= {"#version"}
    if not wanted:
        return 0.0
    return len(wanted - read_wording(around.replace("`", " ")).terms) / len(wanted)


def _given_in(text: str) -> str:
    match = _UNIT_LABEL.search(text)
    return unit_in(match["unit"]) if match else ""


_UNIT_LABEL = regex.compile(
    r"(?:单位|\bunits?)(?:\s*(?:is|are|为|是))?\s*[：:]?\s*(?P<unit>[^\n，。,;；)]{1,24})",
    regex.IGNORECASE,
)


def _specific(claim: Claim, unit: Unit) -> float:
    path = " ".join((*unit.subjects, *unit.path, unit.about))
    words = read_wording(path)
    named = sum(_held(name, set(names_in(path)), path) for name in claim.names)
    return (
        named * 4
        + len(words.terms & claim.wording.terms)
        - len(read_wording(unit.subjects[0] if unit.subjects else "").terms - claim.wording.terms)
        / 8
    )


def _of_sentence(claim: Claim, unit: Unit, *, edition: str | None, section: str) -> Finding | None:
    said = _spoken(claim, unit.text, edition)
    about = " ".join((*unit.subjects, *unit.path, unit.about))
    absent = _absent_names(claim, unit, said)
    if not said.strip() or (absent and not _changed_figure(absent, said)):
        return None
    own = replace(read_wording(_without_values(said)), denied=_denied_of(claim, said))
    around = read_wording(_without_values(about))
    if not _attributes_there(claim, own, around):
        return None
    wanted = claim.wording.terms - {"#denied"}
    covered = len(wanted & (own.terms | around.terms)) / len(wanted) if wanted else 1.0
    anchors = 2 * len(claim.names) + len(claim.values) + len(wanted & own.terms)
    anchors += len(claim.wording.attributes & own.attributes)
    if anchors < MIN_ANCHORS or len(wanted & own.terms) < len(wanted) / 2:
        return None
    like = "other" if absent else aligned(claim, said)
    direction = _direction(claim, own, like, covered)
    if direction is None:
        return None
    return Finding(
        direction=direction,
        unit=unit,
        level=VERBATIM_LEVEL if _verbatim(wanted, own, direction) else SENTENCE_LEVEL,
        specific=covered * 4 + len(claim.names) + len(wanted & own.terms) / 8,
        why=said[:200]
        if direction == "supported"
        else f"the claim says otherwise than: {said[:200]}",
    )


def _denied_of(claim: Claim, said: str) -> frozenset[str]:
    """What is denied in the clauses that speak of what the claim does; what is denied of
    something else beside it says nothing."""
    mine = claim.wording.terms | claim.wording.attributes | {f"#{DENIED}"}
    parts = [read_wording(part) for part in clauses(_without_values(said))]
    near = [part for part in parts if (part.terms | part.attributes) & mine]
    return frozenset().union(*(part.denied for part in near))


def _verbatim(wanted: frozenset[str], own: Wording, direction: Direction) -> bool:
    """A sentence that has every word of a longer claim says just that."""
    return direction == "supported" and len(wanted) >= MIN_VERBATIM_TERMS and wanted <= own.terms


def _direction(claim: Claim, own: Wording, like: str | None, covered: float) -> Direction | None:
    if like is None:
        return None
    least = MIN_COVERED_WITH_NAME if claim.names and claim.values else MIN_COVERED_FOR_SUPPORT
    denied, said_denied = claim.wording.denied, own.denied
    shared = claim.wording.terms | claim.wording.attributes | {"#denied"}
    shared |= {f"#{name}" for name in claim.wording.attributes}
    differing = denied ^ said_denied
    opposed = len(denied) % 2 != len(said_denied) % 2
    if like == "same" and not opposed and not (differing & shared) and covered >= least:
        return "supported"
    if like == "same" and opposed and differing <= shared and covered >= least:
        return "contradicted"
    if like == "other" and not opposed and covered >= MIN_COVERED_FOR_CONTRADICTION:
        return "contradicted"
    return None


def _spoken(claim: Claim, text: str, edition: str | None) -> str:
    """What of a sentence can bear on the claim: not what it says of other versions, nor what it
    says of cases that the claim does not name."""
    versions = [value for value in claim.values if value.kind == "version"]
    if versions or _CHANGE.search(claim.body):
        return text
    parts = clauses_for(text, edition=edition)
    kept = []
    for part in parts:
        words = read_wording(_without_values(part.text)).terms
        told = part.standing == "maybe" and len(words & claim.wording.terms) >= 0.6 * len(words)
        if part.standing == "holds" or told:
            kept.append(part.text)
    return "，".join(kept)


_CHANGE = regex.compile(
    r"(?:从|由)[^，。]{1,40}(?:改为|变更为|修改为|调整为|变为|到)|\bfrom\b.+\bto\b"
)


def _absent_names(claim: Claim, unit: Unit, said: str) -> list[str]:
    """The names of the claim that stand neither in the sentence nor in what it is said of."""
    nearest = unit.subjects[0] if unit.subjects else ""
    around = " ".join((nearest, *unit.path, unit.about))
    names = {*names_in(said), *names_in(nearest), bare_name(nearest)}
    return [
        name for name in claim.names if not _held(name, names, around) and not _as_words(name, said)
    ]


def _changed_figure(absent: Sequence[str], said: str) -> bool:
    """One name is absent, and one that differs from it in a figure stands there: `x = 1` where
    `x = 0` is claimed."""
    if len(absent) != 1:
        return False
    pattern = regex.sub(r"\d+", "#", absent[0])
    return "#" in pattern and any(
        regex.sub(r"\d+", "#", name) == pattern for name in names_in(said)
    )


def _as_words(name: str, text: str) -> bool:
    """A quoted phrase that is no identifier may stand unquoted."""
    pattern = (
        rf"(?<![\p{{Latin}}\d_.-]){regex.escape(name)}(?![\p{{Latin}}\d_]|[.-][\p{{Latin}}\d])"
    )
    return regex.search(pattern, text, regex.IGNORECASE) is not None


def _attributes_there(claim: Claim, own: Wording, around: Wording) -> bool:
    """What is said must be said in the sentence itself: a default, when it came, when it goes."""
    strict = {"default", "introduced", "deprecated", "removed"}
    wanted = claim.wording.attributes
    if (wanted & strict) - own.attributes:
        return False
    return wanted <= own.attributes | around.attributes


def _without_values(text: str) -> str:
    letters = list(text)
    for value in read_values(text):
        if is_figure(value):
            letters[value.start : value.end] = " " * (value.end - value.start)
    return "".join(letters)


def best(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Those that decide: of the highest level the most specific, all that are as specific."""
    if not findings:
        return ()
    level = max(finding.level for finding in findings)
    top = [finding for finding in findings if finding.level == level]
    specific = max(finding.specific for finding in top)
    return tuple(finding for finding in top if finding.specific >= specific - 0.01)
