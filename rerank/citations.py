"""Where does a passage come from, and why was it found?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Literal

from cluster.ids import chunk_id, sha256_hex
from cluster.model import DocumentKind, Hit, QuotePolicy
from rerank.dedup import Block, Copy, CopyKind
from rerank.quoting import USUAL_LIMITS, Quote, QuoteLimits, quote_of
from rerank.roles import EvidenceRole, role_of
from rerank.verbatim import ExactTerm, verbatim

Surfaces = Callable[[str], Sequence[str]]
"""Text -> the pieces of the question whose terms the text has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """The stored text of `revision_id`, from character `start` to before `end`, is the quoted
    text; `content_sha256` is the digest of that whole stored text. `tags_from` says who gave the
    tags (`flag`, `record`, `front_matter`…), "" where there are none. `used_in` are the latest
    artifacts that it went into, as its readers told."""

    chunk_ids: tuple[str, ...]
    document_id: str
    revision_id: str
    title: str
    url: str | None
    source: str
    path: str
    source_type: str
    language: str
    author: str | None
    product: str | None
    version: str | None
    newest_edition: bool
    other_editions: tuple[str, ...]
    published_at: datetime | None
    updated_at: datetime | None
    recorded_at: datetime
    license: str | None
    tags: tuple[str, ...]
    tags_from: str
    authority: float
    quote_policy: QuotePolicy
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int
    content_sha256: str
    speaker: str | None
    said_at: datetime | None
    conversation: str | None
    session: str | None
    used_in: tuple[str, ...] = ()
    kind: DocumentKind = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """`channels` has the best hit of each channel, `matched_terms` the question's own words,
    `verbatim` what stands there as the question writes it, `filters` the fields that were
    filtered on, `score_parts` what the score is made of before it is scaled to 0..1 (by the
    answer's reranker, and the times of the question), `bonuses` what was added to that."""

    channels: tuple[Hit, ...]
    matched_terms: tuple[str, ...]
    filters: tuple[str, ...]
    bonuses: Mapping[str, float]
    score_parts: Mapping[str, float] = field(default_factory=dict)
    verbatim: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlsoIn:
    """Where the same is said once more: a clue, not a result."""

    chunk_id: str
    document_id: str
    title: str
    url: str | None
    source: str
    path: str
    source_type: str
    version: str | None
    published_at: datetime | None
    updated_at: datetime | None
    authority: float
    kind: CopyKind
    similarity: float


