"""Where does a passage come from, and why was it found?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.model import Hit, QuotePolicy
from rerank.dedup import Block

Surfaces = Callable[[str], Sequence[str]]
"""Text -> the pieces of the question whose terms the text has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """The stored text of `revision_id`, from character `start` to before `end`, is the quoted
    text; `content_sha256` is the digest of that whole stored text."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """`channels` has the best hit of each channel, `matched_terms` the question's own words,
    `filters` the fields that were filtered on, `bonuses` what was added to the fused score."""

    channels: tuple[Hit, ...]
    matched_terms: tuple[str, ...]
    filters: tuple[str, ...]
    bonuses: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPassage:
    """One result: rank from 1, score 0..1 plus bonuses, exact text, citation, reasons."""

    rank: int
    score: float
    text: str
    citation: Citation
    reasons: Reasons


def cite(
    block: Block, *, rank: int, text: str, surfaces: Surfaces, filters: Sequence[str]
) -> CitedPassage:
    """`text` is the block's exact text. Terms are looked for where the indexes looked: in the
    chunks and the context that is indexed with them."""
    indexed = "\n".join(passage.chunk.indexed_text for passage in block.passages)
    return CitedPassage(
        rank=rank,
        score=block.score,
        text=text,
        citation=citation_of(block),
        reasons=Reasons(
            channels=_best_hits(block.hits),
            matched_terms=tuple(surfaces(indexed)),
            filters=tuple(filters),
            bonuses=block.bonuses,
        ),
    )


def citation_of(block: Block) -> Citation:
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
        authority=about.authority,
        quote_policy=about.quote_policy,
        heading_path=first.chunk.heading_path,
        page=first.chunk.page,
        start=block.start,
        end=block.end,
        content_sha256=first.content_sha256,
        speaker=turn.speaker if turn else None,
        said_at=turn.said_at if turn else None,
        conversation=turn.conversation if turn else None,
        session=turn.session if turn else None,
    )


def _best_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.channel)
        if known is None or hit.rank < known.rank:
            best[hit.channel] = hit
    return tuple(best[channel] for channel in sorted(best))
