"""Pages of one list: nothing twice, nothing lost, the first as if there were no others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from passages import passages_of

from rerank.dedup import Block, Copy, best_blocks
from rerank.pages import page_of
from rerank.selection import USUAL_SELECTION, shortlist


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


def test_pages_of_many_passages_lose_nothing_and_tell_nothing_twice() -> None:
    chance = random.Random(7)
    words = [f"word{number}" for number in range(400)]
    blocks: list[Block] = []
    for document in range(12):
        parts = [" ".join(chance.choices(words, k=40)) for _ in range(10)]
        parts[3] = parts[2]  # said twice
        ends = list(accumulate(len(part) + 1 for part in parts))
        spans = [(end - len(part) - 1, end - 1) for part, end in zip(parts, ends, strict=True)]
        passages = passages_of(
            "\n".join(parts) + "\n", spans, revision=f"rev_{document}", document=f"doc_{document}"
        )
        blocks += [Block(passages=(one,), score=chance.random(), hits=()) for one in passages]
    blocks.sort(key=lambda block: -block.score)

    def shown(rest: Sequence[Block]) -> list[Block]:
        return shortlist(rest, limit=10, plan=USUAL_SELECTION)

    pages = [page_of(blocks, page=page, shown=shown) for page in range(1, 15)]
    told = [chunk for page in pages for block in page for chunk in block.chunk_ids]
    copies = {
        copy.passage.chunk.chunk_id for page in pages for block in page for copy in block.also_in
    }
    assert len(told) == len(set(told))
    assert {*told, *copies} == {chunk for block in blocks for chunk in block.chunk_ids}
    assert copies.isdisjoint(told)
    assert copies
    assert pages[0]
    assert pages[-1] == []


def test_a_copy_of_what_was_shown_is_not_shown_later() -> None:
    first, copy, last = blocks_of([0, 2, 4, 1, 3])[:3]

    def shown(rest: Sequence[Block]) -> list[Block]:
        if first in rest:
            told = Copy(passage=copy.passages[0], kind="near_copy", similarity=0.9)
            return [Block(passages=first.passages, score=1.0, hits=(), also_in=(told,))]
        return list(rest[:1])

    assert page_of([first, copy, last], page=2, shown=shown) == [last]