Standing = Literal["wins", "loses", "open"]
Ground = Literal["authority", "date"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictsWith:
    """Another passage of the answer (its `rank`) that says `theirs` where this one says `mine`.
    What is known of the sources lets this one win or lose, by `by`; or it stays open."""

    rank: int
    chunk_id: str
    mine: str
    theirs: str
    standing: Standing
    by: Ground | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """The passage is longer than what is shown of it: it has the characters `start` to before
    `end` of the stored text, and `whole_tokens` tokens."""

    reason: str
    start: int
    end: int
    whole_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPassage:
    """One result: rank from 1, score 0..1 plus bonuses, exact text, citation, reasons. `role`:
    what kind of evidence it is; `quote`: what may be quoted of it."""

    rank: int
    score: float
    text: str
    citation: Citation
    reasons: Reasons
    role: EvidenceRole
    quote: Quote
    also_in: tuple[AlsoIn, ...] = ()
    shortened: Shortened | None = None
    conflicts_with: tuple[ConflictsWith, ...] = ()


def cite(
    block: Block,
    *,
    rank: int,
    text: str,
    surfaces: Surfaces,
    filters: Sequence[str],
    span: tuple[int, int] | None = None,
    shortened: Shortened | None = None,
    role: EvidenceRole | None = None,
    limits: QuoteLimits = USUAL_LIMITS,
    exact: Sequence[ExactTerm] = (),
) -> CitedPassage:
    """`text` is the exact text of the block, or of its part `span` (characters of the stored
    text). Terms are looked for where the indexes looked: in the chunks and the context that is
    indexed with them."""
    indexed = "\n".join(passage.chunk.indexed_text for passage in block.passages)
    standing = {text for passage in block.passages for text in verbatim(passage.chunk, exact)}
    citation = citation_of(block, span=span)
    return CitedPassage(
        rank=rank,
        score=block.score,
        text=text,
        citation=citation,
        reasons=Reasons(
            channels=_best_hits(block.hits),
            matched_terms=tuple(surfaces(indexed)),
            filters=tuple(filters),
            bonuses=block.bonuses,
            score_parts=block.parts,
            verbatim=tuple(term.text for term in exact if term.text in standing),
        ),
        role=role or role_in(block, text),
        quote=quote_of(
            text,
            start=citation.start,
            policy=citation.quote_policy,
            version=citation.version,
            limits=limits,
        ),
        also_in=tuple(_also_in(copy) for copy in block.also_in),
        shortened=shortened,
    )


def role_in(block: Block, text: str) -> EvidenceRole:
    first = block.passages[0]
    return role_of(text, headings=first.chunk.heading_path, source_type=first.metadata.source_type)


def faithful(block: Block, text: str, *, revision_text: str | None = None) -> bool:
    """Whether `text` is what was stored: every chunk has the id that its text, its place and its
    revision give, each stands in `text` at its place, and the revision's text, where it is at
    hand, has its digest."""
    if revision_text is not None and sha256_hex(revision_text) != block.passages[0].content_sha256:
        return False
    return all(
        chunk.chunk_id
        == chunk_id(revision=chunk.revision_id, start=chunk.start, end=chunk.end, text=chunk.text)
        and text[chunk.start - block.start : chunk.end - block.start] == chunk.text
        for chunk in (passage.chunk for passage in block.passages)
    )


def citation_of(block: Block, *, span: tuple[int, int] | None = None) -> Citation:
    start, end = span or (block.start, block.end)
    first = block.passages[0]
    about, turn = first.metadata, first.turn
    return Citation(
        chunk_ids=block.chunk_ids,
        document_id=first.document_id,
        revision_id=block.revision_id,
        title=about.title,
        url=about.source_url,
        source=first.source,
        path=first.path,
        source_type=about.source_type,
        language=about.language,
        author=about.author,
        product=about.product,
        version=first.edition or None,
        newest_edition=first.newest_edition,
        other_editions=first.other_editions,
        published_at=about.published_at,
        updated_at=about.updated_at,
        recorded_at=first.recorded_at,
        license=about.license,
        tags=about.tags,
        tags_from=about.provenance.get("tags", ""),
        authority=about.authority,
        quote_policy=about.quote_policy,
        heading_path=_headings(block, start=start, end=end),
        page=first.chunk.page,
        start=start,
        end=end,
        content_sha256=first.content_sha256,
        speaker=turn.speaker if turn else None,
        said_at=turn.said_at if turn else None,
        conversation=turn.conversation if turn else None,
        session=turn.session if turn else None,
        kind=first.kind,
    )


def _headings(block: Block, *, start: int, end: int) -> tuple[str, ...]:
    """Those that all of the text stands under: neighbours may be of several sections."""
    paths = [
        passage.chunk.heading_path
        for passage in block.passages
        if passage.chunk.start < end and start < passage.chunk.end
    ] or [block.passages[0].chunk.heading_path]
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return tuple(level[0] for level in levels)


def _also_in(copy: Copy) -> AlsoIn:
    passage, about = copy.passage, copy.passage.metadata
    return AlsoIn(
        chunk_id=passage.chunk.chunk_id,
        document_id=passage.document_id,
        title=about.title,
        url=about.source_url,
        source=passage.source,
        path=passage.path,
        source_type=about.source_type,
        version=passage.edition or None,
        published_at=about.published_at,
        updated_at=about.updated_at,
        authority=about.authority,
        kind=copy.kind,
        similarity=copy.similarity,
    )


def _best_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.channel)
        if known is None or hit.rank < known.rank:
            best[hit.channel] = hit
    return tuple(best[channel] for channel in sorted(best))
