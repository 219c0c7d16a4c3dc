"""All evidence for a claim -> one verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cluster.text.versions import same_version
from serve.claims.compare import Finding, best, compare
from serve.claims.reading import Claim, bare_name, names_in
from serve.claims.units import Unit

Verdict = Literal["supported", "contradicted", "not_found"]
MIN_TOLD_CHARS = 20
"""A longer cell says something about its row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The units of one passage, and what its document is of."""

    place: int
    units: tuple[Unit, ...]
    edition: str | None
    product: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`findings` decide, each with the place of its passage; `why` is for the reader."""

    verdict: Verdict
    findings: tuple[tuple[int, Finding], ...]
    why: str


def judge(claim: Claim, evidence: Iterable[Evidence]) -> Judgement:
    """By the evidence that may speak for the claim: of its product and, where it names a
    version, of that version only. Where what is equally specific disagrees nothing is decided."""
    evidence = tuple(evidence)
    claim = _with_compounds(claim, evidence)
    found: list[tuple[int, Finding]] = []
    for each in evidence:
        if may_speak(claim, each):
            found.extend((each.place, finding) for finding in _findings(claim, each))
    if not found:
        return Judgement(verdict="not_found", findings=(), why="no passage speaks of this")
    chosen = best([finding for _, finding in found])
    deciding = tuple(pair for pair in found if any(pair[1] is one for one in chosen))
    directions = {finding.direction for _, finding in deciding}
    if len(directions) > 1:
        told = " / ".join(finding.why for _, finding in deciding[:3])
        return Judgement(
            verdict="not_found", findings=deciding, why=f"the passages disagree: {told}"
        )
    return Judgement(verdict=directions.pop(), findings=deciding, why=deciding[0][1].why)


def merged(judgements: Sequence[Judgement]) -> Judgement:
    """Of a claim about several versions: supported where each of them bears it out,
    contradicted where one contradicts."""
    for verdict in ("contradicted", "not_found"):
        for each in judgements:
            if each.verdict == verdict:
                return each
    return judgements[0]


def _with_compounds(claim: Claim, evidence: Iterable[Evidence]) -> Claim:
    """`raft-log-gc` or `port` is a name where something here is called that."""
    subjects = {unit.subjects[0] for each in evidence for unit in each.units if unit.subjects}
    named = {name for subject in subjects for name in (*names_in(subject), bare_name(subject))}
    return claim.naming(tuple(each for each in claim.candidates if each in named))


def may_speak(claim: Claim, evidence: Evidence) -> bool:
    """Another product's page says nothing of this one, another version's nothing of this."""
    product = (evidence.product or "").casefold()
    if claim.products and product and product not in claim.products:
        return False
    if not claim.versions:
        return True
    edition = evidence.edition
    return edition is not None and any(same_version(each, edition) for each in claim.versions)


def _findings(claim: Claim, evidence: Evidence) -> Iterable[Finding]:
    sections = _sections(evidence.units)
    for unit in evidence.units:
        if not _worth_reading(claim, unit):
            continue
        section = sections[unit.subjects, unit.path]
        finding = compare(claim, unit, edition=evidence.edition, section=section)
        if finding is not None:
            yield finding


def _sections(units: Sequence[Unit]) -> dict[tuple[tuple[str, ...], tuple[str, ...]], str]:
    texts: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for unit in units:
        if unit.kind == "sentence" or (unit.kind == "cell" and len(unit.text) > MIN_TOLD_CHARS):
            texts.setdefault((unit.subjects, unit.path), []).append(unit.text)
        else:
            texts.setdefault((unit.subjects, unit.path), [])
    return {key: "\n".join(dict.fromkeys(parts)) for key, parts in texts.items()}


def _worth_reading(claim: Claim, unit: Unit) -> bool:
    """A cheap look: a name of the claim must stand somewhere in or above the unit."""
    if not claim.names:
        return True
    around = " ".join((*unit.subjects, *unit.path, unit.label, unit.text, unit.about)).casefold()
    return any(name.rpartition(".")[2] in around for name in claim.names)
