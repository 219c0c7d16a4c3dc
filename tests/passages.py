"""Stored passages for tests that need some, from a text and where it was cut."""

from __future__ import annotations

from datetime import UTC, datetime

from cluster.ids import chunk_id, sha256_hex
from cluster.model import Chunk, Metadata, StoredPassage

RECORDED = datetime(2026, 1, 1, tzinfo=UTC)


def passages_of(
    text: str,
    spans: list[tuple[int, int]],
    *,
    revision: str = "rev_a",
    document: str = "doc_a",
    edition: str = "",
    edition_key: str = "",
    newest: bool = True,
    metadata: Metadata | None = None,
) -> list[StoredPassage]:
    """One passage for each span, with as many tokens as characters."""
    return [
        StoredPassage(
            chunk=Chunk(
                chunk_id=chunk_id(revision=revision, start=start, end=end, text=text[start:end]),
                revision_id=revision,
                ordinal=ordinal,
                start=start,
                end=end,
                text=text[start:end],
                context="",
                heading_path=(),
                token_count=end - start,
            ),
            document_id=document,
            kind="document",
            source="tests",
            path=f"{document}.md",
            edition=edition,
            edition_key=edition_key,
            newest_edition=newest,
            other_editions=(),
            content_sha256=sha256_hex(text),
            metadata=metadata or Metadata(title=document),
            turn=None,
            owner=None,
            recorded_at=RECORDED,
        )
        for ordinal, (start, end) in enumerate(spans)
    ]
