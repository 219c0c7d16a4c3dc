"""What was found for a claim: evidence to judge it by, proofs to show, and whether a quote stands
there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cluster.text.versions import same_version
from rerank.citations import Citation, CitedPassage
from rerank.grades import SourceGrade, grade_of
from rerank.quoting import judge_quote
from serve.claims.judge import Evidence, Judgement, judge
from serve.claims.quotes import find_quote, nearest_to
from serve.claims.reading import Claim
from serve.claims.retold import is_retold
from serve.claims.units import outline, read_units

MAX_EVIDENCE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What decided: characters `start` to before `end` of the stored text, word by word."""

    says: Literal["supported", "contradicted"]
    text: str
    start: int
    end: int
    why: str
    grade: SourceGrade
    second_hand: bool
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteCheck:
    """`verbatim`: the words stand there, but for white space (`exact`) or marks of markup. If
    not, `nearest` is the sentence most like them and `differs` has pairs of what is quoted and
    what is stored. `allowed`: source and length permit to quote it, `reason` why not."""

    verbatim: bool
    exact: bool = False
    allowed: bool = False
    reason: str = ""
    start: int | None = None
    end: int | None = None
    nearest: str | None = None
    differs: tuple[tuple[str, str], ...] = ()
    citation: Citation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The passages of one search with the texts that they stand in."""

    passages: tuple[CitedPassage, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()
    """Why what was needed gave nothing."""


def judge_read(claim: Claim, read: Read) -> Judgement:
    evidence = []
    for place, passage in enumerate(read.passages):
        citation = passage.citation
        text = read.texts.get(citation.revision_id)
        start, end = citation.start, citation.end
        if text is None:
            text, start, end = passage.text, 0, len(passage.text)
        path = [citation.title, *citation.heading_path[:1]] if citation.heading_path else []
        units = read_units(
            text, start=start, end=end, headings=outline(text), path=path or [citation.title]
        )
        offset = citation.start - start
        evidence.append(
            Evidence(
                place=place,
                units=tuple(
                    replace(unit, start=unit.start + offset, end=unit.end + offset)
                    for unit in units
                ),
                edition=citation.version,
                product=citation.product,
            )
        )
    return judge(claim, evidence)


def proofs_of(judged: Sequence[tuple[Judgement, Read]], judgement: Judgement) -> tuple[Proof, ...]:
    """The findings behind a verdict, each place once, those of primary sources first."""
    proofs: dict[tuple[str, int, int], Proof] = {}
    for each, read in judged:
        for place, finding in each.findings:
            passage = read.passages[place]
            citation, unit = passage.citation, finding.unit
            text = read.texts.get(citation.revision_id)
            start, end = unit.start, unit.end
            shown = (
                text[start:end] if text else passage.text[start - citation.start :][: end - start]
            )
            key = (citation.revision_id, start, end)
            proofs.setdefault(
                key,
                Proof(
                    says=finding.direction,
                    text=shown,
                    start=start,
                    end=end,
                    why=finding.why,
                    grade=grade_of(citation.source_type),
                    second_hand=_second_hand(citation, text or passage.text, start, end),
                    citation=citation,
                ),
            )
    ordered = sorted(proofs.values(), key=lambda proof: (proof.second_hand, proof.grade))
    return tuple(ordered[:MAX_EVIDENCE])


def quote_in(quote: str, claim: Claim, read: Read) -> QuoteCheck:
    texts: dict[str, str] = {}
    cited: dict[str, Citation] = {}
    for passage in read.passages:
        citation = passage.citation
        if not _of_asked_version(claim, citation):
            continue
        texts.setdefault(citation.revision_id, read.texts.get(citation.revision_id, passage.text))
        cited.setdefault(citation.revision_id, citation)
    for revision, text in texts.items():
        if (found := find_quote(quote, text)) is not None:
            verdict = judge_quote(
                quote,
                policy=cited[revision].quote_policy,
                version=cited[revision].version,
                says_version=bool(claim.versions),
            )
            return QuoteCheck(
                verbatim=True,
                exact=found.exact,
                allowed=verdict.allowed,
                reason=verdict.reason,
                start=found.start,
                end=found.end,
                citation=cited[revision],
            )
    near = nearest_to(quote, texts)
    if near is None:
        return QuoteCheck(verbatim=False, reason="these words stand in no passage that was found")
    revision, nearest = near
    return QuoteCheck(
        verbatim=False,
        reason="the source says it in other words",
        start=nearest.start,
        end=nearest.end,
        nearest=texts[revision][nearest.start : nearest.end],
        differs=nearest.differs,
        citation=cited[revision],
    )


def _second_hand(citation: Citation, text: str, start: int, end: int) -> bool:
    """By the kind of source, or because the place itself retells what somebody else said."""
    by_kind = grade_of(citation.source_type) not in ("primary", "project")
    return by_kind or is_retold(text, start, end)


def _of_asked_version(claim: Claim, citation: Citation) -> bool:
    if not claim.versions:
        return True
    held = citation.version
    return held is not None and any(same_version(each, held) for each in claim.versions)
