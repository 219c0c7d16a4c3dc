"""Which candidates are the same thing said twice?

The same chunk found by several channels is one candidate already (`rerank.fusion`). Here,
chunks that follow each other in one revision become one block, and editions of a document
collapse to the highest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cluster.model import Hit, StoredPassage
from cluster.text.versions import same_version, version_key

MAX_BLOCK_TOKENS = 1200


CopyKind = Literal["near_copy", "retold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A passage that is not shown because another one says the same (`rerank.near_copies`).
    `similarity`, 0 to 1: of a near copy the share of common shingles, of a retelling the share
    of its content words that the other has."""

    passage: StoredPassage
    kind: CopyKind
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Neighbouring chunks of one revision in reading order; most often just one.

    `score`, `bonuses` and `parts` (what the score is made of before it is scaled to 0..1) are
    those of its best chunk, `hits` those of all its chunks. `also_in` says the same elsewhere;
    the best chunk may be one of these.
    """

    passages: tuple[StoredPassage, ...]
    score: float
    hits: tuple[Hit, ...]
    bonuses: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    also_in: tuple[Copy, ...] = ()

    @property
    def revision_id(self) -> str:
        return self.passages[0].chunk.revision_id

    @property
    def start(self) -> int:
        return min(passage.chunk.start for passage in self.passages)

    @property
    def end(self) -> int:
        return max(passage.chunk.end for passage in self.passages)

    @property
    def token_count(self) -> int:
        return sum(passage.chunk.token_count for passage in self.passages)

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        return tuple(passage.chunk.chunk_id for passage in self.passages)


def merge_adjacent(blocks: Sequence[Block], *, max_tokens: int = MAX_BLOCK_TOKENS) -> list[Block]:
    """Blocks that touch (next ordinal, same revision) become one while the whole stays within
    `max_tokens`. Best first, equal scores in the order given. Every chunk stays in exactly one
    block; doing it again changes nothing."""
    places = {chunk_id: place for place, each in enumerate(blocks) for chunk_id in each.chunk_ids}
    by_revision: dict[str, list[Block]] = {}
    for block in blocks:
        by_revision.setdefault(block.revision_id, []).append(block)
    merged: list[Block] = []
    for group in by_revision.values():
        ordered = sorted(group, key=lambda block: block.passages[0].chunk.ordinal)
        run = ordered[0]
        for block in ordered[1:]:
            if _touch(run, block) and run.token_count + block.token_count <= max_tokens:
                run = _joined(run, block)
            else:
                merged.append(run)
                run = block
        merged.append(run)
    return sorted(
        merged, key=lambda block: (-block.score, min(places[each] for each in block.chunk_ids))
    )


def best_blocks(
    candidates: Sequence[Block], *, limit: int, max_tokens: int = MAX_BLOCK_TOKENS
) -> list[Block]:
    """The first `limit` blocks that the candidates (best first) give once neighbours merge;
    only candidates good enough to be shown are merged."""
    taken = min(limit, len(candidates))
    blocks = merge_adjacent(candidates[:taken], max_tokens=max_tokens)
    while len(blocks) < limit and taken < len(candidates):
        taken = min(taken + limit - len(blocks), len(candidates))
        blocks = merge_adjacent(candidates[:taken], max_tokens=max_tokens)
    return blocks


def newest_editions(
    passages: Mapping[str, StoredPassage], *, asked: Sequence[str] = ()
) -> dict[str, StoredPassage]:
    """Of each document the passages of its highest edition among these, by version order. Of
    several versions that were `asked` for, each keeps its own highest edition."""
    lines = {each.edition: _line(each.edition, asked) for each in passages.values()}
    highest: dict[tuple[str, str], str] = {}
    for passage in passages.values():
        place = (passage.document_id, lines[passage.edition])
        highest[place] = max(highest.get(place, ""), passage.edition_key)
    return {
        chunk_id: passage
        for chunk_id, passage in passages.items()
        if passage.edition_key == highest[passage.document_id, lines[passage.edition]]
    }


def _line(edition: str, asked: Sequence[str]) -> str:
    """Which of the versions means this edition: the very same, else one that includes it."""
    key = version_key(edition)
    exact = (version for version in asked if version_key(version) == key)
    within = (version for version in asked if same_version(version, edition))
    return next(exact, None) or next(within, "")


def gaps(block: Block) -> bool:
    """Is there text between its chunks that no chunk holds?"""
    return any(
        right.chunk.start > left.chunk.end
        for left, right in zip(block.passages, block.passages[1:], strict=False)
    )


def block_text(block: Block, *, revision_text: str | None = None) -> str:
    """`revision.text[start:end]`, from the revision's text or, without gaps, from the chunks."""
    if revision_text is not None:
        return revision_text[block.start : block.end]
    text, end = "", block.start
    for passage in block.passages:
        chunk = passage.chunk
        text += chunk.text[max(end - chunk.start, 0) :]
        end = max(end, chunk.end)
    return text


def _touch(left: Block, right: Block) -> bool:
    return right.passages[0].chunk.ordinal == left.passages[-1].chunk.ordinal + 1


def _joined(left: Block, right: Block) -> Block:
    best = left if (-left.score, left.chunk_ids[0]) <= (-right.score, right.chunk_ids[0]) else right
    return Block(
        passages=(*left.passages, *right.passages),
        score=best.score,
        hits=(*left.hits, *right.hits),
        bonuses=best.bonuses,
        parts=best.parts,
        also_in=(*left.also_in, *right.also_in),
    )
