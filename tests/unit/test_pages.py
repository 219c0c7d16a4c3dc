"""Pages of one list: nothing twice, nothing lost, the first as if there were no others."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from passages import passages_of

from rerank.dedup import Block, Copy, best_blocks
from rerank.pages import page_of


def blocks_of(order: Sequence[int]) -> list[Block]:
    """Chunks of one text, best first in this order; neighbours merge."""
    text = "x" * len(order)
    passages = passages_of(text, [(at, at + 1) for at in range(len(order))])
    return [
        Block(passages=(passages[at],), score=1.0 - place / 100, hits=())
        for place, at in enumerate(order)
    ]


@given(st.permutations(range(12)), st.integers(1, 5))
def test_every_chunk_stands_on_one_page(order: list[int], limit: int) -> None:
    blocks = blocks_of(order)

    def shown(rest: Sequence[Block]) -> list[Block]:
        return best_blocks(rest, limit=limit)

    pages = [page_of(blocks, page=page, shown=shown) for page in range(1, 14)]
    chunks = [chunk for page in pages for block in page for chunk in block.chunk_ids]
    assert sorted(chunks) == sorted(block.chunk_ids[0] for block in blocks)
    assert pages[0] == shown(blocks)
    assert pages[-1] == []


def test_a_copy_of_what_was_shown_is_not_shown_later() -> None:
    first, copy, last = blocks_of([0, 2, 4, 1, 3])[:3]

    def shown(rest: Sequence[Block]) -> list[Block]:
        if first in rest:
            told = Copy(passage=copy.passages[0], kind="near_copy", similarity=0.9)
            return [Block(passages=first.passages, score=1.0, hits=(), also_in=(told,))]
        return list(rest[:1])

    assert page_of([first, copy, last], page=2, shown=shown) == [last]
