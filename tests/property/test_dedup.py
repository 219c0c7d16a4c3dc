"""Merging neighbours: every chunk stays once, spans are exact, doing it again changes nothing."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from passages import passages_of

from cluster.model import Hit
from rerank.dedup import Block, best_blocks, block_text, gaps, merge_adjacent

TEXT = st.text(min_size=1, max_size=80)


@st.composite
def candidates(draw: st.DrawFn) -> tuple[dict[str, str], list[Block]]:
    """Texts by revision, and blocks of single chunks, best first."""
    texts, blocks = {}, []
    for revision in draw(st.lists(st.sampled_from("rst"), unique=True, min_size=1)):
        text = texts[revision] = draw(TEXT)
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)) | {0, len(text)})
        spans = [(a, b) for a, b in itertools.pairwise(cuts)]
        for passage in passages_of(text, spans, revision=revision, document=revision):
            if draw(st.booleans()):
                hit = Hit(chunk_id=passage.chunk.chunk_id, channel="keyword", rank=1, score=1.0)
                score = draw(st.floats(0, 1))
                blocks.append(Block(passages=(passage,), score=score, hits=(hit,)))
    return texts, sorted(blocks, key=lambda block: (-block.score, block.chunk_ids[0]))


@given(candidates(), st.integers(1, 100))
def test_every_chunk_stays_exactly_once(
    given_candidates: tuple[dict[str, str], list[Block]], max_tokens: int
) -> None:
    _, blocks = given_candidates
    merged = merge_adjacent(blocks, max_tokens=max_tokens)
    assert sorted(each for block in merged for each in block.chunk_ids) == sorted(
        each for block in blocks for each in block.chunk_ids
    )
    assert max([block.score for block in merged], default=0.0) == max(
        [block.score for block in blocks], default=0.0
    )
    assert all(len(block.passages) == 1 or block.token_count <= max_tokens for block in merged)


@given(candidates(), st.integers(1, 100))
def test_doing_it_again_changes_nothing(
    given_candidates: tuple[dict[str, str], list[Block]], max_tokens: int
) -> None:
    once = merge_adjacent(given_candidates[1], max_tokens=max_tokens)
    assert merge_adjacent(once, max_tokens=max_tokens) == once


@given(candidates())
def test_a_block_is_the_exact_span_of_its_revision(
    given_candidates: tuple[dict[str, str], list[Block]],
) -> None:
    texts, blocks = given_candidates
    for block in merge_adjacent(blocks):
        expected = texts[block.revision_id][block.start : block.end]
        assert block_text(block, revision_text=texts[block.revision_id]) == expected
        if not gaps(block):
            assert block_text(block) == expected


@given(candidates(), st.integers(1, 8))
def test_as_many_blocks_as_asked_for_if_there_are_any(
    given_candidates: tuple[dict[str, str], list[Block]], limit: int
) -> None:
    _, blocks = given_candidates
    best = best_blocks(blocks, limit=limit)
    assert min(limit, len(merge_adjacent(blocks))) <= len(best) <= limit
    if blocks:
        assert blocks[0].chunk_ids[0] in best[0].chunk_ids
