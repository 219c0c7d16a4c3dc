"""How are the same passages shown to whom? Cards to read from, evidence to check claims with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.model import QuotePolicy
from cluster.text.terms import QueryTerm
from rerank.citations import AlsoIn, Citation, CitedPassage, Reasons
from rerank.excerpts import Sentence, best_stretch, sentences_of, summary_spans
from rerank.grades import SourceGrade, grade_of
from rerank.quoting import Quote
from rerank.roles import EvidenceRole

ENOUGH_OF_A_CLAIM = 0.35
"""So much of a claim's content stands in what counts as its evidence."""

STRETCH_SENTENCES = 3
OTHER_LANGUAGE_PASSAGES = 3
"""A passage in another language shares no words with the claim; so many best ones count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Characters `start` to before `end` of the stored text, word by word."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a researcher sees of a passage: enough to decide whether to read on."""

    rank: int
    score: float
    role: EvidenceRole
    grade: SourceGrade
    title: str
    where: str
    version: str | None
    newest_edition: bool
    published_at: datetime | None
    updated_at: datetime | None
    summary: tuple[Excerpt, ...]
    text: str
    citation: Citation
    reasons: Reasons
    quote: Quote
    also_in: tuple[AlsoIn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The sentences of one passage that speak of a claim. `share`: how much of the claim's
    content they have, 0 where the languages differ. `second_hand` sources retell."""

    excerpt: Excerpt
    share: float
    chunk_ids: tuple[str, ...]
    document_id: str
    content_sha256: str
    title: str
    language: str
    url: str | None
    source_type: str
    grade: SourceGrade
    second_hand: bool
    version: str | None
    newest_edition: bool
    published_at: datetime | None
    updated_at: datetime | None
    quote_policy: QuotePolicy
    quote: Quote
    also_in: tuple[AlsoIn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEvidence:
    """What a reviewer sees: for one claim its evidence and nothing else."""

    claim: str
    evidence: tuple[Evidence, ...]


def card_of(passage: CitedPassage, terms: Sequence[QueryTerm]) -> Card:
    citation = passage.citation
    spans = summary_spans(sentences_of(passage.text, terms))
    return Card(
        rank=passage.rank,
        score=passage.score,
        role=passage.role,
        grade=grade_of(citation.source_type),
        title=citation.title,
        where=citation.url or citation.path,
        version=citation.version,
        newest_edition=citation.newest_edition,
        published_at=citation.published_at,
        updated_at=citation.updated_at,
        summary=tuple(_excerpt(passage, span) for span in spans),
        text=passage.text,
        citation=citation,
        reasons=passage.reasons,
        quote=passage.quote,
        also_in=passage.also_in,
    )


def evidence_for(
    claim: str, passages: Sequence[CitedPassage], *, terms: Sequence[QueryTerm], language: str
) -> ClaimEvidence:
    """The passages (best first) whose sentences have enough of the claim, those with more first;
    `terms` and `language` are the claim's."""
    found: list[Evidence] = []
    foreign = 0
    for passage in passages:
        same = passage.citation.language in (language, "und")
        foreign += not same
        evidence = _evidence(passage, terms)
        if evidence.share >= ENOUGH_OF_A_CLAIM or (not same and foreign <= OTHER_LANGUAGE_PASSAGES):
            found.append(evidence)
    return ClaimEvidence(claim=claim, evidence=tuple(sorted(found, key=lambda each: -each.share)))


def _evidence(passage: CitedPassage, terms: Sequence[QueryTerm]) -> Evidence:
    citation = passage.citation
    sentences = sentences_of(passage.text, terms)
    span = _stretch(sentences) or (0, len(passage.text))
    inside = [each.match for each in sentences if span[0] <= each.start and each.end <= span[1]]
    return Evidence(
        excerpt=_excerpt(passage, span),
        share=round(max(inside, default=0.0), 4),
        chunk_ids=citation.chunk_ids,
        document_id=citation.document_id,
        content_sha256=citation.content_sha256,
        title=citation.title,
        language=citation.language,
        url=citation.url,
        source_type=citation.source_type,
        grade=grade_of(citation.source_type),
        second_hand=grade_of(citation.source_type) not in ("primary", "project"),
        version=citation.version,
        newest_edition=citation.newest_edition,
        published_at=citation.published_at,
        updated_at=citation.updated_at,
        quote_policy=citation.quote_policy,
        quote=passage.quote,
        also_in=passage.also_in,
    )


def _stretch(sentences: Sequence[Sentence]) -> tuple[int, int] | None:
    """The best sentence with what stands next to it."""
    counted = [
        Sentence(start=each.start, end=each.end, match=each.match, tokens=1) for each in sentences
    ]
    return best_stretch(counted, room=min(STRETCH_SENTENCES, len(counted)))


def _excerpt(passage: CitedPassage, span: tuple[int, int]) -> Excerpt:
    start, end = span
    offset = passage.citation.start
    return Excerpt(text=passage.text[start:end], start=offset + start, end=offset + end)
